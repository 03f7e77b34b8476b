"""Evaluate: how good a search is, by marked hits, by files of judgements and by its own text; encoders by STS tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import streamlit as st

from semsearch import Index, admin
from semsearch.types import JsonObject

from ..shared import index_picker, messages, pool, widgets
from ..shared.messages import plain
from ..shared.widgets import URL
from ..shared.work import jobs
from . import index_metrics, judged_hits, judged_results, metric_job, run_table, sts_tasks

Names = Sequence[str]
MOST_LOOKED_UP = 1_000  # judged documents


class Measure(NamedTuple):
    """A measurement: the question that it answers, how, and its controls, which get the chosen indexes if `of_indexes`.

    `answer` draws the result in words for these indexes.
    """

    question: str
    about: str
    controls: Callable[[Names], None]
    of_indexes: bool = True
    answer: Callable[[Names], None] = lambda names: None


def page() -> None:
    """The page."""
    if (named := st.query_params.get("measure")) in MEASURES:  # by its name, as in links from an earlier version
        st.session_state["measure"] = next(label for label, each in LABELS.items() if each == named)
        del st.query_params["measure"]
    name = LABELS[widgets.choice("Measure", list(LABELS), "measure", label_visibility="collapsed")]
    measure, names = MEASURES[name], []
    with st.container(border=True):
        st.header(measure.question, anchor=False)
        st.caption(measure.about)
        with messages.errors():
            names = _indexes() if measure.of_indexes else []
            if names or not measure.of_indexes:
                measure.controls(names)
    messages.outcome_of_click()
    with messages.errors():
        measure.answer(names)
    run_table.show(name)


def _indexes() -> list[str]:
    names = index_picker.names()
    if not names:
        return []
    hint = (
        "Several are measured one after the other, on the same queries: the same documents under other encoders, for "
        "example."
    )
    chosen = index_picker.several(names, help=hint, placeholder="Choose one or several")
    if not chosen:
        messages.info("Choose an index.")
    return chosen


def _judged(names: Names) -> None:
    questions = judged_hits.controls(names[0])
    if questions is None:
        return
    for name in names:
        _tell_judged(name, [document for each in questions.qrels.values() for document in each])
    work = _opened(partial(index_metrics.on_judged, names[0], questions))
    metric_job.button(names, "Measuring judged hits", work)


def _queries(names: Names) -> None:
    left, right = st.columns(2)
    hint = "One per line: id<TAB>text. Or JSON lines, as in BEIR."
    queries = left.file_uploader("Queries", key="queries file", help=hint)
    hint = (
        "One per line: `query 0 document grade` (TREC), or `query<TAB>document<TAB>grade` (BEIR). A document has the "
        "id that the library shows."
    )
    judged = right.file_uploader("Judgements", key="judgements file", help=hint)
    if queries is None or judged is None:
        st.caption("Both files are read in memory. Only the queries and their figures are saved, with the run.")
        return
    texts, grades = index_metrics.labelled(queries.name, queries.getvalue(), judged.name, judged.getvalue())
    st.caption(f"{len(texts):,} queries, {len(grades):,} of them judged. Each is searched for in three modes.")
    for name in names:
        _tell_judged(name, [document for each in grades.values() for document in each])
    metric_job.button(names, "Measuring queries", _opened(partial(index_metrics.on_queries, texts, grades)))


def _tell_judged(name: str, judged: Sequence[str]) -> None:
    """How many of the judged documents the index has: judgements of another index would only give zeros."""
    unique = list(dict.fromkeys(judged))[:MOST_LOOKED_UP]
    there = len(pool.index(name).documents(ids=unique))
    show = messages.caption if there else messages.warning
    show(f"{there:,} of {len(unique):,} judged documents are in {name}.")


def _itself(names: Names) -> None:
    left, right = st.columns(2)
    sample = int(left.number_input("Sentences", 1, 5_000, 200, key="sample", bind=URL))
    hint = "The same seed draws the same sentences."
    seed = int(right.number_input("Seed", 0, 10_000, 0, key="seed", bind=URL, help=hint))
    if len(names) > 1:
        st.caption(f"The sentences are drawn from {plain(names[0])}, and searched for in every index.")
    work = _opened(partial(index_metrics.on_itself, admin.folder(names[0]), sample, seed))
    metric_job.button(names, "Finding its own sentences", work)


def _opened(work: Callable[[Index, jobs.Report], JsonObject]) -> metric_job.Work:
    """Work on an index by its name, which is opened once more, so that searches do not wait."""

    def measured(name: str, report: jobs.Report) -> JsonObject:
        with Index.open(admin.folder(name)) as index:
            return work(index, report)

    return measured


MEASURES = {
    "judged hits": Measure(
        "How good is my search? Which of these is better?",
        "Search as you always do, and mark hits with the thumbs: helps, does not help. Every question with a hit that "
        "helps becomes part of a test, in which each way of searching has to find these documents again.",
        _judged,
        answer=judged_results.show,
    ),
    "queries": Measure(
        "How good is my search, by a file of judgements?",
        "Queries with judgements: nDCG@10, recall@100, MRR@10 and latency in every mode, as in `semsearch eval`.",
        _queries,
    ),
    "without labels": Measure(
        "Does the index find its own text again?",
        "Sentences are drawn from the index, and each must find a passage that contains it: recall at 1 and 10 in "
        "every mode. This reveals bad splitting or encoding, but not how paraphrases fare.",
        _itself,
    ),
    "STS tasks": Measure(
        "Which encoder judges similarity as people do?",
        "Public test sets of sentence pairs: how well cosines agree with human scores, as Spearman's correlation "
        "in percent. The same as `semsearch sts --task`.",
        sts_tasks.controls,
        of_indexes=False,
    ),
}
LABELS = {
    "is my search good?": "judged hits",
    "by a file of judgements": "queries",
    "by its own text": "without labels",
    "research": "STS tasks",
}
