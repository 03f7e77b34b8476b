"""What the page Evaluate asks before it measures encoders alone: STS tasks, and a space before and after training."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from semsearch import Index, SemsearchError, trained_from
from semsearch.evaluation import sample_sentences, sts_pairs, sts_tasks

from ..shared import jobs, model_picker, pairs, pool
from ..shared.urls import URL
from . import encoder_metrics, metric_job
from .encoder_metrics import TITLES, Pairs
from .metric_job import Run

DATA = "SEMSEARCH_DATA"
SPLITS = ("test", "dev", "train")
SOURCES = ("STS-B test pairs", "your own pairs", "sentences of an index")
LEAST = 3  # texts of a space
MOST = 8  # encoders


def sts_tasks_of(_: Sequence[str]) -> None:
    """Which tasks, which encoders."""
    if not _data():
        return
    left, right = st.columns([3, 1])
    split = right.selectbox(
        "Split",
        SPLITS,
        key="split",
        bind=URL,
        help="STS-B and SICK-R have all three; choose models on dev, report test.",
    )
    there = sts_tasks(split=split)
    tasks = left.pills(
        "Tasks",
        there,
        selection_mode="multi",
        default=[one for one in there if one == "stsb"] or there[:1],
        key="tasks",
        bind=URL,
        wrap=True,
        format_func=lambda task: TITLES.get(task, task.upper()),
        help="All seven on the test split are what papers print as their average.",
    )
    names = model_picker.several("Encoders", "encoders", ("default", "cot-minilm"), most=MOST)
    names = [name for name in names if model_picker.here(name)]
    if not tasks:
        st.info("Choose a task.", icon=":material/info:")
        return
    chosen = [task for task in there if task in tasks]  # in the order that papers have
    metric_job.button(names, "STS tasks", lambda name, told: encoder_metrics.of_tasks(name, chosen, split, told))


def before_after(_: Sequence[str]) -> None:
    """Which two encoders, on which texts."""
    left, right = st.columns(2)
    with right:
        after = model_picker.one(
            "After",
            "after",
            "The trained encoder. Where its folder says what it was trained from, that is offered.",
            on_change=_base,
        )
    with left:
        before = model_picker.one("Before", "before", "What it was before: its base.")
    base = trained_from(after)
    if base and base != before:
        row = st.container(horizontal=True, vertical_alignment="center")
        row.caption(pool.plain(f"It was trained from {base}."))
        row.button("Take that as before", on_click=_base)
    source = st.segmented_control("On", SOURCES, default=SOURCES[0], required=True, key="on", bind=URL)
    work = WORK[source or SOURCES[0]]()
    if work is None:
        return
    if not (before and after):
        st.info("Choose two encoders.", icon=":material/info:")
    elif before == after:
        st.info("These are one encoder: choose two.", icon=":material/info:")
    else:
        metric_job.button([before, after], "before and after", work)


def _base() -> None:
    """What the encoder says that it was trained from is what was before."""
    if base := trained_from((st.session_state.get("after") or "").strip()):
        st.session_state["before"] = base


def _of_stsb() -> metric_job.Work | None:
    if not _data():
        return None
    (subset,) = sts_pairs("stsb").values()
    return _of_pairs(subset.pairs, subset.gold, SOURCES[0])


def _of_own() -> metric_job.Work | None:
    file = st.file_uploader(
        "Pairs with scores from 0 to 5",
        type=["csv", "tsv", "txt", "jsonl", "ndjson"],
        key="space pairs",
        help="sentence1, sentence2, score: CSV, tab-separated or JSON lines. Pairs above 4 count as alike.",
    )
    if file is None:
        st.caption("The file is read here and stored nowhere; its figures are kept.")
        return None
    given = pairs.read(pairs.decoded(file.getvalue()))
    if lacking := sum(pair.gold is None for pair in given):
        raise SemsearchError(f"{lacking} of {len(given)} pairs have no score.", pairs.WRITE)
    st.caption(f"{len(given):,} pairs, {sum((pair.gold or 0) > 4 for pair in given):,} of them alike.")
    both = tuple((pair.first, pair.second) for pair in given)
    return _of_pairs(both, [pair.gold or 0.0 for pair in given], file.name)


def _of_index() -> metric_job.Work | None:
    names = pool.names()
    if not names:
        st.info("There is no index yet. Make one on the page Indexes & models.", icon=":material/info:")
        return None
    left, right = st.columns([2, 1])
    name = left.selectbox("Index", names, key="space index") or names[0]
    sample = int(right.number_input("Sentences", LEAST, 5_000, 1_000, key="space sentences"))
    st.caption("Without pairs that people found alike there is no alignment.")

    def measured(encoder: str, told: jobs.Told) -> Run:
        with Index.open(Index.folder(name)) as index:
            texts = sample_sentences(index.texts(), sample)
        return encoder_metrics.of_texts(encoder, texts, f"{name}, {len(texts)} sentences", told)

    return measured


def _of_pairs(both: Pairs, gold: Sequence[float], source: str) -> metric_job.Work:
    return lambda name, told: encoder_metrics.of_pairs(name, both, gold, source, told)


WORK = dict(zip(SOURCES, (_of_stsb, _of_own, _of_index), strict=True))


def _data() -> bool:
    """Whether test sets are there; where not, it says what to set."""
    try:
        sts_tasks()
    except SemsearchError as error:
        st.info(
            pool.plain(
                f"{error.message} These pages look for public test sets where the variable {DATA} says, in "
                "SentEval's layout (STS/ and SICK/). Set it, and start them again:"
            ),
            icon=":material/folder_off:",
        )
        st.code(f"{DATA}=~/senteval/data semsearch ui", language="sh")
        return False
    return True
