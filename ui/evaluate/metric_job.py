"""The background job that measures one thing after the other, and saves each run as soon as it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from semsearch import SemsearchError
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import runs, widgets
from ..shared.encoder_picker import measure_in_job, short_name
from ..shared.work import jobs

KEY = ("Evaluate",)  # one at a time: a second job would spoil the times of the first
STOPPED = "The runs measured before the stop are saved."
Work = Callable[[str, jobs.Report], JsonObject]


def button(names: Sequence[str], what: str, work: Work) -> None:
    """A button that begins `work` on each of the names. `work` returns a run."""
    off, args = not names or jobs.busy(KEY), (tuple(names), what, work)
    widgets.button("Measure", "play_arrow", _start, args, hint=widgets.IN_BACKGROUND, kind="primary", off=off)


def _start(names: Sequence[str], what: str, work: Work) -> None:
    jobs.begin(KEY, what, lambda report: measure(names, work, report), about=STOPPED)


def measure(names: Sequence[str], work: Work, report: jobs.Report) -> jobs.Outcome:
    """Save every run, and list the failures. Raises SemsearchError where everything fails."""
    warnings: list[str] = []

    def one(name: str, report: jobs.Report) -> None:
        run = work(name, report)
        notes = [*run.pop("warnings", []), runs.save(run)]
        warnings.extend(f"{short_name(name)}: {each}" for each in notes if each)

    problems = measure_in_job(names, one, report)
    if len(problems) == len(names):
        raise SemsearchError(" ".join(problems))
    text = f"{count(len(names) - len(problems), 'run')} measured; see below, on the page Evaluate."
    return jobs.Outcome(text, (*problems, *warnings))
