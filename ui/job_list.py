"""The jobs at the top of every page: their progress, buttons that stop them, and their outcomes."""

from __future__ import annotations

import time

import streamlit as st

from .shared import jobs, messages, widgets
from .shared.messages import plain


def show() -> None:
    """Every running job, and the outcomes of those that have ended."""
    found = jobs.every_last()
    running = {id(job) for job in found if job.state == "running"}
    st.session_state["jobs running"] = running
    if running:
        _watch()
    for job in found:
        if job.state != "running" and (job.announced or job.state != "done"):
            _ended(job)


@st.fragment(run_every=1.0)
def _watch() -> None:
    """The running jobs, drawn again every second; once one has ended, the whole page is."""
    running = [job for job in jobs.every_last() if job.state == "running"]
    now = {id(job) for job in running}
    if st.session_state["jobs running"] - now:
        st.rerun()
    st.session_state["jobs running"] = now
    for job in running:
        step = job.progress
        share = min(step.done / step.total, 1.0) if step and step.total else 0.0
        row = widgets.row(border=True)
        row.progress(share, plain(_status(job, share)), width="stretch")
        if job.stoppable:
            hint, off = job.after_stop or "Stop this job.", job.stop.is_set()
            widgets.button("Stop", "stop", job.stop.set, place=row, key=f"stop {job.key}", hint=hint, off=off)


def _status(job: jobs.Job, share: float) -> str:
    step = job.progress
    parts = [
        f"{job.name}: {job.what}",
        f"{share:.0%}" if step and step.total else "",
        f"{time.monotonic() - job.began:.0f} s",
        f"{step.passages:,} passages" if step and step.passages else "",
        step.item[-60:] if step else "",
        "stopping …" if job.stop.is_set() else "",
        "" if job.stoppable else f"cannot be stopped: {job.about}".removesuffix(": "),
    ]
    return " · ".join(filter(None, parts))


def _ended(job: jobs.Job) -> None:
    row, end = st.columns((6, 1), vertical_alignment="center")
    name, outcome = f"{job.name}: {job.what}", job.outcome
    if job.state == "failed":
        messages.error(f"{name}. {job.error}", row)
    elif job.state == "stopped":
        messages.warning(f"{name} was stopped. {job.after_stop}", row)
    elif outcome:
        text = "\n".join([plain(f"{name}. {outcome.text}"), *(f"- {plain(each)}" for each in outcome.problems)])
        alert, icon = (row.warning, "warning") if outcome.problems else (row.success, "check")
        alert(text, icon=f":material/{icon}:")
        if file := outcome.file:
            icon = ":material/download:"
            end.download_button("Download", file.read_bytes, file.name, key=f"get {job.key}", icon=icon)
    hint, key = "Dismiss this message.", f"put away {job.key}"
    widgets.button("Close", "close", jobs.dismiss, (job.key,), place=end, key=key, hint=hint, kind="tertiary")
