"""Batches of token rows: texts of similar length, padded to the longest of each batch, halved if memory is full.

    each(fill, batches, workers=2)       fill(batch) for every batch; the calling thread is one of the workers

    stop = threading.Event()
    with stopped_by(stop):               once stop is set, this ends with an error before its next batch
        encoder.encode(texts)

Every worker takes its next batch itself: a pool with a task for each text would wake the calling thread after each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from semsearch.errors import SemsearchError

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")
Row = TypeVar("Row", bound=Sized)
Rows: TypeAlias = Sequence[Sequence[int]]  # token ids of each text
FULL = (  # in messages about full memory of torch and ONNX Runtime, on a CPU or a GPU
    "out of memory",
    "failed to allocate",
    "can't allocate memory",
    "not enough memory",
    "bad_alloc",
    "bfcarena",
    "alloc_failed",
)
_STOP: ContextVar[Event | None] = ContextVar("stop", default=None)


def batches_by_length(
    lengths: Sequence[int], *, max_texts: int, max_tokens: int, pads: bool = True
) -> Iterator[NDArray[np.int64]]:
    """Indices of texts in batches, the longest texts first.

    A batch has at most `max_texts` texts and, padded to its longest, `max_tokens` tokens; one text always fits.
    Without `pads`, a batch has texts of one length only, for networks whose vectors depend on padding.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    start = 0
    while start < len(order):
        longest = sizes[order[start]]
        size = max(1, min(max_texts, max_tokens // max(1, int(longest))))
        batch = order[start : start + size]
        if not pads:
            batch = batch[sizes[batch] == longest]
        yield batch
        start += len(batch)


def pad(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of ids -> ids (n, t) filled up with 0, and their mask (n, t) of 1 for a real token."""
    if len(rows) == 1:  # most batches, and three times as fast
        ids = np.array(rows, dtype=np.int64)
        return ids, np.ones_like(ids)
    lengths = np.array([len(row) for row in rows])
    real = np.arange(lengths.max()) < lengths[:, None]
    ids = np.zeros(real.shape, dtype=np.int64)
    ids[real] = np.concatenate(rows)
    return ids, real.astype(np.int64)


def check_smaller_batch_helps(error: Exception, device: str, *, texts: int, tokens: int) -> None:
    """Raise `error` unless memory was full; SemsearchError if the batch has only one text and cannot be halved.

    `tokens` is the length of the longest text.
    """
    is_full = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"  # torch's own
    if not is_full and not any(sign in str(error).lower() for sign in FULL):
        raise error
    if texts == 1:
        message = f"the memory of {device} does not hold one text of {tokens} tokens."
        if device == "cpu":
            raise SemsearchError(message, "Close other programs, or choose a smaller model.") from error
        raise SemsearchError(message, 'Use device="cpu".', "Use --device cpu.") from error


def halve_when_full(
    run: Callable[[Sequence[Row]], NDArray[np.float32]],
    rows: Sequence[Row],
    device: str,
    release: Callable[[], None] = lambda: None,
    *,
    size: Callable[[Row], int] = len,
) -> NDArray[np.float32]:
    """`run` of the n rows, (n, d) or (n,); if memory is full, of their halves, after `release`.

    Raises SemsearchError, with the row's `size` in tokens, if one row is too long.
    """
    try:
        return run(rows)
    except Exception as error:  # ONNX Runtime and torch have classes of their own
        check_smaller_batch_helps(error, device, texts=len(rows), tokens=max(map(size, rows)))
    release()
    half = len(rows) // 2
    return np.concatenate(
        [halve_when_full(run, part, device, release, size=size) for part in (rows[:half], rows[half:])]
    )


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
