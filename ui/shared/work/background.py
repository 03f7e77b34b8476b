"""Computations that take seconds: each runs once beside the page, which is drawn again when the result is there."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from threading import Lock, Thread
from time import monotonic
from typing import Any, TypeVar, cast

import streamlit as st

from semsearch import SemsearchError

from .. import messages

MOST_RESULTS = 16
PATIENCE = 0.4  # seconds that a page waits for a result before it shows that it waits
T = TypeVar("T")


class Worker:
    """Work in daemon threads, one piece after the other, and the newest results by key."""

    def __init__(self) -> None:
        self._results: dict[Hashable, Future[Any]] = {}
        self._lock, self._turn = Lock(), Lock()

    def __call__(self, key: Hashable, work: Callable[[], object]) -> Future[Any]:
        """The future of this work; work that failed is begun anew at the next call."""
        with self._lock:
            future = self._results.pop(key, None) or self._begin(work)
            if not (future.done() and future.exception()):
                self._results[key] = future
            done = [each for each, result in self._results.items() if result.done() and each != key]
            for each in done[: max(0, len(self._results) - MOST_RESULTS)]:  # never what a page still waits for
                del self._results[each]
            return future

    def _begin(self, work: Callable[[], object]) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                with self._turn:
                    future.set_result(work())
            except BaseException as error:  # or the page would wait forever
                future.set_exception(error)

        Thread(target=run, name="background", daemon=True).start()
        return future


@st.cache_resource(show_spinner=False)
def _worker(queue: str) -> Worker:
    return Worker()


def begin(key: Hashable, work: Callable[[], object], queue: str = "short") -> Future[Any]:
    """The future of this work, which is begun unless it has been."""
    return _worker(queue)(key, work)


def result(key: Hashable, work: Callable[[], T], waiting: str, *, queue: str = "short") -> T | None:
    """The result of the work, or None while it runs, with `waiting` shown. Raises SemsearchError where it failed.

    Work of one queue is done one after the other: what takes minutes has a queue of its own.
    """
    future = begin(key, work, queue)
    wait([future], PATIENCE)
    if not future.done():
        _watch(future, waiting, st.session_state.setdefault(f"waits for {key}", monotonic()))
        return None
    st.session_state.pop(f"waits for {key}", None)
    error = future.exception()
    if error is None or isinstance(error, SemsearchError):
        return cast(T, future.result())
    raise SemsearchError(messages.sentence(error, "The computation"))


@st.fragment(run_every=0.5)
def _watch(future: Future[Any], waiting: str, began: float) -> None:
    if future.done():
        st.rerun()
    messages.info(f"{waiting} ({monotonic() - began:.0f} s)", icon="hourglass_top")
