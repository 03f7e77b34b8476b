"""STS tasks: how well the cosines of encoders agree with what people say of sentence pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import streamlit as st

from semsearch import Encoder, Progress
from semsearch.evaluation import sts_task
from semsearch.types import JsonObject

from ..shared import encoder_picker, messages, pairs, runs
from ..shared.widgets import URL
from ..shared.work import jobs
from . import metric_job

TITLES = {"stsb": "STS-B", "sickr": "SICK-R"}  # as tables write them; the others in capitals
DETAILS = ("spearman", "pearson", "subsets", "pairs")  # of a task, saved with the run
SPLITS = ("test", "dev", "train")
WHOLE = 7  # tasks of which papers print the average
MOST = 8  # encoders


def controls(_: Sequence[str]) -> None:
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
    metric_job.button(names, "STS tasks", lambda name, report: measured(name, ordered, split, report))


def measured(name: str, tasks: Sequence[str], split: str, report: jobs.Report) -> JsonObject:
    """Spearman in percent on each task, over all its subsets, and their average, as in `semsearch sts --task`."""
    report(Progress(0, 1, "texts", "loading"))
    encoder = Encoder.load(name)
    results = [
        sts_task(task, encoder, split=split, progress=jobs.part(report, at, len(tasks)))
        for at, task in enumerate(tasks)
    ]
    row = {TITLES.get(one.task, one.task.upper()): round(one.spearman.all, 2) for one in results}
    if len(row) > 1:
        row["Avg." if len(row) == WHOLE else f"Avg. of {len(row)}"] = round(sum(row.values()) / len(row), 2)
    about = {"name": encoder.name, "fingerprint": encoder.fingerprint, "dim": encoder.dim}
    about["tasks"] = {one.task: {name: asdict(one)[name] for name in DETAILS} for one in results}
    settings = {"split": split, "aggregate": "all", "unit": "Spearman, percent"}
    device = encoder.info.get("device")
    return runs.new("STS tasks", encoder_picker.short_name(name), settings, [row], **about, device=device)
