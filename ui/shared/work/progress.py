"""Jobs in words: how far one is (counts, rate, time left), and what a run over files did to the documents."""

from __future__ import annotations

import time

from semsearch import Progress, SyncReport
from semsearch.utils.quantities import letters_by_kind

from .jobs import Job, Outcome

MOST_NAMED = 20  # skipped files in the report of a dry run
LEAST_SHARE, LEAST_SECONDS = 0.02, 3.0  # done before the time that is left is told


def share(job: Job) -> float:
    """The part that is done, from 0 to 1; 0 where that is not known."""
    step = job.progress
    return min(step.done / step.total, 1.0) if step and step.total else 0.0


def status(job: Job) -> str:
    """What is done of all, how fast, and how long it will still take."""
    step, took = job.progress, time.monotonic() - job.began
    parts = [] if step is None else [_counts(step), *_rates(step, took)]
    done = share(job)
    left = took * (1 - done) / done if done > LEAST_SHARE and took > LEAST_SECONDS else 0.0
    parts.append(f"{duration(left)} left" if left >= 1 else duration(took))  # what was read may still be encoded
    if job.stop.is_set():
        parts.append("stopping …")
    elif not job.stoppable:
        parts.append(f"cannot be stopped: {job.about}".removesuffix(": "))
    return " · ".join(filter(None, parts))


def _counts(step: Progress) -> str:
    if step.files_total:
        return f"{step.files_done:,} of {step.files_total:,} files"
    if step.unit == "bytes" or step.total == 1_000:  # parts of something, whose number says nothing
        return f"{step.done / step.total:.0%}" if step.total else ""
    return f"{step.done:,} of {step.total:,} {step.unit}" if step.total else f"{step.done:,} {step.unit}"


def _rates(step: Progress, took: float) -> list[str]:
    if not step.passages:
        return []
    rate = step.passages / max(took, 0.1)
    return [f"{step.passages:,} passages", f"{rate:,.0f} a second" if rate >= 10 else f"{rate:.1f} a second"]


def duration(seconds: float) -> str:
    """
    >>> duration(4.2), duration(100), duration(9000)
    ('4 s', '2 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def outcome(report: SyncReport) -> Outcome:
    """A sentence on what a run did to the documents, or would do; a dry run names the files that it would skip."""
    skipped, changed = len(report.skipped), ("added", "changed", "moved", "deleted")
    kinds = [kind for kind in changed if getattr(report, kind)] or ["unchanged"]
    counts = ", ".join(f"{getattr(report, kind):,} {kind}" for kind in kinds)
    if report.dry_run:
        named = [f"skipped: {each.path}: {each.reason}" for each in report.skipped[:MOST_NAMED]]
        named += [f"and {skipped - MOST_NAMED:,} more skipped"] if skipped > MOST_NAMED else []
        text = f"Nothing was written. It would be: {counts}, {skipped:,} skipped."
        return Outcome(text, (*report.warnings, *named))
    text = f"{counts}; {report.passages:,} passages in all, {report.took_s:.1f} s."
    if skipped:
        text += f" {skipped:,} skipped: the page Documents lists them with reasons."
    if report.left_out:
        text += f" Left out: {letters_by_kind(report.left_out)}."
    return Outcome(text, report.warnings)
