"""The search over a grid of templates: its pieces, its pairs, and the score of every template."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from semsearch import Progress
from semsearch.evaluation import search_templates, sts_pairs, template_grid
from semsearch.utils.quantities import count

from ..shared import encoder_picker, jobs, messages, pairs, runs, tables, widgets
from ..shared.pairs import Pair

KEY = ("Templates",)
MEASURE = "template search"
SOURCES = ("the pairs above", "STS-B dev")
PIECES = {  # under the names of the command
    "prefixes": "The text around the sentence: each contains [X] once.",
    "relations": "The words before [MASK], which is appended where it is missing.",
    "endings": "The end of the template.",
}
COLUMNS = {"template": tables.WIDE, "spearman": tables.percent("spearman")}
Scored = tuple[tuple[tuple[str, str], ...], tuple[float, ...], str]  # pairs, gold scores, and a name for them
Pieces = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def show(model: str, kind: str, pasted: Sequence[Pair]) -> None:
    """The form that begins a search, and the results of the last ones."""
    st.subheader("Search for the best template")
    st.caption(
        "Every template is scored on pairs: first the relations, then the prefixes with the best of them, then the "
        "endings; or the whole grid. The same as `semsearch templates search`."
    )
    if not model:
        messages.info("Choose a Torch model above, such as the folder of a BERT.")
    elif kind:  # else the model could not be read, and the error stands above
        with encoder_picker.errors_of(model), st.container(border=True):
            _form(model, kind, pasted)
    _results()


def _form(model: str, kind: str, pasted: Sequence[Pair]) -> None:
    usual = template_grid(model)
    lists: list[tuple[str, ...]] = []
    for place, (name, hint) in zip(st.columns(3), PIECES.items(), strict=True):
        lines, hint = "\n".join(getattr(usual, name)), f"{hint} One per line; an empty line is an empty piece."
        text = place.text_area(name.capitalize(), lines, 150, key=f"{name} {kind}", help=hint)
        lists.append(tuple(dict.fromkeys(line.strip() for line in text.split("\n"))))
    pieces: Pieces = (lists[0], lists[1], lists[2])
    full = st.toggle("Score the whole grid", key="whole grid", help="Off: one list after the other, far fewer.")
    on = _scored_pairs(pasted)
    if on is None:
        return
    grid = template_grid(model, pieces)  # refuses pieces that make no template
    many = len(set(grid.all())) if full else sum(map(len, lists)) - 2
    texts = many * len({text for pair in on[0] for text in pair})
    st.caption(f"{count(many, 'template')} on {count(len(on[0]), 'pair')}: {texts:,} texts to embed.")
    hint, off, args = widgets.IN_BACKGROUND, jobs.busy(KEY), (model, pieces, full, on)
    widgets.button("Search", "play_arrow", _start, args, key="search templates", hint=hint, kind="primary", off=off)


def _scored_pairs(pasted: Sequence[Pair]) -> Scored | None:
    """The pairs on which templates are chosen: never a test set."""
    left, right = st.columns([2, 1])
    if widgets.choice("On", SOURCES, "grid pairs", place=left, bind=None) == SOURCES[0]:
        if not pasted:
            messages.info("Paste pairs with scores above, or choose STS-B dev.")
            return None
        return *pairs.split(pasted), f"{len(pasted)} pairs"
    if not pairs.public_sets("dev"):
        return None
    (subset,) = sts_pairs("stsb", split="dev").values()
    size = len(subset.pairs)
    hint = "Evenly spread over the set. More take longer, and leave less to chance."
    most = int(right.number_input("Max pairs", 2, max(2, size), min(size, 300), key="grid most", help=hint))
    places = range(size) if most >= size else [at * size // most for at in range(most)]
    both, gold = tuple(subset.pairs[at] for at in places), tuple(subset.gold[at] for at in places)
    return both, gold, f"STS-B dev, {len(places)} pairs"


def _start(model: str, pieces: Pieces, full: bool, on: Scored) -> None:
    def work(report: jobs.Report) -> jobs.Outcome:
        both, gold, name = on
        report(Progress(0, 1, "texts", "loading the model"))
        ranked = search_templates(model, both, gold, lists=pieces, full=full, progress=report)
        rows = [{"template": each.text, "spearman": each.spearman, "stage": each.stage} for each in ranked]
        settings = {"on": name, "grid": "whole" if full else "greedy", "sha256": runs.digest([*both, *gold])}
        unsaved = runs.save(runs.new(MEASURE, encoder_picker.short_name(model), settings, rows))
        found = f"{len(rows)} templates were tried; the page Templates shows the best."
        return jobs.Outcome(found, (messages.capitalized(unsaved),) if unsaved else ())

    jobs.begin(KEY, "Searching templates", work)


def _results() -> None:
    """The saved searches, one of them shown."""
    known = list(runs.newest_first(MEASURE).values())
    if not known:
        return
    labels = [f"{run.get('encoder')} · {runs.describe_settings(run)} · {runs.finished_at(run)}" for run in known]
    at = st.selectbox("Saved searches", range(len(known)), 0, labels.__getitem__, f"search of {len(known)}")
    rows = known[at]["rows"]
    if not rows:
        return
    tables.select(rows, COLUMNS, "tried templates", lambda ticked: use(rows[ticked[0]]["template"]))
    row = widgets.row()
    hint, args = "Puts it into the box above.", (rows[0]["template"],)
    widgets.button("Use the best one", "check", use, args, place=row, key="use the best", hint=hint)
    row.caption("It was chosen on these pairs: report its score on others. Tick a row to use another.")


def use(text: str) -> None:
    """Put a template, or its name, into the box of the page: the body of a click."""
    st.session_state["t"] = text
