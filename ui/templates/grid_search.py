"""The search over a grid of templates: which pieces, on which pairs, and what every template scored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from semsearch import Progress, SemsearchError
from semsearch.evaluation import list_runs, save_run, search_templates, sts_pairs, sts_tasks, template_grid

from ..shared import encoder_picker, jobs, pool, runs
from ..shared.encoder_picker import short
from ..shared.pairs import Pair
from ..shared.runs import digest

KEY = ("Templates",)
MEASURE = "template search"
SOURCES = ("the pairs above", "STS-B dev")
PIECES = {  # as the command and Grid call them
    "prefixes": "What wraps the sentence: each holds [X] once.",
    "relations": "What relates it to [MASK], which comes behind it where it is not written.",
    "endings": "What ends it.",
}
Given = tuple[tuple[tuple[str, str], ...], tuple[float, ...], str]  # pairs, scores, and what they are called


def show(model: str, kind: str, given: Sequence[Pair]) -> None:
    """Where a search is begun, and what the last ones found."""
    st.subheader("The best of many")
    st.caption(
        "Every template is scored on pairs, first the relations, then the prefixes with the best of them, then "
        "the endings; or the whole grid. `semsearch templates search` does the same."
    )
    if not model:
        st.info("Choose a Torch model above, such as the folder of a BERT.", icon=":material/info:")
    elif kind:  # else the model could not be read, which is told above
        with encoder_picker.told(model), st.container(border=True):
            _begin(model, kind, given)
    _found()


def _begin(model: str, kind: str, given: Sequence[Pair]) -> None:
    usual = template_grid(model)
    lists: list[tuple[str, ...]] = []
    for place, (name, told) in zip(st.columns(3), PIECES.items(), strict=True):
        text = place.text_area(
            name.capitalize(),
            "\n".join(getattr(usual, name)),
            key=f"{name} {kind}",
            height=150,
            help=f"{told} One a line; an empty line is an empty piece.",
        )
        lists.append(tuple(dict.fromkeys(line.strip() for line in text.split("\n"))))
    pieces = (lists[0], lists[1], lists[2])
    full = st.toggle("Score the whole grid", key="whole grid", help="Off: one list after the other, far fewer.")
    on = _pairs(given)
    if on is None:
        return
    grid = template_grid(model, pieces)
    sizes = [len(each) for each in lists]
    many = len(set(grid.all())) if full else sum(sizes) - 2
    st.caption(
        f"{many:,} templates on {len(on[0]):,} pairs: {many * len({text for pair in on[0] for text in pair}):,} "
        "texts are embedded."
    )
    st.button(
        "Search",
        type="primary",
        icon=":material/play_arrow:",
        disabled=jobs.busy(KEY),
        key="search templates",
        on_click=_start,
        args=(model, pieces, full, on),
        help="It runs in the background; you can leave this page and come back.",
    )


def _pairs(given: Sequence[Pair]) -> Given | None:
    """What templates are chosen on: never a test set."""
    left, right = st.columns([2, 1])
    source = left.segmented_control("On", SOURCES, default=SOURCES[0], required=True, key="grid pairs")
    if source == SOURCES[0]:
        if not given:
            st.info("Paste pairs with scores above, or choose STS-B dev.", icon=":material/info:")
            return None
        return _given(((pair.first, pair.second, pair.gold or 0.0) for pair in given), f"{len(given)} pairs")
    try:
        sts_tasks(split="dev")
    except SemsearchError as error:
        st.info(
            pool.plain(
                f"{error.message} Set SEMSEARCH_DATA to the folder that holds STS/, and start these pages again."
            ),
            icon=":material/folder_off:",
        )
        return None
    (subset,) = sts_pairs("stsb", split="dev").values()
    size = len(subset.pairs)
    told = "Evenly spread over the set. More are slower, and leave less to chance."
    most = int(right.number_input("Pairs, at most", 2, max(2, size), min(size, 300), key="grid most", help=told))
    places = [at * size // most for at in range(most)] if most < size else range(size)
    return _given(((*subset.pairs[at], subset.gold[at]) for at in places), f"STS-B dev, {len(places)} pairs")


def _given(triples: Any, called: str) -> Given:
    known = list(triples)
    return tuple((a, b) for a, b, _ in known), tuple(gold for *_, gold in known), called


def _start(model: str, pieces: Any, full: bool, on: Given) -> None:
    def work(told: jobs.Told) -> jobs.Outcome:
        both, gold, called = on
        told(Progress(0, 1, "texts", "loading the model"))
        ranked = search_templates(model, both, gold, lists=pieces, full=full, progress=told)
        rows = [
            {
                "template": one.text,
                "spearman": one.spearman if one.spearman == one.spearman else None,
                "stage": one.stage,
            }
            for one in ranked
        ]
        run = {
            "schema": 1,
            "measure": MEASURE,
            "encoder": short(model),
            "rows": rows,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "settings": {"on": called, "grid": "whole" if full else "greedy", "sha256": digest([*both, *gold])},
        }
        try:
            save_run(run)
        except OSError as error:
            why = f"The search is shown, and could not be kept: {error.strerror or error}."
            return jobs.Outcome("", (why,), value=run)
        return jobs.Outcome(f"{len(rows)} templates were tried; the best stands on the page Templates.")

    jobs.begin(KEY, "searching templates", work)


def _found() -> None:
    """The searches that are kept, the newest shown."""
    job = jobs.of(KEY)
    lost = [job.outcome.value] if job and job.outcome and job.outcome.value else []
    kept = [run for run in list_runs().values() if run.get("measure") == MEASURE and runs.is_sound(run)]
    known = [*reversed([*kept, *lost])]
    if not known:
        return
    labels = [f"{run.get('encoder')} · {runs.describe_settings(run)} · {runs.finished_at(run)}" for run in known]
    at = st.selectbox(
        "Searches that are kept", range(len(known)), format_func=labels.__getitem__, key=f"search of {len(known)}"
    )
    rows = known[at].get("rows", [])
    if not rows:
        return
    best = rows[0]["template"]

    def choose() -> None:
        chosen = st.session_state["tried templates"]["selection"]["rows"]
        if chosen:
            st.session_state["t"] = rows[chosen[0]]["template"]

    st.dataframe(
        rows,
        hide_index=True,
        height=min(330, 40 + 35 * len(rows)),
        key="tried templates",
        on_select=choose,
        selection_mode="single-row",
        placeholder="none",
        column_config={
            "template": st.column_config.TextColumn(width="large"),
            "spearman": st.column_config.NumberColumn("spearman, %", format="%.2f"),
        },
    )
    row = st.container(horizontal=True, vertical_alignment="center")
    row.button(
        "Use the best one",
        icon=":material/check:",
        key="use the best",
        on_click=_use,
        args=(best,),
        help="It goes into the box above.",
    )
    row.caption("It was chosen on these pairs: report its score on others. Click the left edge of a row for another.")


def _use(text: str) -> None:
    st.session_state["t"] = text
