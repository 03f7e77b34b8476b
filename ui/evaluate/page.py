"""Evaluate: how good an index is, on your own queries, on itself, against exact search, and as a space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from semsearch import Index

from ..shared import index_picker, jobs, pool
from ..shared.urls import URL
from . import encoder_form, index_metrics, metric_job, run_table
from .metric_job import Run

Names = Sequence[str]


@dataclass(frozen=True, slots=True)
class Measure:
    """What can be measured: what is said of it, and its controls, which are given indexes if it is `of_indexes`."""

    told: str
    controls: Callable[[Names], None]
    of_indexes: bool = True


def page() -> None:
    """The page."""
    st.title("Evaluate")
    chosen = st.segmented_control(
        "What is measured", list(MEASURES), default="queries", required=True, key="measure", bind=URL
    )  # fmt: skip
    name = chosen or "queries"
    measure = MEASURES[name]
    with st.container(border=True):
        st.caption(measure.told)
        with pool.told():
            if not measure.of_indexes:
                measure.controls(())
            elif indexes := _indexes():
                measure.controls(indexes)
    jobs.refused()
    run_table.show(name)


def _indexes() -> list[str]:
    names = pool.names()
    if not names:
        st.info("There is no index yet. Make one on the page Indexes & models.", icon=":material/info:")
        return []
    index_picker.told_of("index", names)
    chosen = st.multiselect(
        "Indexes", names, default=names[:1], key="index", bind=URL, placeholder="Choose one or several",
        help="Several are measured one after the other, on the same queries: the same documents under other encoders, "
        "for example.",
    )  # fmt: skip
    if not chosen:
        st.info("Choose an index.", icon=":material/info:")
    return chosen


def _queries(names: Names) -> None:
    left, right = st.columns(2)
    given = left.file_uploader("Queries", key="queries file", help="One a line: id<TAB>text. Or JSON lines, as BEIR.")
    judged = right.file_uploader(
        "Judgements", key="judgements file",
        help="One a line: `query 0 document grade` (TREC), or `query<TAB>document<TAB>grade` (BEIR). A document is "
        "called as in the index: see the page Documents.",
    )  # fmt: skip
    if given is None or judged is None:
        st.caption("Both files are read here. Of them only the queries and their figures are kept, with the run.")
        return
    texts, grades = index_metrics.labelled(given.name, given.getvalue(), judged.name, judged.getvalue())
    st.caption(f"{len(texts):,} queries, {len(grades):,} of them judged. Each is searched in three modes.")
    metric_job.button(names, "measuring queries", _opened(partial(index_metrics.on_queries, texts, grades)))


def _itself(names: Names) -> None:
    left, right = st.columns(2)
    sample = int(left.number_input("Sentences", 1, 5_000, 200, key="sample", bind=URL))
    seed = int(right.number_input("Seed", 0, 10_000, 0, key="seed", bind=URL, help="One seed, one choice."))
    if len(names) > 1:
        st.caption(f"The sentences are drawn from {pool.plain(names[0])}, and asked of every index.")
    first = Index.folder(names[0])
    metric_job.button(
        names, "finding its own sentences", _opened(partial(index_metrics.on_itself, first, sample, seed))
    )


def _audit(names: Names) -> None:
    sample = int(st.number_input("Stored vectors that are searched for", 1, 5_000, 200, key="vectors", bind=URL))
    work = _opened(lambda index, _: index_metrics.of_vectors(index, sample))
    metric_job.button(names, "auditing the vector index", work, stoppable=len(names) > 1)


def _geometry(names: Names) -> None:
    sample = int(st.number_input("Vectors, at most", 3, 20_000, 5_000, 500, key="rows", bind=URL))
    work = _opened(lambda index, _: index_metrics.of_space(index, sample))
    metric_job.button(names, "measuring the space", work, stoppable=len(names) > 1)


def _opened(work: Callable[[Index, jobs.Told], Run]) -> metric_job.Work:
    """Work on an index by its name: one of its own, so that searches beside it do not wait."""

    def measured(name: str, told: jobs.Told) -> Run:
        with Index.open(Index.folder(name)) as index:
            return work(index, told)

    return measured


MEASURES = {
    "queries": Measure(
        "Queries with judgements: nDCG@10, recall@100, MRR@10 and latency of every mode, as `semsearch eval` has them.",
        _queries,
    ),
    "without labels": Measure(
        "Sentences are drawn from the index, and each must find a passage that holds it: recall at rank 1 and 10, by "
        "mode. It shows what is badly cut or encoded, and not how other words fare.",
        _itself,
    ),
    "vector index": Measure(
        "How much of what exact search finds the vector index finds too, also under a filter that leaves a tenth, and "
        "how fast. `semsearch audit` does the same.",
        _audit,
    ),
    "geometry": Measure(
        "The space of the stored vectors: how evenly it is filled, whether all texts lie one way, and whether a few "
        "passages are near everything. Twice the vectors take four times as long.",
        _geometry,
    ),
    "before and after": Measure(
        "The space of an encoder before and after its training: alignment, uniformity, anisotropy, side by side.",
        encoder_form.before_after,
        of_indexes=False,
    ),
    "STS tasks": Measure(
        "Public test sets of sentence pairs: how well cosines follow the scores of people, by Spearman's correlation "
        "in percent. `semsearch sts --task` does the same.",
        encoder_form.sts_tasks_of,
        of_indexes=False,
    ),
}
