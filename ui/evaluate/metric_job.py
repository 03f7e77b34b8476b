"""Measuring in the background: one thing after the other, each run kept as soon as it is there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from semsearch import Progress, SemsearchError
from semsearch.evaluation import save_run

from ..shared import jobs
from ..shared.encoder_picker import short

KEY = ("Evaluate",)  # one at a time: what runs beside another would spoil its milliseconds
FINE = 1_000  # steps of the bar for each thing that is measured
STAYS = "What was measured before is among the runs."
LOG = logging.getLogger(__name__)
Run = dict[str, Any]
Work = Callable[[str, jobs.Told], Run]


def button(names: Sequence[str], what: str, work: Work, *, stoppable: bool = True) -> None:
    """What begins `work` on each of the names. It gives a run, and hears how to tell of its progress."""
    st.button("Measure", type="primary", icon=":material/play_arrow:", on_click=_start,
              disabled=not names or jobs.busy(KEY), args=(tuple(names), what, work, stoppable),
              help="It runs in the background; you can leave this page and come back.")  # fmt: skip


def _start(names: Sequence[str], what: str, work: Work, stoppable: bool) -> None:
    about = STAYS if stoppable else "it is one computation"
    jobs.begin(KEY, what, lambda told: made(names, work, told), stoppable=stoppable, about=about)


def made(names: Sequence[str], work: Work, told: jobs.Told) -> jobs.Outcome:
    """Every run is kept; what fails is told beside the others. Raises SemsearchError where nothing came of it."""
    problems: list[str] = []
    warnings: list[str] = []
    lost: list[Run] = []
    for at, name in enumerate(names):
        try:
            run = work(name, part(told, at, len(names), short(name)))
        except jobs.Stopped:
            raise
        except Exception as error:  # a broken file can fail in any library that reads it
            if jobs.ending():
                raise jobs.Stopped from None
            problems.append(f"{short(name)}: {_sentence(error)}")
            continue
        warnings += [f"{short(name)}: {each}" for each in run.pop("warnings", [])]
        try:
            save_run(run)
        except OSError as error:
            lost.append(run)
            problems.append(f"{short(name)}: its run is shown, and could not be kept: {error.strerror or error}.")
    done = len(names) - len(problems) + len(lost)
    if not done:
        raise SemsearchError(" ".join(problems))
    return jobs.Outcome(
        f"{done} measured; see the runs below, on the page Evaluate.", (*problems, *warnings), value=lost
    )


def lost() -> list[Run]:
    """Runs of the last job that could not be kept."""
    job = jobs.of(KEY)
    return list(job.outcome.value or ()) if job and job.outcome else []


def part(told: jobs.Told, at: int, of: int, name: str = "") -> jobs.Told:
    """What tells of one of several things: the bar goes over all of them."""

    def tell(step: Progress) -> None:
        share = min(step.done / step.total, 1.0) if step.total else 0.0
        item = ": ".join(each for each in (name, step.item) if each)
        told(Progress(round((at + share) * FINE), of * FINE, step.unit, item))

    return tell


def _sentence(error: Exception) -> str:
    if isinstance(error, SemsearchError):
        return str(error)
    LOG.error("a measure failed", exc_info=error)
    return f"it does not work: {type(error).__name__}. The log of the server has the details."
