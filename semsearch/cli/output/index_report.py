"""Report of an `index` run, for a person and for a program."""

from __future__ import annotations

from dataclasses import asdict

from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.errors import GateFailed
from semsearch.types import SyncReport
from semsearch.utils.quantities import count

LISTED = 10  # skipped files that are named on stderr; `info` names them all


def show(report: SyncReport, options: Options, *, strict: bool, as_json: bool) -> None:
    """Print warnings and skipped files to stderr, counts to stdout. With `strict`, exit 5 if any was skipped."""
    counts, warnings = document_counts(report), _warnings(report)
    console.warn(warnings)
    skipped = count(len(report.skipped), "item")
    if report.skipped:
        console.note(f"skipped {skipped}:")
    for item in report.skipped[:LISTED]:
        console.note(f"  {item.path}: {item.reason}")
    if len(report.skipped) > LISTED:
        console.note(f"  and {len(report.skipped) - LISTED:,} more: see `semsearch info {report.index}`")
    found = {"index": report.index, "documents": counts, "passages": report.passages, "vectors": report.vectors}
    found |= {"skipped": [asdict(item) for item in report.skipped], "took_s": report.took_s, "warnings": warnings}
    found |= {"dry_run": True} if report.dry_run else {}
    listed = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    would = " (dry run: nothing was written)" if report.dry_run else ""
    text = f"{report.index}: {listed}; {count(report.passages, 'passage')} in {report.took_s:.1f} s{would}"
    failed = GateFailed(f"{skipped} skipped.", "They are listed above.") if report.skipped and strict else None
    console.result(found, text, as_json=as_json, quiet=options.quiet, failed=failed)


def _warnings(report: SyncReport) -> list[str]:
    warnings = list(report.warnings)
    if not any(document_counts(report).values()):
        warnings.append("no documents were found.")
    if report.cut_tokens:
        cut, tokens = count(report.cut_passages, "passage"), count(report.cut_tokens, "token")
        warnings.append(f"{cut} exceeded the encoder's maximum length: {tokens} are not part of the vectors.")
    return warnings


def document_counts(report: SyncReport) -> dict[str, int]:
    """The number of documents that a run added, changed, skipped, …"""
    kinds = ("added", "changed", "unchanged", "moved", "deleted")
    return {kind: getattr(report, kind) for kind in kinds} | {"skipped": len(report.skipped)}
