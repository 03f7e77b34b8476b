"""The jobs, at the end of the rail: how far each is, what has just ended, and the history; a toast tells each end."""

from __future__ import annotations

import time

import streamlit as st

from .shared import index_picker, messages, widgets
from .shared.messages import plain
from .shared.work import jobs, progress

RUNNING, ENTERED, TOLD = "jobs running", "session entered", "page where the end of a job was told"
ICONS = {"done": "check_circle", "stopped": "stop_circle", "failed": "error"}


def show() -> None:
    """Every running job; the outcome of one that has just ended, until the person turns to another page."""
    entered = st.session_state.setdefault(ENTERED, time.monotonic())
    latest, past = jobs.every_last(), jobs.history()
    running = [job for job in latest if job.state == "running"]
    st.session_state[RUNNING] = {id(job) for job in running}
    ended = [job for job in latest if job.state != "running" and job.ended >= entered and _is_news(job)]
    if running:
        _watch()
    elif ended or past:
        failed = any(job.state == "failed" for job in ended)
        label, icon = ("Failed", "error") if failed else ("Done", "task_alt") if ended else ("Jobs", "history")
        with st.popover(label, icon=f":material/{icon}:", type="tertiary"):
            _past(ended, past)


def _is_news(job: jobs.Job) -> bool:
    """Whether its end has been told on no other page than this one; a file is offered until it is put away."""
    if not job.announced and job.state == "done":
        return False
    page, told = st.session_state.get(index_picker.PAGE, ""), st.session_state.setdefault(TOLD, {})
    if job.serial not in told:
        told[job.serial] = page
        st.toast(plain(_said(job)), icon=f":material/{ICONS[job.state]}:", duration="long")
    return told[job.serial] == page or bool(job.outcome and job.outcome.file)


def _said(job: jobs.Job) -> str:
    how = {"failed": job.error, "stopped": f"It was stopped. {job.after_stop}"}
    return f"{job.name}: {job.what}. {how.get(job.state) or (job.outcome.text if job.outcome else '')}"


@st.fragment(run_every=1.0)
def _watch() -> None:
    """The running jobs, drawn again every second; once one has ended, the whole page is."""
    running = [job for job in jobs.every_last() if job.state == "running"]
    now = {id(job) for job in running}
    if st.session_state[RUNNING] - now:
        st.rerun()
    st.session_state[RUNNING] = now
    label = f"{min(map(progress.share, running)):.0%}" if running else "Done"
    with st.popover(label, icon=":material/progress_activity:", type="tertiary", key="watched jobs"):
        for job in running:
            row = widgets.row()
            text = f"{job.name}: {job.what} · {progress.status(job)}"
            row.progress(progress.share(job), plain(text), width="stretch")
            if job.stoppable:
                hint, off = job.after_stop or "Stop this job.", job.stop.is_set()
                widgets.button("Stop", "stop", job.stop.set, place=row, key=f"stop {job.key}", hint=hint, off=off)
        _past([], jobs.history())


def _past(ended: list[jobs.Job], past: list[jobs.Job]) -> None:
    """What has just ended, and what has ended since the server was started."""
    for job in ended:
        row = widgets.row()
        text, outcome = row.container(width="stretch"), job.outcome
        if job.state == "failed":
            messages.error(_said(job), text)
        elif job.state == "stopped":
            messages.warning(_said(job), place=text)
        elif outcome:
            said = "\n".join([plain(_said(job)), *(f"- {plain(each)}" for each in outcome.problems)])
            alert, icon = (text.warning, "warning") if outcome.problems else (text.success, "check")
            alert(said, icon=f":material/{icon}:")
            if file := outcome.file:
                key = f"get {job.key}"
                row.download_button("Download", file.read_bytes, file.name, key=key, icon=":material/download:")
        hint, key = "Dismiss this message.", f"put away {job.key}"
        widgets.button("Close", "close", jobs.dismiss, (job.key,), place=row, key=key, hint=hint, kind="tertiary")
    for job in past:
        said = job.error or (job.outcome.text if job.outcome else job.after_stop)
        took = progress.duration(job.ended - job.began)
        st.markdown(f":material/{ICONS[job.state]}: {plain(f'{job.at} · {job.name}: {job.what} · {took}')}")
        messages.caption(said)
