"""Jobs in words: how far one is (counts, rate, time left), and what a run over files did to the documents."""

from __future__ import annotations

import time

from semsearch import Progress, SyncReport
from semsearch.utils.quantities import letters_by_kind

from .jobs import Job, Outcome

MOST_NAMED = 20  # skipped files in the report of a dry run
LEAST_SHARE, LEAST_SECONDS = 0.02, 3.0  # done before the time that is left is told
WINDOW, FEW = 30.0, 3  # seconds, and commits, that a rate is measured over
IN_ENCODER = 256  # passages: about a batch was read, but is not stored


def share(job: Job) -> float:
    """The part that is done, from 0 to 1; 0 where that is not known."""
    if expected := _expected(job):
        return min(_passages(job) / expected, 1.0)
    return _read(job.progress)


def status(job: Job) -> str:
    """What is done of all, how fast, and how long it will still take."""
    step, now = job.progress, time.monotonic()
    parts = [] if step is None else [_counts(step)]
    if expected := _expected(job):
        parts = [f"{_passages(job):,} of about {expected:,} passages", *parts]
    elif step is not None and step.passages:
        parts.append(f"{step.passages:,} passages")
    rate = _rate(job)
    parts += [f"{rate:,.0f} a second" if rate >= 10 else f"{rate:.1f} a second"] if rate else []
    parts.append(_left(job, rate, now))
    if job.stop.is_set():
        parts.append("stopping …")
    elif not job.stoppable:
        parts.append(f"cannot be stopped: {job.about}".removesuffix(": "))
    return " · ".join(filter(None, parts))


def _left(job: Job, rate: float, now: float) -> str:
    """The time left: of passages by their latest rate, of anything else by the share that is done."""
    if job.expected is not None:
        if not rate:
            return "estimating …"
        at, passages, read = job.commits[-1]  # the last files may have fewer passages for their size, as PDFs do
        left = min((_expected(job) - passages) / rate, (1 - read) / (_rate(job, of=2) or 1e-9)) - (now - at)
        return f"{duration(left)} left" if left >= 1 else "nearly done"
    took, done = now - job.began, _read(job.progress)
    left = took * (1 - done) / done if done > LEAST_SHARE and took > LEAST_SECONDS else 0.0
    return f"{duration(left)} left" if left >= 1 else duration(took)  # what was read may still be encoded


def _read(step: Progress | None) -> float:
    return min(step.done / step.total, 1.0) if step and step.total else 0.0


def _passages(job: Job) -> int:
    return job.commits[-1][1] if job.commits else 0


def _expected(job: Job) -> int:
    """How many passages there will be: at first by the survey, the more was read the more by what that has come to.

    What was read last may be in the encoder still, so that the part that was read is taken for a little less.
    """
    read, passages = _read(job.progress), _passages(job)
    if job.expected is None or not (passages and read):
        return job.expected or 0
    unread = (1 - read) ** 2 if job.expected else 0.0  # the weight of the survey
    return max(passages, round(unread * job.expected + (1 - unread) * (passages + IN_ENCODER) / read))


def _rate(job: Job, of: int = 1) -> float:
    """Passages (2: shares read) a second of the last WINDOW seconds, or FEW commits; 0 before there are two."""
    if len(job.commits) < 2:
        return 0.0
    last = job.commits[-1]
    recent = [each for each in job.commits if last[0] - each[0] <= WINDOW]
    first = recent[0] if len(recent) >= FEW else job.commits[-min(FEW, len(job.commits))]
    return (last[of] - first[of]) / max(last[0] - first[0], 0.1)


def _counts(step: Progress) -> str:
    if step.files_total:
        return f"{step.files_done:,} of {step.files_total:,} files"
    if step.unit == "bytes" or step.total == 1_000:  # parts of something, whose number says nothing
        return f"{step.done / step.total:.0%}" if step.total else ""
    if step.total or step.done:
        return f"{step.done:,} of {step.total:,} {step.unit}" if step.total else f"{step.done:,} {step.unit}"
    return step.item or f"0 {step.unit}"


def duration(seconds: float) -> str:
    """
    >>> duration(0.04), duration(4.2), duration(100), duration(9000)
    ('40 ms', '4 s', '2 min', '2.5 h')
    """
    if seconds < 1:
        return f"{max(1, round(1000 * seconds))} ms"
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
    text = f"{counts}; {report.passages:,} passages in all, in {duration(report.took_s)}."
    if skipped:
        text += f" {skipped:,} skipped: the library lists them with reasons."
    if report.left_out:
        text += f" Left out: {letters_by_kind(report.left_out)}."
    return Outcome(text, report.warnings)
