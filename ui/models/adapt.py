"""Adapt: the encoder of an index trained on its own documents, in a process of its own, and used if it is better."""

from __future__ import annotations

import streamlit as st

from semsearch import SemsearchError, admin
from semsearch.types import JsonObject

from ..shared import encoder_picker, index_picker, messages, pool, widgets
from ..shared.messages import plain
from ..shared.work import jobs, progress
from . import commands

ABOUT = (
    "The encoder learns which text belongs to which title and heading, and is asked those of documents that it has not "
    "seen. The index changes to it only if it is better, and no worse on general text. Searches go on meanwhile."
)
PAUSED = "It is paused: begin it again to go on."


def show() -> None:
    """The index, how long it may take, and what there is to learn from."""
    st.caption(ABOUT)
    names = admin.names()
    if not names:
        messages.info("There is no index yet.")
        return
    row = st.container(horizontal=True, vertical_alignment="bottom")
    at = next((names.index(each) for each in index_picker.current() if each in names), 0)
    name = str(row.selectbox("Index", names, at, key="adapt.index", width=240))
    hours = float(row.number_input("Hours at most", 0.1, 240.0, 8.0, 0.5, key="adapt.hours", width=160))
    models, other = encoder_picker.torch_models(), {"placeholder": "the encoder of the index", "width": 320}
    base = encoder_picker.box("Model to train (--base)", models, "adapt.base", encoder_picker.WRITE, place=row, **other)
    force = st.checkbox("Even if there is too little to learn from (--force)", key="adapt.force")
    begun = ["adapt", name, f"--hours={hours:g}", *([f"--base={base}"] if base else []), *["--force"] * force, "--json"]
    row, off = widgets.row(), jobs.busy(name)
    hint = "Trains, asks, and changes the index if that is better. It can be paused, and goes on where it was."
    args = (name, "Adapting the encoder", begun)
    widgets.button(
        "Adapt it", "play_arrow", _begin, args, place=row, key="adapt.go", hint=hint, kind="primary", off=off
    )
    hint = "What there is to learn from, and how long it would take here. Nothing is written."
    args = (name, "Looking what there is to learn from", [*begun, "--dry-run"])
    widgets.button("Look first", "preview", _begin, args, place=row, key="adapt.look", hint=hint, off=off)
    hint = "Searches with the encoder from before again, at once."
    args = (name, "Going back to the encoder from before", ["adapt", name, "--undo", "--json"])
    adapted = admin.adapted_from(pool.index(name))
    widgets.button("Undo", "undo", _begin, args, place=row, key="adapt.undo", hint=hint, off=off or not adapted)
    if (job := jobs.last(name)) and job.about == PAUSED:
        st.fragment(_told, run_every=1.0 if off else None)(job)


def _told(job: jobs.Job) -> None:
    """What the command is doing, or what it has come to."""
    if job.state == "running":
        st.progress(progress.share(job), plain(f"{job.what} · {progress.status(job)}"))
    elif job.outcome:
        messages.info(job.outcome.text)
        st.markdown("\n".join(f"- {plain(each)}" for each in job.outcome.problems))
    else:
        (messages.error if job.error else messages.info)(job.error or job.about)


def _begin(name: str, what: str, arguments: list[str]) -> None:
    jobs.begin(name, what, lambda report: _outcome(commands.answered(arguments, report)[0]), about=PAUSED)


def _outcome(said: JsonObject) -> jobs.Outcome:
    """What the command says. Raises SemsearchError where it failed."""
    if error := said.get("error"):
        raise SemsearchError(error["message"], encoder_picker.page_wording(error.get("fix") or ""))
    if seen := said.get("look"):
        pairs, hours = sum(seen["pairs"].values()), seen["hours"]
        time = "" if hours is None else f", about {hours:.1f} hours on this machine"
        enough = "enough" if seen["enough"] else "too little"
        reasons = tuple(map(encoder_picker.page_wording, seen["reasons"]))
        return jobs.Outcome(f"There is {enough} to learn from: {pairs:,} pairs{time}.", reasons)
    if done := said.get("adapt"):
        figures = [f"{name} {one['before']:.1f} → {one['after']:.1f}" for name, one in done["measured"].items()]
        how = "is searched with the adapted encoder from now on" if done["switched"] else "stays as it was"
        return jobs.Outcome(f"The index {how}. nDCG@10: {', '.join(figures)}.", tuple(done["objections"]))
    return jobs.Outcome("It is searched with the encoder from before again.")
