"""Work that takes seconds: it runs beside the page, once for all who ask; the page is drawn anew when it is done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any

import streamlit as st

from semsearch import SemsearchError

KEPT = 16  # results
PATIENCE = 0.4  # seconds that a page waits for what is soon there


class Later:
    """One thread, which ends with the server, and what it has made or is making, by what was asked; old ones go."""

    def __init__(self, line: str) -> None:
        self._asked: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._made: dict[Hashable, Future[Any]] = {}
        self._lock = Lock()
        Thread(target=self._work, name=f"later {line}", daemon=True).start()

    def __call__(self, asked: Hashable, work: Callable[[], Any]) -> Future[Any]:
        """The future of this work; what failed is begun anew when it is asked for again."""
        with self._lock:
            known = self._made.pop(asked, None) or self._begin(work)
            if not (known.done() and known.exception()):
                self._made[asked] = known
            done = [one for one, future in self._made.items() if future.done() and one != asked]
            for one in done[: max(0, len(self._made) - KEPT)]:  # never what somebody still waits for
                del self._made[one]
            return known

    def _begin(self, work: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self._asked.put((future, work))
        return future

    def _work(self) -> None:
        while True:
            future, work = self._asked.get()
            try:
                future.set_result(work())
            except BaseException as error:  # or the line would end here, and all that wait in it wait forever
                future.set_exception(error)
            del future, work  # what it holds is large


@st.cache_resource(show_spinner=False)
def _later(line: str) -> Later:
    return Later(line)


def result(asked: Hashable, work: Callable[[], Any], waiting: str, *, line: str = "short") -> Any:
    """What the work gives, or None while it runs; then `waiting` is shown. Raises SemsearchError where it failed.

    Works of one line are done one after the other: what takes minutes has a line of its own.
    """
    future = _later(line)(asked, work)
    wait([future], PATIENCE)
    if not future.done():
        began = st.session_state.setdefault(f"waits for {asked}", monotonic())
        _watch(future, waiting, began)
        return None
    st.session_state.pop(f"waits for {asked}", None)
    error = future.exception()
    if isinstance(error, SemsearchError):
        raise error
    if error is not None:
        logging.getLogger(__name__).error("work failed", exc_info=error)
        raise SemsearchError(
            f"this could not be computed ({type(error).__name__}).", "The server's log has the details."
        )
    return future.result()


@st.fragment(run_every=1.0)
def _watch(future: Future[Any], waiting: str, began: float) -> None:
    if future.done():
        st.rerun()
    st.info(f"{waiting} ({monotonic() - began:.0f} s)", icon=":material/hourglass_top:")
