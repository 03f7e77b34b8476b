"""The background job that brings an index in line with files; searching works meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semsearch import SyncOptions, SyncReport

from ..shared import jobs, pool

MOST_NAMED = 20  # of what a dry run would skip


def begin(name: str, what: str, paths: Sequence[Path], options: SyncOptions) -> None:
    """Begin it; without `paths` for the sources of the index."""

    def work(report: jobs.Report) -> jobs.Outcome:
        with pool.open_copy(name) as index:
            return outcome(index.sync(paths, options, report))

    jobs.begin(name, what, work, about="Nothing is written." if options.dry_run else "")


def outcome(report: SyncReport) -> jobs.Outcome:
    """What a run did to the documents, or would do, in a sentence; a dry run names what it would skip."""
    kinds = ("added", "changed", "moved", "deleted", "unchanged")
    counts, skipped = ", ".join(f"{getattr(report, kind):,} {kind}" for kind in kinds), len(report.skipped)
    if report.dry_run:
        named = [f"skipped: {each.path}: {each.reason}" for each in report.skipped[:MOST_NAMED]]
        named += [f"and {skipped - MOST_NAMED:,} more skipped"] if skipped > MOST_NAMED else []
        text = f"Nothing was written. It would be: {counts}, {skipped:,} skipped."
        return jobs.Outcome(text, (*report.warnings, *named))
    text = f"{counts}; {report.passages:,} passages in all, {report.took_s:.1f} s."
    if skipped:
        text += f" {skipped:,} skipped: the page Documents says why."
    return jobs.Outcome(text, report.warnings)
