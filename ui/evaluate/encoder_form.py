"""Forms for measuring encoders without an index: STS tasks, and the geometry before and after training."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from semsearch import Index, admin
from semsearch.evaluation import sample_sentences, sts_pairs
from semsearch.training import base_model_of
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import encoder_picker, index_picker, messages, pairs, widgets
from ..shared.widgets import URL
from ..shared.work import jobs
from . import encoder_metrics, metric_job
from .encoder_metrics import TITLES

SPLITS = ("test", "dev", "train")
STSB = "STS-B test pairs"
LEAST = 3  # texts for a geometry
MOST = 8  # encoders


def tasks(_: Sequence[str]) -> None:
    """Choose tasks and encoders."""
    left, right = st.columns([3, 1])
    hint = "STS-B and SICK-R have all three; choose models on dev, report test."
    split = right.selectbox("Split", SPLITS, key="split", bind=URL, help=hint)
    there = pairs.public_sets(split)
    if not there:
        return
    hint = "Papers print the average of all seven on the test split."
    default = ["stsb"] if "stsb" in there else there[:1]
    title = lambda task: TITLES.get(task, task.upper())  # noqa: E731
    chosen = left.pills(
        "Tasks",
        there,
        selection_mode="multi",
        default=default,
        format_func=title,
        key="tasks",
        help=hint,
        bind=URL,
        wrap=True,
    )
    names = [name for name in encoder_picker.several("encoders", MOST) if encoder_picker.is_local(name)]
    if not chosen:
        messages.info("Choose a task.")
        return
    ordered = [task for task in there if task in chosen]  # as papers order them
    metric_job.button(names, "STS tasks", lambda name, report: encoder_metrics.of_tasks(name, ordered, split, report))


def before_after(_: Sequence[str]) -> None:
    """Choose two encoders, and texts."""
    left, right = st.columns(2)
    with right:
        hint = "The trained encoder. Its base model is offered where its folder names it."
        after = encoder_picker.one("After", "after", hint, on_change=_choose_base)
    with left:
        before = encoder_picker.one("Before", "before", "Its base model.")
    base = base_model_of(after)
    if base and base != before:
        row = widgets.row()
        messages.caption(f"It was trained from {base}.", row)
        row.button("Use that as before", on_click=_choose_base)
    work = WORK[widgets.choice("On", list(WORK), "on")]()
    if work is None:
        return
    if not (before and after):
        messages.info("Choose two encoders.")
    elif before == after:
        messages.info("These are the same encoder: choose two.")
    else:
        metric_job.button([before, after], "Before and after", work)


def _choose_base() -> None:
    """Choose the base model of `after` as `before`."""
    if base := base_model_of((st.session_state.get("after") or "").strip()):
        st.session_state["before"] = base


def _of_stsb() -> metric_job.Work | None:
    if not pairs.public_sets("test"):
        return None
    (subset,) = sts_pairs("stsb").values()
    return lambda name, report: encoder_metrics.of_pairs(name, subset.pairs, subset.gold, STSB, report)


def _of_own() -> metric_job.Work | None:
    hint = "sentence1, sentence2, score: CSV, tab-separated or JSON lines. Pairs above 4 count as similar."
    file = st.file_uploader("Pairs with scores from 0 to 5", pairs.SUFFIXES, key="space pairs", help=hint)
    if file is None:
        st.caption("The file is read in memory; only its figures are saved.")
        return None
    rated, source = pairs.read_scored(pairs.decoded(file.getvalue())), file.name
    both, gold = pairs.split(rated)
    st.caption(f"{count(len(rated), 'pair')}, {sum(score > 4 for score in gold):,} of them similar.")
    return lambda name, report: encoder_metrics.of_pairs(name, both, gold, source, report)


def _of_index() -> metric_job.Work | None:
    name = index_picker.index()
    if name is None:
        return None
    sample = int(st.number_input("Sentences", LEAST, 5_000, 1_000, key="space sentences"))
    st.caption("Alignment needs pairs that people rated as similar.")

    def measure(encoder: str, report: jobs.Report) -> JsonObject:
        with Index.open(admin.folder(name)) as index:
            texts = sample_sentences(index.analysis.texts(), sample)
        return encoder_metrics.of_texts(encoder, texts, f"{name}, {len(texts)} sentences", report)

    return measure


WORK = {STSB: _of_stsb, "your own pairs": _of_own, "sentences of an index": _of_index}
