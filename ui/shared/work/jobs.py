"""Long work in a thread of the server: it reports how far it is, can be stopped, and outlives a reload of the page.

One job per index at a time, as there is one writer. What was stored before a job ends, however it ends, stays stored.
Work on no index has a key of its own, a tuple that begins with the page's title: ("Compare", "3f9a…"); one job per key.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Literal

import streamlit as st

from semsearch import Progress, SemsearchError, admin

from .. import messages

Report = Callable[[Progress], None]
Key = str | tuple[str, ...]  # the name of an index; of work on none a tuple, whose first part is shown
LOCK = threading.Lock()  # for changes of the jobs
MOST_FINISHED = 32  # jobs on no index that have ended, with their results
MOST_REMEMBERED = 50  # jobs in the history
FINE = 1_000  # steps of the bar for each of several things
RESUMES = "What was stored so far stays; the next update continues from there."


class Stopped(Exception):
    """Raised within a job that a person has stopped."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a job: a sentence, problems, and a file to download."""

    text: str
    problems: tuple[str, ...] = ()
    file: Path | None = None
    keep: object = None  # lives as long as the job: the temporary folder of `file`


Work = Callable[[Report], Outcome]


@dataclass(eq=False, slots=True)
class Job:
    """Work on an index, or under a key. `what` names it; `outcome` is set once it is done, `error` once it has failed.

    `about` is a sentence: what a stop leaves behind, or why it cannot be stopped. The end of a job that is not
    `announced` shows on its own page only.
    """

    key: Key
    what: str
    stoppable: bool = True
    announced: bool = True
    about: str = ""
    state: Literal["running", "done", "stopped", "failed"] = "running"
    progress: Progress | None = None
    outcome: Outcome | None = None
    error: str = ""
    began: float = field(default_factory=time.monotonic)
    ended: float = 0.0  # by the same clock
    at: str = field(default_factory=lambda: f"{datetime.now():%H:%M}")  # of the day, where the server is
    stop: threading.Event = field(default_factory=threading.Event)
    serial: int = field(default_factory=count(1).__next__)
    expected: int | None = None  # passages, by a survey; 0 before one, None where other things are counted
    commits: list[tuple[float, int, float]] = field(default_factory=list)  # when; passages; the share that was read

    @property
    def name(self) -> str:
        """The index, or the page that began it."""
        return self.key if isinstance(self.key, str) else self.key[0]

    @property
    def after_stop(self) -> str:
        """What a stop leaves behind."""
        return self.about or (RESUMES if isinstance(self.key, str) else "")

    def report(self, progress: Progress) -> None:
        """Called by the work at each step. Raises Stopped if a person has stopped it, or the server ends."""
        self.progress = progress
        if progress.passages > (self.commits[-1][1] if self.commits else 0):
            self.commits.append((time.monotonic(), progress.passages, progress.done / max(progress.total, 1)))
        if self.stop.is_set() or server_ends():
            raise Stopped

    def run(self, work: Work) -> None:
        """Do the work, and record how it ended."""
        state = self._ending(work)
        self.ended = time.monotonic()
        self.state = state  # last: who sees it end sees all of it

    def _ending(self, work: Work) -> Literal["done", "stopped", "failed"]:
        try:
            self.outcome = work(self.report)
        except Stopped:
            return "stopped"
        except BaseException as error:  # tokenizers and torch raise errors that are no Exception
            if server_ends():  # no thread can be started any more, so the error means nothing
                return "stopped"
            self.error = messages.sentence(error)
            return "failed"
        return "done"


def part(report: Report, at: int, of: int, name: str = "") -> Report:
    """A report for one of several things: the bar goes over all of them."""

    def scaled(step: Progress) -> None:
        share = min(step.done / step.total, 1.0) if step.total else 0.0
        item = ": ".join(each for each in (name, step.item) if each)
        report(Progress(round((at + share) * FINE), of * FINE, step.unit, item))

    return scaled


def server_ends() -> bool:
    """Whether the server is shutting down."""
    return not threading.main_thread().is_alive()


@st.cache_resource(show_spinner=False)
def _jobs() -> dict[Key, Job]:
    """The last job of each index, by the index's folder, and of each key; the newest last."""
    return {}


@st.cache_resource(show_spinner=False)
def _history() -> deque[Job]:
    return deque(maxlen=MOST_REMEMBERED)


def history() -> list[Job]:
    """The announced jobs that have ended, the newest first."""
    with LOCK:
        return [job for job in reversed(_history()) if job.state != "running"]


def start(
    key: Key,
    what: str,
    work: Work,
    *,
    stoppable: bool = True,
    announced: bool = True,
    about: str = "",
    expected: int | None = None,
) -> Job:
    """Begin work on an index, or under a key. Raises SemsearchError while other work on it runs."""
    jobs, place, job = _jobs(), _place(key), Job(key, what, stoppable, announced, about, expected=expected)
    with LOCK:
        check_idle(key)
        _forget(place)  # so that the newest comes last
        jobs[place] = job
        if announced:
            _history().append(job)
        finished = [each for each, other in jobs.items() if isinstance(each, tuple) and other.state != "running"]
        for each in finished[:-MOST_FINISHED]:
            _forget(each)
    threading.Thread(target=job.run, args=(work,), name=f"{what} {job.name}", daemon=True).start()
    return job


begin = messages.refusing()(start)  # as the body of a click


def check_idle(key: Key) -> None:
    """Raise SemsearchError while work on it runs."""
    if (job := last(key)) and job.state == "running":
        what = f"{job.name} is busy: {job.what[:1].lower()}{job.what[1:]} is still running."
        raise SemsearchError(what, "Wait for it, or stop it first.")


def busy(key: Key) -> bool:
    """Whether work on it runs."""
    job = last(key)
    return job is not None and job.state == "running"


def last(key: Key) -> Job | None:
    """The last job of an index or a key, unless it was dismissed."""
    return _jobs().get(_place(key))


def every_last() -> list[Job]:
    """The last job of each index and key that had one, the newest last."""
    with LOCK:
        return list(_jobs().values())


def dismiss(key: Key) -> None:
    """Forget the last job of an index or a key, unless it runs."""
    with LOCK:
        if not busy(key):
            _forget(_place(key))


def _forget(place: Key) -> None:
    """Drop a job, and the file that it offers; its history stays."""
    job = _jobs().pop(place, None)
    if job is not None and job.outcome is not None:
        job.outcome = replace(job.outcome, file=None, keep=None)


def _place(key: Key) -> Key:
    return str(admin.folder(key).absolute()) if isinstance(key, str) else key
