"""Long work: it runs in a thread of the server, says how far it is, can be stopped, and outlives a reload of the page.

One job an index at a time, as there is one writer. What was stored before a job ends, however it ends, stays stored.
Work on no index goes by a key of its own, a tuple that the page's title leads: ("Compare", "3f9a…"); one job a key.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from semsearch import Index, Progress, SemsearchError

from . import held

Told = Callable[[Progress], None]
Key = tuple[str, ...]  # work on no index; its first part is shown
KEPT = 32  # jobs on no index that have ended, with what they found
STAYS = "What was stored by then stays; the next update goes on from there."
State = Literal["running", "done", "stopped", "failed"]


class Stopped(Exception):
    """Raised within a job that a person has stopped."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job has come to: a sentence, what it has found wrong, a file that it has made, what it has found."""

    text: str
    problems: tuple[str, ...] = ()
    file: Path | None = None
    keep: Any = None  # held as long as the job is: the folder of `file`
    value: Any = None  # for the page that asked


@dataclass(eq=False, slots=True)
class Job:
    """Work on an index, or of a key. `what` names it; `outcome` is there once it is done, `error` once it has failed.

    `about` is a sentence: what stays where it is stopped, or why it cannot be stopped. Of a job that is not `told`
    nothing is said where it is done: its page shows what it found.
    """

    of: str | Key
    what: str
    stoppable: bool = True
    told: bool = True
    about: str = ""
    state: State = "running"
    progress: Progress | None = None
    outcome: Outcome | None = None
    error: str = ""
    began: float = field(default_factory=time.monotonic)
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def name(self) -> str:
        """The index, or the page that asked."""
        return self.of if isinstance(self.of, str) else self.of[0]

    @property
    def stays(self) -> str:
        """What a stop leaves behind."""
        return self.about or (STAYS if isinstance(self.of, str) else "")

    def tell(self, step: Progress) -> None:
        """What the work calls with each step. Raises Stopped where it was asked to stop."""
        self.progress = step
        if self.stop.is_set():
            raise Stopped

    def run(self, work: Callable[[Told], Outcome]) -> None:
        """Do it, and keep how it ended."""
        try:
            self.outcome = work(self.tell)
            self.state = "done"
        except Stopped:
            self.state = "stopped"
        except Exception as error:
            self.error = _sentence(error)
            self.state = "failed"


@dataclass(eq=False, slots=True)
class Jobs:
    """The last job of each index, by the index's folder, and of each key."""

    of: dict[str | Key, Job] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


@st.cache_resource(show_spinner=False)
def _jobs() -> Jobs:
    return Jobs()


def start(
    of: str | Key,
    what: str,
    work: Callable[[Told], Outcome],
    *,
    stoppable: bool = True,
    told: bool = True,
    about: str = "",
) -> Job:
    """Begin work on an index, or of a key. Raises SemsearchError while other work on it runs."""
    jobs, key, job = _jobs(), _key(of), Job(of, what, stoppable, told, about)
    with jobs.lock:
        at_hand = jobs.of.get(key)
        if at_hand and at_hand.state == "running":
            raise SemsearchError(
                f"{job.name} is busy: {at_hand.what.lower()} is still running.", "Wait for it, or stop it first."
            )
        jobs.of.pop(key, None)  # the newest stands last
        jobs.of[key] = job
        past = [one for one, other in jobs.of.items() if isinstance(one, tuple) and other.state != "running"]
        for one in past[:-KEPT]:
            del jobs.of[one]
    threading.Thread(target=job.run, args=(work,), name=f"{what} {job.name}", daemon=True).start()
    return job


def begin(of: str | Key, what: str, work: Callable[[Told], Outcome], **how: Any) -> None:
    """`start`, behind a click: where it is refused, the next drawing of the page says why."""
    try:
        start(of, what, work, **how)
    except SemsearchError as error:
        refuse(str(error))


def refuse(why: str) -> None:
    """Have the next drawing of the page say why the click did nothing."""
    st.session_state["refused"] = why


def note(done: str) -> None:
    """Have the next drawing of the page say what the click has done."""
    st.session_state["noted"] = done


def refused() -> None:
    """Why the last click did nothing, or what it has done, said once."""
    if why := st.session_state.pop("refused", ""):
        st.error(held.plain(why), icon=":material/error:")
    if done := st.session_state.pop("noted", ""):
        st.success(held.plain(done), icon=":material/check:")


def busy(name: str | Key) -> bool:
    """Whether work on it runs."""
    job = of(name)
    return job is not None and job.state == "running"


def of(name: str | Key) -> Job | None:
    """The last job of an index or a key, unless it was put away."""
    return _jobs().of.get(_key(name))


def forget(name: str | Key) -> None:
    """Show the last job of an index or a key no longer. One that runs is kept."""
    jobs, key = _jobs(), _key(name)
    with jobs.lock:
        if key in jobs.of and jobs.of[key].state != "running":
            del jobs.of[key]


def show() -> None:
    """Every job that runs, and how those before it ended."""
    found = list(_jobs().of.values())
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
    running = [job for job in _jobs().of.values() if job.state == "running"]
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


def _how_far(job: Job, share: float) -> str:
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
    return held.plain(" · ".join(told))


def _ended(job: Job) -> None:
    row, end = st.columns((6, 1), vertical_alignment="center")
    name = held.plain(f"{job.name}: {job.what}")
    if job.state == "failed":
        row.error(f"{name}. {held.plain(job.error)}", icon=":material/error:")
    elif job.state == "stopped":
        row.warning(f"{name} was stopped. {held.plain(job.stays)}", icon=":material/stop:")
    elif job.outcome:
        lines = [f"{name}. {held.plain(job.outcome.text)}", *(f"- {held.plain(one)}" for one in job.outcome.problems)]
        shown = row.warning if job.outcome.problems else row.success
        shown("\n".join(lines), icon=":material/warning:" if job.outcome.problems else ":material/check:")
        if job.outcome.file:
            end.download_button("Download", job.outcome.file.read_bytes, job.outcome.file.name,
                                key=f"get {job.of}", icon=":material/download:")  # fmt: skip
    end.button("Close", key=f"put away {job.of}", icon=":material/close:", type="tertiary", on_click=forget,
               args=(job.of,), help="Put this message away.")  # fmt: skip


def _key(of: str | Key) -> str | Key:
    return str(Index.folder(of).absolute()) if isinstance(of, str) else of


def _sentence(error: Exception) -> str:
    if isinstance(error, SemsearchError):
        return f"{error.message} {error.fix}".strip()
    if isinstance(error, OSError):
        return f"The disk would not: {error.strerror or error}. What was stored before stays."
    logging.getLogger(__name__).error("a job failed", exc_info=error)
    return f"It ended at a fault of its own ({type(error).__name__}); the log of the server has the details."
