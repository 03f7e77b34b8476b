"""The background job that measures one thing after the other, and saves each run as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from semsearch import Progress, SemsearchError
from semsearch.evaluation import save_run
from semsearch.types import JsonObject

from ..shared import jobs, messages, widgets
from ..shared.encoder_picker import short_name
from ..shared.messages import count

KEY = ("Evaluate",)  # one at a time: a second job would spoil the times of the first
FINE = 1_000  # steps of the bar for each thing that is measured
STOPPED = "What was measured before is among the runs."
Work = Callable[[str, jobs.Report], JsonObject]


def button(names: Sequence[str], what: str, work: Work, *, stoppable: bool = True) -> None:
    """A button that begins `work` on each of the names. It returns a run, and reports its progress."""
    off, args = not names or jobs.busy(KEY), (tuple(names), what, work, stoppable)
    widgets.button("Measure", "play_arrow", _start, args, hint=widgets.IN_BACKGROUND, kind="primary", off=off)


def _start(names: Sequence[str], what: str, work: Work, stoppable: bool) -> None:
    about = STOPPED if stoppable else "it is one computation"
    jobs.begin(KEY, what, lambda report: measure(names, work, report), stoppable=stoppable, about=about)


def measure(names: Sequence[str], work: Work, report: jobs.Report) -> jobs.Outcome:
    """Save every run; name what fails beside the others. Raises SemsearchError where everything fails."""
    problems: list[str] = []
    warnings: list[str] = []
    unsaved: list[JsonObject] = []
    for at, name in enumerate(names):
        short = short_name(name)
        try:
            run = work(name, part(report, at, len(names), short))
        except jobs.Stopped:
            raise
        except Exception as error:  # a broken file can fail in any library that reads it
            if jobs.server_ends():
                raise jobs.Stopped from None
            problems.append(f"{short}: {messages.sentence(error, 'Measuring')}")
            continue
        warnings += [f"{short}: {each}" for each in run.pop("warnings", [])]
        try:
            save_run(run)
        except OSError as error:
            unsaved.append(run)
            problems.append(f"{short}: the run is shown, but could not be saved: {error.strerror or error}.")
    done = len(names) - len(problems) + len(unsaved)
    if not done:
        raise SemsearchError(" ".join(problems))
    text = f"{count(done, 'run')} measured; see below, on the page Evaluate."
    return jobs.Outcome(text, (*problems, *warnings), value=unsaved)


def unsaved() -> list[JsonObject]:
    """Runs of the last job that could not be saved."""
    job = jobs.last(KEY)
    return cast(list[JsonObject], job.outcome.value or []) if job and job.outcome else []


def part(report: jobs.Report, at: int, of: int, name: str = "") -> jobs.Report:
    """A report for one of several things: the bar goes over all of them."""

    def scaled(step: Progress) -> None:
        share = min(step.done / step.total, 1.0) if step.total else 0.0
        item = ": ".join(each for each in (name, step.item) if each)
        report(Progress(round((at + share) * FINE), of * FINE, step.unit, item))

    return scaled
