"""The jobs at the top of every page: how far each is, a button that stops it, and how it ended."""

from __future__ import annotations

import time

import streamlit as st

from . import jobs, pool


def show() -> None:
    """Every job that runs, and how those before it ended."""
    found = jobs.known()
    running = {id(job) for job in found if job.state == "running"}
    st.session_state["jobs running"] = running
    if running:
        _watch()
    for job in found:
        if job.state != "running" and (job.told or job.state != "done"):
            _ended(job)


@st.fragment(run_every=1.0)
def _watch() -> None:
    """The jobs that run, drawn anew every second; once one has ended, the whole page is."""
    running = [job for job in jobs.known() if job.state == "running"]
    now = {id(job) for job in running}
    if st.session_state["jobs running"] - now:
        st.rerun()
    st.session_state["jobs running"] = now
    for job in running:
        step = job.progress
        share = min(step.done / step.total, 1.0) if step and step.total else 0.0
        row = st.container(horizontal=True, vertical_alignment="center", border=True)
        row.progress(share, _how_far(job, share), width="stretch")
        if job.stoppable:
            row.button("Stop", key=f"stop {job.of}", icon=":material/stop:", on_click=job.stop.set,
                       disabled=job.stop.is_set(), help=job.stays or "End this work.")  # fmt: skip


def _how_far(job: jobs.Job, share: float) -> str:
    step, seconds = job.progress, time.monotonic() - job.began
    told = [f"{job.name}: {job.what}", f"{seconds:.0f} s"]
    if step and step.total:
        told.insert(1, f"{share:.0%}")
    if step and step.passages:
        told.append(f"{step.passages:,} passages")
    if step and step.item:
        told.append(step.item[-60:])
    if job.stop.is_set():
        told.append("stopping …")
    if not job.stoppable:
        told.append(f"cannot be stopped: {job.about}" if job.about else "cannot be stopped")
    return pool.plain(" · ".join(told))


def _ended(job: jobs.Job) -> None:
    row, end = st.columns((6, 1), vertical_alignment="center")
    name = pool.plain(f"{job.name}: {job.what}")
    if job.state == "failed":
        row.error(f"{name}. {pool.plain(job.error)}", icon=":material/error:")
    elif job.state == "stopped":
        row.warning(f"{name} was stopped. {pool.plain(job.stays)}", icon=":material/stop:")
    elif job.outcome:
        lines = [
            f"{name}. {pool.plain(job.outcome.text)}",
            *(f"- {pool.plain(one)}" for one in job.outcome.problems),
        ]
        shown = row.warning if job.outcome.problems else row.success
        shown("\n".join(lines), icon=":material/warning:" if job.outcome.problems else ":material/check:")
        if job.outcome.file:
            end.download_button("Download", job.outcome.file.read_bytes, job.outcome.file.name,
                                key=f"get {job.of}", icon=":material/download:")  # fmt: skip
    end.button("Close", key=f"put away {job.of}", icon=":material/close:", type="tertiary", on_click=jobs.forget,
               args=(job.of,), help="Put this message away.")  # fmt: skip
