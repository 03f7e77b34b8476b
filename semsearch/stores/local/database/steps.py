"""Progress of maintenance: its steps by name, what is done of one, and signs of life from long statements of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeVar

from semsearch.types import Progress

ROWS = 2_000  # between two reports
INSTRUCTIONS = 200_000  # of SQLite's virtual machine between two reports: some milliseconds
T = TypeVar("T")


class Steps:
    """The steps of a job, of which `begin` reports the next one, and `tell` how far it has come."""

    def __init__(self, progress: Callable[[Progress], None], unit: Literal["steps", "checks"], *names: str) -> None:
        self._progress, self._unit, self._names = progress, unit, names
        self._latest = Progress(-1, len(names), unit)

    def begin(self) -> None:
        """Report that the next step begins."""
        self._latest = Progress(self._latest.done + 1, len(self._names), self._unit)
        self.tell("")

    def tell(self, detail: str) -> None:
        """Report how far the present step has come, in words."""
        done, total = self._latest.done, self._latest.total
        name = self._names[done]
        self._latest = Progress(done, total, self._unit, f"{name}: {detail}" if detail else name)
        self.repeat()

    def repeat(self) -> None:
        """Report the same again: it goes on."""
        self._progress(self._latest)

    def part(self, inner: Progress) -> None:
        """Report a step of a job that is one step of this one."""
        self.tell(inner.item)

    def counted(self, rows: Iterable[T], total: int) -> Iterator[T]:
        """The rows, of which there should be `total`, reported as they pass."""
        for done, row in enumerate(rows):
            if done % ROWS == 0 and done:
                self.tell(f"{done:,} of {total:,}")
            yield row


@contextmanager
def watched(connection: sqlite3.Connection, report: Callable[[], None]) -> Iterator[None]:
    """Call `report` from time to time while statements run; what it raises, a Ctrl-C too, ends the statement."""
    raised: list[BaseException] = []

    def call() -> int:
        try:
            report()
        except BaseException as error:  # SQLite would only say that it was interrupted
            raised.append(error)
        return len(raised)

    connection.set_progress_handler(call, INSTRUCTIONS)
    try:
        yield
    except Exception:  # it may be translated already
        if raised:
            raise raised[0] from None
        raise
    finally:
        connection.set_progress_handler(None, 0)
