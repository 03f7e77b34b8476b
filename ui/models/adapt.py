"""Adapt: the encoder of an index trained on its own documents, in a process of its own, and used if it is better."""

from __future__ import annotations

import json

import streamlit as st

from semsearch import SemsearchError, admin

from ..shared import index_picker, messages, widgets
from ..shared.work import jobs
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
    begun, row, off = ["adapt", name, f"--hours={hours:g}", "--json"], widgets.row(), jobs.busy(name)
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
    widgets.button("Undo", "undo", _begin, args, place=row, key="adapt.undo", hint=hint, off=off)


def _begin(name: str, what: str, arguments: list[str]) -> None:
    jobs.begin(name, what, lambda report: _outcome(*commands.run(arguments, report)), about=PAUSED)


def _outcome(answer: bytes, lines: list[str]) -> jobs.Outcome:
    """What the command says. Raises SemsearchError where it failed."""
    try:
        said = json.loads(answer)
    except ValueError:
        raise SemsearchError("The command ended without a result.", lines[-1] if lines else "") from None
    if error := said.get("error"):
        raise SemsearchError(error["message"], error.get("fix") or "")
    if seen := said.get("look"):
        pairs, hours = sum(seen["pairs"].values()), seen["hours"]
        time = "" if hours is None else f", about {hours:.1f} hours on this machine"
        enough = "enough" if seen["enough"] else "too little"
        return jobs.Outcome(f"There is {enough} to learn from: {pairs:,} pairs{time}.", tuple(seen["reasons"]))
    if done := said.get("adapt"):
        figures = [f"{name} {one['before']:.1f} → {one['after']:.1f}" for name, one in done["measured"].items()]
        how = "is searched with the adapted encoder from now on" if done["switched"] else "stays as it was"
        return jobs.Outcome(f"The index {how}. nDCG@10: {', '.join(figures)}.", tuple(done["objections"]))
    return jobs.Outcome("It is searched with the encoder from before again.")
