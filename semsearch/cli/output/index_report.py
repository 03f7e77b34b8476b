"""Report of an `index` run, for a person and for a program."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict

from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.errors import GateFailed
from semsearch.types import JsonObject, SyncReport

LISTED = 10  # skipped files that are named on stderr; `info` names them all


def show(report: SyncReport, options: Options, *, strict: bool, as_json: bool) -> None:
    """Print counts to stdout, warnings and skipped files to stderr. With `strict`, exit 5 if any was skipped."""
    missed = len(report.skipped)
    skipped = f"{console.count(missed, 'item')} skipped."
    gate = GateFailed(skipped, "They are listed above.") if missed and strict else None
    warnings = _warnings(report)
    if as_json:
        console.emit_result(_as_object(report, warnings), gate)
    elif not options.quiet:
        console.out(_summary(report))
    console.warn(warnings)
    _list_skipped(report)
    sys.stdout.flush()  # under --watch the next report may be hours away
    if gate:
        console.exit_with(gate)


def document_counts(report: SyncReport) -> dict[str, int]:
    """The number of documents that a run added, changed, skipped, …"""
    kinds = ("added", "changed", "unchanged", "moved", "deleted")
    return {kind: getattr(report, kind) for kind in kinds} | {"skipped": len(report.skipped)}


def _as_object(report: SyncReport, warnings: Sequence[str]) -> JsonObject:
    shown = {
        "schema": 1,
        "index": report.index,
        "documents": document_counts(report),
        "passages": report.passages,
        "vectors": report.vectors,
        "skipped": [asdict(item) for item in report.skipped],
        "took_s": report.took_s,
        "warnings": list(warnings),
    }
    return {**shown, "dry_run": True} if report.dry_run else shown


def _summary(report: SyncReport) -> str:
    counts = ", ".join(f"{count:,} {kind}" for kind, count in document_counts(report).items())
    would = " (dry run: nothing was written)" if report.dry_run else ""
    holds = console.count(report.passages, "passage")
    return f"{console.safe(report.index)}: {counts}; {holds} in {report.took_s:.1f} s{would}"


def _warnings(report: SyncReport) -> list[str]:
    warnings = list(report.warnings)
    if not (report.added + report.changed + report.unchanged + report.moved + report.deleted or report.skipped):
        warnings.append("no documents were found.")
    if report.cut_tokens:
        passages = console.count(report.cut_passages, "passage")
        tokens = console.count(report.cut_tokens, "token")
        warnings.append(f"{passages} exceeded the encoder's maximum length: {tokens} are not part of the vectors.")
    return warnings


def _list_skipped(report: SyncReport) -> None:
    if not report.skipped:
        return
    console.note(f"skipped {console.count(len(report.skipped), 'item')}:")
    for item in report.skipped[:LISTED]:
        console.note(f"  {item.path}: {item.reason}")
    if len(report.skipped) > LISTED:
        console.note(f"  and {len(report.skipped) - LISTED:,} more: see `semsearch info {report.index}`")
