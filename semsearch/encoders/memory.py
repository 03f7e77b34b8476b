"""Full memory: recognised in the errors of torch, ONNX Runtime and Python, and met with smaller batches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from semsearch.errors import SemsearchError
from semsearch.models.batching import Rows

SIGNS = (  # in messages of torch and ONNX Runtime, on a CPU or a GPU
    "out of memory",
    "failed to allocate",
    "can't allocate memory",
    "not enough memory",
    "bad_alloc",
    "bfcarena",
    "alloc_failed",
)


def is_full(error: BaseException) -> bool:
    """Whether an error of torch, ONNX Runtime or Python means that memory is full."""
    known = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"  # torch's own
    return known or any(sign in str(error).lower() for sign in SIGNS)


def check_smaller_batch_helps(error: Exception, device: str, *, texts: int, tokens: int) -> None:
    """Return where memory was full and the batch has several `texts`; else raise `error`, or that one text is too long.

    `tokens` is the length of the longest text. Raises SemsearchError for a batch of one text.
    """
    if not is_full(error):
        raise error
    if texts == 1:
        fix = "Close other programs, or choose a smaller model." if device == "cpu" else "Use --device cpu."
        raise SemsearchError(f"the memory of {device} does not hold one text of {tokens} tokens.", fix) from error


def halve_when_full(
    run: Callable[[Rows], NDArray[np.float32]], rows: Rows, device: str, release: Callable[[], None] = lambda: None
) -> NDArray[np.float32]:
    """`run` of the n rows, (n, d); where memory is full, of their halves, after `release`.

    Raises SemsearchError where one row is too long.
    """
    try:
        return run(rows)
    except Exception as error:  # ONNX Runtime and torch have classes of their own
        check_smaller_batch_helps(error, device, texts=len(rows), tokens=max(map(len, rows)))
    release()
    half = len(rows) // 2
    return np.concatenate([halve_when_full(run, part, device, release) for part in (rows[:half], rows[half:])])
