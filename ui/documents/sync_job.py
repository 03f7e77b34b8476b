"""An index brought in line with files, in the background; the search works meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semsearch import SyncOptions, SyncReport

from ..shared import jobs, pool

NAMED = 20  # of what a dry run would skip


def begin(name: str, what: str, paths: Sequence[Path], options: SyncOptions) -> None:
    """Begin it; without `paths` with what the index follows already."""

    def work(told: jobs.Told) -> jobs.Outcome:
        with pool.another(name) as index:
            return counted(index.sync(paths, options, told))

    jobs.begin(name, what, work, about="Nothing is written." if options.dry_run else "")


def counted(report: SyncReport) -> jobs.Outcome:
    """What a run did to the documents, or would do, in a sentence; a dry run names what it would skip."""
    parts = [f"{getattr(report, kind):,} {kind}" for kind in ("added", "changed", "moved", "deleted", "unchanged")]
    told, skipped = ", ".join(parts), len(report.skipped)
    if report.dry_run:
        named = [f"skipped: {each.path}: {each.reason}" for each in report.skipped[:NAMED]]
        named += [f"and {skipped - NAMED:,} more skipped"] if skipped > NAMED else []
        return jobs.Outcome(
            f"Nothing was written. It would be: {told}, {skipped:,} skipped.", (*report.warnings, *named)
        )
    told += f"; {report.passages:,} passages in all, {report.took_s:.1f} s."
    if skipped:
        told += f" {skipped:,} skipped: the page Documents says why."
    return jobs.Outcome(told, report.warnings)
