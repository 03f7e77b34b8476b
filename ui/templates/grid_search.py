"""The search over a grid of templates: its pieces, its pairs, and the score of every template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from semsearch import Progress
from semsearch.evaluation import SentencePair as Pair
from semsearch.evaluation import search_templates, sts_pairs, template_grid
from semsearch.utils.quantities import count

from ..shared import encoder_picker, messages, pairs, runs, tables, widgets
from ..shared.work import jobs

KEY = ("Templates",)
FEWEST = 4  # texts without scores
MEASURE = "template search"
SOURCES = ("the pairs above", "STS-B dev", "texts without scores")
MOST_SEEDS = 9
PIECES = {  # under the names of the command
    "prefixes": "The text around the sentence: each contains [X] once.",
    "relations": "The words before [MASK], which is appended where it is missing.",
    "endings": "The end of the template.",
}
COLUMNS = {"template": tables.WIDE, "spearman": tables.percent("spearman")} | {
    name: st.column_config.NumberColumn(name.capitalize(), format="%.4f")
    for name in ("alignment", "uniformity", "deviation")
}
Pieces = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Sample:
    """What templates are judged by: pairs with a score each, or texts. `name` tells people which ones."""

    name: str
    pairs: tuple[tuple[str, str], ...] = ()
    gold: tuple[float, ...] = ()
    texts: tuple[str, ...] = ()

    @property
    def size(self) -> str:
        return count(len(self.texts), "text") if self.texts else count(len(self.pairs), "pair")

    @property
    def embedded(self) -> int:
        """The number of texts to embed for a template."""
        return 2 * len(self.texts) or len({text for pair in self.pairs for text in pair})


def show(model: str, kind: str, pasted: Sequence[Pair]) -> None:
    """The form that begins a search, and the results of the last ones."""
    st.header("Search for the best template")
    st.caption(
        "Every template is judged by pairs or texts: first the relations, then the prefixes with the best of them, "
        "then the endings; or the whole grid. The same as `semsearch templates search`."
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
    on = _sample(pasted)
    if on is None:
        return
    hint = "Each seed draws half of the pairs or texts; templates are ranked by the mean. 0 uses all of them, once."
    seeds = int(st.number_input("Seeds", 0, MOST_SEEDS, 0, key="grid seeds", help=hint))
    grid = template_grid(model, pieces)  # refuses pieces that make no template
    many = len(set(grid.all())) if full else sum(map(len, lists)) - 2
    st.caption(f"{count(many, 'template')} on {on.size}: {many * on.embedded:,} texts to embed.")
    hint, off, args = widgets.IN_BACKGROUND, jobs.busy(KEY), (model, pieces, full, on, seeds)
    widgets.button("Search", "play_arrow", _start, args, key="search templates", hint=hint, kind="primary", off=off)


def _sample(pasted: Sequence[Pair]) -> Sample | None:
    """What templates are chosen on: never a test set."""
    left, right = st.columns([2, 1])
    source = widgets.choice("On", SOURCES, "grid pairs", place=left, bind=None)
    if source == SOURCES[0]:
        if not pasted:
            messages.info("Paste pairs with scores above, or choose another source.")
            return None
        both, gold = pairs.split(pasted)
        return Sample(count(len(pasted), "pair"), both, gold)
    if source == SOURCES[2]:
        return _texts()
    if not pairs.public_sets("dev"):
        return None
    (subset,) = sts_pairs("stsb", split="dev").values()
    size = len(subset.pairs)
    hint = "Evenly spread over the set. More take longer, and leave less to chance."
    most = int(right.number_input("Max pairs", 2, max(2, size), min(size, 300), key="grid most", help=hint))
    chosen = subset.thinned(most)
    return Sample(f"STS-B dev, {count(len(chosen.pairs), 'pair')}", chosen.pairs, chosen.gold)


def _texts() -> Sample | None:
    hint = (
        "Templates are ranked by the sum of alignment and uniformity, where a text and the same text without one word "
        "count as similar. Ctrl+Enter applies them."
    )
    pasted = st.text_area("Texts, one per line", "", 130, None, "grid texts", hint) or ""
    texts = tuple(dict.fromkeys(line.strip() for line in pasted.split("\n") if line.strip()))
    if len(texts) < FEWEST:
        messages.info(f"Paste {FEWEST} different texts or more.")
        return None
    return Sample(count(len(texts), "text"), texts=texts)


def _start(model: str, pieces: Pieces, full: bool, on: Sample, seeds: int = 0) -> None:
    def work(report: jobs.Report) -> jobs.Outcome:
        report(Progress(0, 1, "texts", "loading the model"))
        by = on.pairs, on.gold
        ranked = search_templates(
            model, *by, texts=on.texts, seeds=range(seeds), lists=pieces, full=full, progress=report
        )
        rows = [{"template": each.text, **each.judgement.figures, "stage": each.stage} for each in ranked]
        settings = {
            "on": on.name,
            "grid": "whole" if full else "greedy",
            **({"seeds": seeds} if seeds else {}),
            "sha256": runs.digest([*on.pairs, *on.gold, *on.texts]),
        }
        unsaved = runs.save(runs.new(MEASURE, encoder_picker.short_name(model), settings, rows))
        sentence = f"{len(rows)} templates were tried; the page Templates shows the best."
        return jobs.Outcome(sentence, (messages.capitalized(unsaved),) if unsaved else ())

    jobs.begin(KEY, "Searching templates", work)


def _results() -> None:
    """The saved searches, one of them shown."""
    saved = list(runs.newest_first(MEASURE).values())
    if not saved:
        return
    labels = [f"{run.get('encoder')} · {runs.describe_settings(run)} · {runs.finished_at(run)}" for run in saved]
    at = st.selectbox("Saved searches", range(len(saved)), 0, labels.__getitem__, f"search of {len(saved)}")
    rows = saved[at]["rows"]
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
