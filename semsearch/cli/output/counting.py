"""How far a measurement is: a bar on a terminal, a line now and then with -v, else nothing. All of it on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from semsearch.cli.common import Options
from semsearch.cli.output import text

SECONDS_A_LINE = 5.0

Count = Callable[[int, int], None]  # done, of how many


@contextmanager
def counted(options: Options, job: str, unit: str) -> Iterator[Count]:
    """What a measurement calls with each step."""
    if sys.stderr.isatty() and not options.quiet:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        name = TextColumn("{task.description}", markup=False)
        shown = (name, BarColumn(bar_width=None), MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn())
        with Progress(*shown, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(text.safe(job), total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    elif options.verbose:
        yield _lines(job, unit)
    else:
        yield lambda done, total: None


def _lines(job: str, unit: str) -> Count:
    last = time.monotonic()

    def count(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_A_LINE or done == total:
            last = time.monotonic()
            text.note(f"{job}: {done:,} of {total:,} {unit}")

    return count
