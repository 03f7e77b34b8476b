"""Evaluate: how good an index is, on your own queries, on itself, against exact search, and as a space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from semsearch import Index

from . import held, jobs, measuring
from .measuring import Run

URL: Any = "query-params"
RUNS, SEEN = "runs", "runs seen"
SHOWN = 5  # sentences that did not find their passage
Work = Callable[[Index, jobs.Told], Run]


def page() -> None:
    """The page."""
    st.title("Evaluate")
    names = held.names()
    if not names:
        st.info("There is no index yet. Make one on the page Indexes & models.", icon=":material/info:")
        return
    left, right = st.columns([1, 2])
    name = left.selectbox("Index", names, key="index", bind=URL) or names[0]
    with right:
        chosen = st.segmented_control(
            "What is measured", list(MEASURES), default="queries", required=True, key="measure", bind=URL
        )  # fmt: skip
    told, controls = MEASURES[chosen or "queries"]
    with st.container(border=True):
        st.caption(told)
        with held.told():
            controls(name)
    jobs.refused()
    _collect(names)
    _results()


def _queries(name: str) -> None:
    left, right = st.columns(2)
    given = left.file_uploader("Queries", key="queries file", help="One a line: id<TAB>text. Or JSON lines, as BEIR.")
    judged = right.file_uploader(
        "Judgements", key="judgements file",
        help="One a line: `query 0 document grade` (TREC), or `query<TAB>document<TAB>grade` (BEIR). A document is "
        "called as in the index: see the page Documents.",
    )  # fmt: skip
    if given is None or judged is None:
        st.caption("Both files are read here and stored nowhere.")
        return
    texts, grades = measuring.labelled(given.name, given.getvalue(), judged.name, judged.getvalue())
    st.caption(f"{len(texts):,} queries, {len(grades):,} of them judged. Each is searched in three modes.")
    _button(name, "Measuring queries", lambda index, told: measuring.on_queries(index, texts, grades, told))


def _itself(name: str) -> None:
    left, right = st.columns(2)
    sample = int(left.number_input("Sentences", 1, 5_000, 200, key="sample", bind=URL))
    seed = int(right.number_input("Seed", 0, 10_000, 0, key="seed", bind=URL, help="One seed, one choice."))
    _button(name, "Finding its own sentences", lambda index, told: measuring.on_itself(index, sample, seed, told))


def _audit(name: str) -> None:
    sample = int(st.number_input("Stored vectors that are searched for", 1, 5_000, 200, key="vectors", bind=URL))
    _button(name, "Auditing the vector index", lambda index, _: measuring.of_vectors(index, sample), stoppable=False)


def _geometry(name: str) -> None:
    sample = int(st.number_input("Vectors, at most", 3, 20_000, 5_000, 500, key="rows", bind=URL))
    _button(name, "Measuring the space", lambda index, _: measuring.of_space(index, sample), stoppable=False)


MEASURES: dict[str, tuple[str, Callable[[str], None]]] = {
    "queries": (
        "Queries with judgements: nDCG@10, recall@100, MRR@10 and latency of every mode, as `semsearch eval` has them.",
        _queries,
    ),
    "without labels": (
        "Sentences are drawn from the index, and each must find a passage that holds it: recall at rank 1 and 10, by "
        "mode. It shows what is badly cut or encoded, and not how other words fare.",
        _itself,
    ),
    "vector index": (
        "How much of what exact search finds the vector index finds too, also under a filter that leaves a tenth, and "
        "how fast. `semsearch audit` does the same.",
        _audit,
    ),
    "geometry": (
        "The space of the stored vectors. Uniformity: lower is more evenly spread. Anisotropy: the mean cosine of any "
        "two, 0 is best. Hubness: above 1 a few passages are near everything. Twice the vectors take four times as "
        "long.",
        _geometry,
    ),
}


def _button(name: str, what: str, work: Work, *, stoppable: bool = True) -> None:
    st.button("Measure", type="primary", icon=":material/play_arrow:", disabled=jobs.busy(name), on_click=_start,
              args=(name, what, work, stoppable),
              help="It runs in the background; you can leave this page and come back.")  # fmt: skip


def _start(name: str, what: str, work: Work, stoppable: bool) -> None:
    folder = Index.folder(name)

    def measured(told: jobs.Told) -> jobs.Outcome:
        with Index.open(folder) as index:  # its own, so that searches beside it do not wait
            run = work(index, told)
        return jobs.Outcome("The figures are on the page Evaluate.", keep=run)

    jobs.begin(name, what, measured, stoppable=stoppable)


def _collect(names: list[str]) -> None:
    """Keep the runs that have ended since."""
    seen: set[int] = st.session_state.setdefault(SEEN, set())
    for name in names:
        job = jobs.of(name)
        run = job.outcome.keep if job and job.outcome else None
        if isinstance(run, dict) and "measure" in run and id(run) not in seen:
            seen.add(id(run))
            st.session_state.setdefault(RUNS, []).append(run)


def _results() -> None:
    """All runs in one table, the newest first."""
    runs: list[Run] = st.session_state.get(RUNS, [])
    if not runs:
        return
    st.subheader("Runs")
    rows = table(runs)
    st.dataframe(rows, hide_index=True, placeholder="", column_config={
        name: st.column_config.NumberColumn(format="%.2f" if name.startswith("ms") else "%.4f")
        for row in rows for name, value in row.items() if isinstance(value, float)
    })  # fmt: skip
    missed = runs[-1].get("missed", {}).get("hybrid", [])
    if missed:
        with st.expander(f"{len(missed)} sentences that the newest run did not find among ten (hybrid)"):
            for text in missed[:SHOWN]:
                st.text(text)
    row = st.container(horizontal=True)
    row.download_button("JSON", measuring.as_json(runs), "runs.json", "application/json", icon=":material/download:")
    row.button("Forget all runs", icon=":material/delete:", on_click=lambda: st.session_state.pop(RUNS, None))


def table(runs: list[Run]) -> list[dict[str, Any]]:
    """A row a run and mode; what a run did not measure is left empty, what none did is left out."""
    names = dict.fromkeys(name for run in runs for row in run["rows"] for name in row)
    rows = []
    for number, run in reversed(list(enumerate(runs, 1))):
        for row in run["rows"]:
            known = {"run": number, "index": run["index"], "encoder": run["encoder"], "measured": run["measure"]}
            rows.append(known | {name: row.get(name) for name in names})
    return rows
