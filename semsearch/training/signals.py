"""Ctrl-C and SIGTERM during a run: what is being done is brought to its end, so that the run can go on from there."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether a signal came. `number` is the first, 0 for none."""

    number = 0

    def __bool__(self) -> bool:
        return self.number > 0


@contextmanager
def noticed() -> Iterator[Stop]:
    """A signal is noted, and has its usual effect at the end of the block; a second one has it at once.

    Where a program handles signals in a way of its own or in another thread, nothing is changed.
    """
    stop = Stop()
    before: dict[int, Any] = {}

    def note(number: int, frame: Any) -> None:
        if stop:
            _restored(before)
            signal.raise_signal(number)
        stop.number = stop.number or number

    if threading.current_thread() is threading.main_thread():
        usual = {number: signal.getsignal(number) for number in SIGNALS}
        before.update({number: how for number, how in usual.items() if how not in (None, signal.SIG_IGN)})
    for number in before:
        signal.signal(number, note)
    try:
        yield stop
    finally:
        _restored(before)
    if stop:
        signal.raise_signal(stop.number)


def _restored(before: dict[int, Any]) -> None:
    for number, how in before.items():
        signal.signal(number, how)
