"""How far a long job is: a bar with rate and time left on a terminal, a line now and then with -v, else nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from semsearch.cli.common import Options
from semsearch.cli.output import text
from semsearch.types import Progress

if TYPE_CHECKING:
    from semsearch.training.loop import Step

SECONDS_A_LINE = 5.0


@contextmanager
def reported(options: Options, job: str) -> Iterator[Callable[[Progress], None]]:
    """What a long job calls with each step. All of it goes to stderr."""
    if sys.stderr.isatty() and not options.quiet:
        with _bar(job) as report:
            yield report
    elif options.verbose:
        yield _lines(job)
    else:
        yield lambda step: None


def _lines(job: str) -> Callable[[Progress], None]:
    started = last = time.monotonic()

    def report(step: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SECONDS_A_LINE and step.done < step.total:
            return
        last = now
        share = f"{100 * step.done / step.total:.0f} %" if step.total else "…"
        rate = step.passages / max(now - started, 1e-9)
        text.note(f"{job}: {share} of {_amount(step)}, {step.passages:,} passages, {rate:,.0f} passages/s {step.item}")

    return report


@contextmanager
def _bar(job: str) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    started = time.monotonic()
    shown: Any = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[item]}", markup=False),
    )
    with Bar(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(job, total=None, rate="", item="")

        def report(step: Progress) -> None:
            rate = step.passages / max(time.monotonic() - started, 1e-9)
            told = f"{step.passages:,} passages, {rate:,.0f}/s"
            bar.update(task, completed=step.done, total=step.total or None, rate=told, item=text.safe(step.item)[-30:])

        yield report


def _amount(step: Progress) -> str:
    return text.size(step.total) if step.unit == "bytes" else f"{step.total:,} {step.unit}"


@contextmanager
def trained(options: Options, jobs: Sequence[str]) -> Iterator[Callable[[Step], None]]:
    """What training runs, one after the other, call after each step: loss, the score on dev and what is left."""
    if options.quiet or not (sys.stderr.isatty() or options.verbose):
        yield lambda step: None
    elif not sys.stderr.isatty():
        yield _by_job(jobs, _step_lines())
    else:
        with _step_bar() as report:
            yield _by_job(jobs, report)


def _by_job(jobs: Sequence[str], report: Callable[[str, Step], None]) -> Callable[[Step], None]:
    """Each step with the name of its run: a step that is not beyond the last one is the next run's."""
    at, last = 0, 0

    def named(step: Step) -> None:
        nonlocal at, last
        at += step.step <= last and at + 1 < len(jobs)
        last = step.step
        report(jobs[at], step)

    return named


@contextmanager
def _step_bar() -> Iterator[Callable[[str, Step], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    shown: Any = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("ETA {task.fields[left]}", markup=False),
    )
    with Bar(*shown, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("loading", total=None, told="", left="-")

        def report(job: str, step: Step) -> None:
            left = text.duration(step.seconds_left)
            bar.update(task, description=job, completed=step.step, total=step.total, told=_told(step), left=left)

        yield report


def _step_lines() -> Callable[[str, Step], None]:
    """A line every few seconds, and one for each new score on dev."""
    last, scored = time.monotonic(), None

    def report(job: str, step: Step) -> None:
        nonlocal last, scored
        now = time.monotonic()
        if now - last < SECONDS_A_LINE and step.step < step.total and step.dev == scored:
            return
        last, scored = now, step.dev
        left = text.duration(step.seconds_left)
        text.note(f"{job}: step {step.step:,} of {step.total:,}, {_told(step)}, {left} left")

    return report


def _told(step: Step) -> str:
    """
    >>> from types import SimpleNamespace
    >>> _told(SimpleNamespace(loss=0.5, dev=80.0, best=81.5))
    'loss 0.5000, dev 80.00 (best 81.50)'
    """
    if step.dev is None:
        return f"loss {step.loss:.4f}"
    best = "" if step.best is None or step.best == step.dev else f" (best {step.best:.2f})"
    return f"loss {step.loss:.4f}, dev {step.dev:.2f}{best}"
