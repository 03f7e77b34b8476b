"""The jobs, in one quiet corner of every page: how far each is, what has just ended, and the history."""

from __future__ import annotations

import time

import streamlit as st

from .shared import index_picker, messages, widgets
from .shared.messages import plain
from .shared.work import jobs, progress

RUNNING, ENTERED, TOLD = "jobs running", "session entered", "page where the end of a job was told"
ICONS = {"done": "check_circle", "stopped": "stop_circle", "failed": "error"}
CORNER = "jobs"  # the key of the container, which app.py places


def show() -> None:
    """Every running job; the outcome of one that has just ended, until the person turns to another page."""
    entered = st.session_state.setdefault(ENTERED, time.monotonic())
    latest, past = jobs.every_last(), jobs.history()
    running = [job for job in latest if job.state == "running"]
    st.session_state[RUNNING] = {id(job) for job in running}
    ended = [job for job in latest if job.state != "running" and job.ended >= entered and _is_news(job)]
    with st.container(key=CORNER):
        if running:
            _watch()
        for job in ended:
            _ended(job)
        if past:
            _history(past)


def _is_news(job: jobs.Job) -> bool:
    """Whether its end has been told on no other page than this one; a file is offered until it is put away."""
    if not job.announced and job.state == "done":
        return False
    page = st.session_state.get(index_picker.PAGE, "")
    first = st.session_state.setdefault(TOLD, {}).setdefault(job.serial, page)
    return first == page or bool(job.outcome and job.outcome.file)


@st.fragment(run_every=1.0)
def _watch() -> None:
    """The running jobs, drawn again every second; once one has ended, the whole page is."""
    running = [job for job in jobs.every_last() if job.state == "running"]
    now = {id(job) for job in running}
    if st.session_state[RUNNING] - now:
        st.rerun()
    st.session_state[RUNNING] = now
    for job in running:
        row = widgets.row(border=True)
        text = f"{job.name}: {job.what} · {progress.status(job)}"
        row.progress(progress.share(job), plain(text), width="stretch")
        if job.stoppable:
            hint, off = job.after_stop or "Stop this job.", job.stop.is_set()
            widgets.button("Stop", "stop", job.stop.set, place=row, key=f"stop {job.key}", hint=hint, off=off)


def _ended(job: jobs.Job) -> None:
    row = widgets.row(border=True)
    text = row.container(width="stretch")
    name, outcome = f"{job.name}: {job.what}", job.outcome
    if job.state == "failed":
        messages.error(f"{name}. {job.error}", text)
    elif job.state == "stopped":
        messages.warning(f"{name} was stopped. {job.after_stop}", text)
    elif outcome:
        said = "\n".join([plain(f"{name}. {outcome.text}"), *(f"- {plain(each)}" for each in outcome.problems)])
        alert, icon = (text.warning, "warning") if outcome.problems else (text.success, "check")
        alert(said, icon=f":material/{icon}:")
        if file := outcome.file:
            icon = ":material/download:"
            row.download_button("Download", file.read_bytes, file.name, key=f"get {job.key}", icon=icon)
    hint, key = "Dismiss this message.", f"put away {job.key}"
    widgets.button("Close", "close", jobs.dismiss, (job.key,), place=row, key=key, hint=hint, kind="tertiary")


def _history(past: list[jobs.Job]) -> None:
    """What has ended since the server was started, folded away."""
    failed = sum(job.state == "failed" for job in past)
    label = f"Jobs: {len(past)} ended" + (f", {failed} failed" if failed else "")
    with st.popover(label, icon=":material/history:", type="tertiary"):
        for job in past:
            said = job.error or (job.outcome.text if job.outcome else job.after_stop)
            took = progress.duration(job.ended - job.began)
            st.markdown(f":material/{ICONS[job.state]}: {plain(f'{job.at} · {job.name}: {job.what} · {took}')}")
            messages.caption(said)
