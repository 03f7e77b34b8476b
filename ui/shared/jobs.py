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

from . import pool

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
        """What the work calls with each step. Raises Stopped where it was asked to stop, or the server ends."""
        self.progress = step
        if self.stop.is_set() or ending():
            raise Stopped

    def run(self, work: Callable[[Told], Outcome]) -> None:
        """Do it, and keep how it ended."""
        try:
            self.outcome = work(self.tell)
            self.state = "done"
        except Stopped:
            self.state = "stopped"
        except BaseException as error:  # tokenizers and torch have faults of their own that are no Exception
            if ending():  # nothing can be begun any more, whatever it was
                self.state = "stopped"
                return
            self.error = sentence(error)
            self.state = "failed"


@dataclass(eq=False, slots=True)
class Jobs:
    """The last job of each index, by the index's folder, and of each key."""

    of: dict[str | Key, Job] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


def ending() -> bool:
    """Whether the server is on its way out."""
    return not threading.main_thread().is_alive()


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
    place = st.container()  # always: the forms under it stay open
    if why := st.session_state.pop("refused", ""):
        place.error(pool.plain(why), icon=":material/error:")
    if done := st.session_state.pop("noted", ""):
        place.success(pool.plain(done), icon=":material/check:")


def busy(name: str | Key) -> bool:
    """Whether work on it runs."""
    job = of(name)
    return job is not None and job.state == "running"


def of(name: str | Key) -> Job | None:
    """The last job of an index or a key, unless it was put away."""
    return _jobs().of.get(_key(name))


def known() -> list[Job]:
    """The last job of everything that had one, the newest last."""
    jobs = _jobs()
    with jobs.lock:
        return list(jobs.of.values())


def forget(name: str | Key) -> None:
    """Show the last job of an index or a key no longer. One that runs is kept."""
    jobs, key = _jobs(), _key(name)
    with jobs.lock:
        if key in jobs.of and jobs.of[key].state != "running":
            del jobs.of[key]


def _key(of: str | Key) -> str | Key:
    return str(Index.folder(of).absolute()) if isinstance(of, str) else of


def sentence(error: BaseException) -> str:
    """What went wrong, for a person; what nobody foresaw is in the log."""
    if isinstance(error, SemsearchError):
        return str(error)
    if isinstance(error, OSError):
        return f"The disk would not: {error.strerror or error}. What was stored before stays."
    logging.getLogger(__name__).error("a job failed", exc_info=error)
    return f"It ended at a fault of its own ({type(error).__name__}); the log of the server has the details."
