"""Progress of a long job on stderr: a bar on a terminal, else a line from time to time, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.types import Progress

if TYPE_CHECKING:
    from semsearch.training.loop import TrainingStep

SECONDS_PER_LINE = 10.0  # where stderr is a file or a pipe

Count: TypeAlias = Callable[[int, int], None]  # done, total
Display: TypeAlias = Callable[[str, int, int, str, bool], None]  # job, done, total, details; print it at once?


@contextmanager
def sync_progress(options: Options, job: str) -> Iterator[Callable[[Progress], None]]:
    """A callback for jobs that report `Progress`, with the rate in passages."""
    started = time.monotonic()
    with _display(options) as show:

        def report(step: Progress) -> None:
            rate = step.passages / max(time.monotonic() - started, 1e-9)
            amount = console.size if step.unit == "bytes" else "{:,}".format
            total = f"{amount(step.done)} of {amount(step.total)}, " if step.total else ""
            if step.unit == "passages":
                total = f"{step.done:,} of {step.total:,} passages, "
            if step.unit == "files" and not step.total:  # before it is known which of them are to be read
                total = f"{step.done:,} files looked up, "
            so_far = "" if step.unit == "passages" else f"{step.passages:,} passages, "
            detail = f"{total}{so_far}{rate:,.0f} passages/s {step.item[-30:]}"
            show(job, step.done, step.total, detail.rstrip(), step.done >= step.total)

        yield report


@contextmanager
def counter(options: Options, job: str, unit: str) -> Iterator[Count]:
    """A callback for jobs that count how many `unit` are done."""
    with _display(options) as show:
        yield lambda done, total: show(job, done, total, f"{done:,} of {total:,} {unit}", done >= total)


@contextmanager
def counted_progress(options: Options, job: str, unit: str) -> Iterator[Callable[[Progress], None]]:
    """As `counter`, for jobs that report `Progress`."""
    with counter(options, job, unit) as shown:
        yield lambda step: shown(step.done, step.total)


@contextmanager
def step_progress(options: Options, job: str) -> Iterator[Callable[[Progress], None]]:
    """A callback for jobs that report steps or checks by name."""
    with _display(options) as show:

        def report(step: Progress) -> None:
            at = f"{min(step.done + 1, step.total)} of {step.total} {step.unit}"
            show(job, step.done, step.total, f"{at}, {step.item}" if step.item else at, step.done >= step.total)

        yield report


@contextmanager
def training_progress(options: Options, jobs: Sequence[str]) -> Iterator[Callable[[TrainingStep], None]]:
    """A callback for training runs, one after the other: loss, validation score and time left."""
    current, last, scored = 0, 0, None
    with _display(options) as show:

        def report(step: TrainingStep) -> None:
            nonlocal current, last, scored
            current += step.step <= last and current + 1 < len(jobs)  # a lower step is the next run's
            detail = f"step {step.step:,} of {step.total:,}, {step_text(step)}"
            detail = f"{detail}, {console.duration(step.seconds_left)} left"
            show(jobs[current], step.step, step.total, detail, step.score != scored or step.step >= step.total)
            last, scored = step.step, step.score

        yield report


def step_text(step: TrainingStep) -> str:
    """
    >>> from types import SimpleNamespace
    >>> step_text(SimpleNamespace(loss=0.5, score=80.0, best=81.5))
    'loss 0.5000, validation 80.00 (best 81.50)'
    """
    if step.score is None:
        return f"loss {step.loss:.4f}"
    best = "" if step.best is None or step.best == step.score else f" (best {step.best:.2f})"
    return f"loss {step.loss:.4f}, validation {step.score:.2f}{best}"


@contextmanager
def _display(options: Options) -> Iterator[Display]:
    """A bar on a terminal, else a line from time to time; nothing with -q."""
    if options.quiet:
        yield lambda *_: None
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _lines(verbose=options.verbose)


def _lines(*, verbose: bool) -> Display:
    """Lines SECONDS_PER_LINE apart or more; with `verbose` also those that are to be printed at once."""
    last = time.monotonic()

    def show(job: str, done: int, total: int, detail: str, at_once: bool) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_PER_LINE or (verbose and at_once):
            last = time.monotonic()
            console.note(f"{job}: {detail}")

    return show


@contextmanager
def _bar() -> Iterator[Display]:
    from rich import progress  # 0.1 s, and only a terminal needs it
    from rich.console import Console
    from rich.table import Column

    whole, rest = Column(no_wrap=True, min_width=7), Column(no_wrap=True, overflow="ellipsis", ratio=1)
    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(bar_width=12),
        progress.TextColumn("{task.percentage:>3.0f}%", table_column=Column(no_wrap=True, min_width=4)),
        progress.TextColumn("{task.fields[detail]}", markup=False, table_column=rest),
        progress.TimeElapsedColumn(table_column=whole),
        progress.TextColumn("ETA", table_column=Column(no_wrap=True, min_width=3)),
        progress.TimeRemainingColumn(table_column=whole),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True, expand=True) as bar:
        task = bar.add_task("starting", total=None, detail="")

        yield lambda job, done, total, detail, _: bar.update(
            task, description=console.safe(job), completed=done, total=total or None, detail=console.safe(detail)
        )
