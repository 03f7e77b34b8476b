"""What a run of `index` did, for a person and for a program."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from semsearch.cli.common import Options, end_with
from semsearch.cli.output import text
from semsearch.errors import GateFailed
from semsearch.types import SyncReport

LISTED = 10  # skipped files that are named on stderr; `info` names them all


def tell(report: SyncReport, options: Options, *, strict: bool, as_json: bool) -> None:
    """Counts on stdout, warnings and what was skipped on stderr. Ends with exit 5 where `strict` says so."""
    missed = len(report.skipped)
    gate = GateFailed(f"{text.count(missed, 'item')} skipped.", "They are named above.") if missed and strict else None
    warnings = _warnings(report)
    if as_json:
        shown = _as_object(report, warnings)
        text.emit({**shown, "error": text.error_object(gate)} if gate else shown)
    elif not options.quiet:
        text.out(_summary(report))
    text.warn(warnings)
    _name_skipped(report)
    sys.stdout.flush()  # under --watch the next report may be hours away
    if gate:
        end_with(gate)


def _as_object(report: SyncReport, warnings: Sequence[str]) -> dict[str, Any]:
    kinds = ("added", "changed", "unchanged", "moved", "deleted")
    shown = {
        "schema": 1,
        "index": report.index,
        "documents": {**{kind: getattr(report, kind) for kind in kinds}, "skipped": len(report.skipped)},
        "passages": report.passages,
        "vectors": report.vectors,
        "skipped": [asdict(item) for item in report.skipped],
        "took_s": report.took_s,
        "warnings": list(warnings),
    }
    return {**shown, "dry_run": True} if report.dry_run else shown


def _summary(report: SyncReport) -> str:
    counts = ", ".join(f"{getattr(report, k):,} {k}" for k in ("added", "changed", "unchanged", "moved", "deleted"))
    would = " (dry run, nothing was written)" if report.dry_run else ""
    holds = text.count(report.passages, "passage")
    return (
        f"{text.safe(report.index)}: {counts}, {len(report.skipped):,} skipped; {holds} in {report.took_s:.1f} s{would}"
    )


def _warnings(report: SyncReport) -> list[str]:
    warnings = list(report.warnings)
    if not (report.added + report.changed + report.unchanged + report.moved + report.deleted or report.skipped):
        warnings.append("no documents were found.")
    if report.cut_tokens:
        passages = text.count(report.cut_passages, "passage")
        tokens = text.count(report.cut_tokens, "token")
        warnings.append(f"{passages} longer than the encoder reads: {tokens} have no part in the vectors.")
    return warnings


def _name_skipped(report: SyncReport) -> None:
    if not report.skipped:
        return
    text.note(f"skipped {text.count(len(report.skipped), 'item')}:")
    for item in report.skipped[:LISTED]:
        text.note(f"  {item.path}: {item.reason}")
    if len(report.skipped) > LISTED:
        text.note(f"  +{len(report.skipped) - LISTED:,} more, see `semsearch info {report.index}`")
