"""Worker threads of a back end, and a way to end what is being encoded in another thread.

    each(fill, batches, workers=2)       fill(batch) for every batch; the calling thread is one of the workers

    stop = threading.Event()
    with stopped_by(stop):               once stop is set, this ends with an error before its next batch
        encoder.encode(texts)

Every worker takes its next batch itself: a pool with a task for each text would wake the calling thread after each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event
from typing import TypeVar

from semsearch.errors import SemsearchError

T = TypeVar("T")
_STOP: ContextVar[Event | None] = ContextVar("stop", default=None)


@contextmanager
def stopped_by(stop: Event) -> Iterator[None]:
    """What this thread encodes inside ends early once `stop` is set."""
    before = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(before)


def each(work: Callable[[T], None], batches: Sequence[T], workers: int) -> None:
    """Do `work` for every batch on `workers` threads; they are begun in their order.

    The first error ends all threads, each after the batch that it is at, and is raised. Raises SemsearchError if the
    caller is stopped (`stopped_by`). The threads end with the call: permanent ones would be missing after a fork.
    """
    upcoming, failed, stop = iter(batches), Event(), _STOP.get() or Event()

    def take() -> None:
        try:
            for batch in upcoming:  # threads may share the iterator of a list
                if failed.is_set() or stop.is_set():
                    return
                work(batch)
        except BaseException:
            failed.set()
            raise

    others = min(workers, len(batches)) - 1
    if others < 1:
        take()
    else:
        with ThreadPoolExecutor(others) as pool:
            try:
                futures = [pool.submit(take) for _ in range(others)]
                take()
                for future in futures:
                    future.result()
            finally:
                failed.set()  # where it is Ctrl-C that ends this call
    if stop.is_set():
        raise SemsearchError("the encoding was stopped.")
