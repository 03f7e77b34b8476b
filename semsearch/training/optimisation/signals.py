"""Signals during a run: Ctrl-C and SIGTERM take effect after the current step, so that the run can be resumed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def deferred() -> Iterator[list[int]]:
    """Delay the usual effect of a signal until the end of the block; a second signal takes effect at once.

    Yields the list of signals that have arrived. Does nothing outside the main thread, and for signals that are ignored
    or handled outside Python.
    """
    arrived: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        current = {number: signal.getsignal(number) for number in SIGNALS}
        handlers = {number: usual for number, usual in current.items() if usual not in (None, signal.SIG_IGN)}

    def restore() -> None:
        for number, usual in handlers.items():
            signal.signal(number, usual)

    def request(number: int, frame: object) -> None:
        if arrived:
            restore()
            signal.raise_signal(number)
        arrived.append(number)

    for number in handlers:
        signal.signal(number, request)
    try:
        yield arrived
    finally:
        restore()
    if arrived:
        signal.raise_signal(arrived[0])
