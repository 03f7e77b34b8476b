"""Report of an `index` run, for a person and for a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.documents.parsing.records import NO_FIELD
from semsearch.documents.textless import NO_TEXT
from semsearch.errors import GateFailed, SemsearchError, UsageError
from semsearch.types import SyncReport
from semsearch.utils.quantities import count, letters_by_kind

LISTED = 10  # skipped files that are named on stderr; `info` names them all
MOST_KINDS = 8  # of what was left out, on stderr


def show(
    report: SyncReport,
    options: Options,
    *,
    strict: bool,
    as_json: bool,
    exists: bool,
    failed: SemsearchError | None,
    warned: Sequence[str] = (),
) -> None:
    """Print warnings and skipped files to stderr, counts to stdout.

    `exists`: the index was not removed for want of documents. With `strict`, exit 5 if anything was skipped; else the
    command ends with `failed`, if any. `warned`: warnings that were printed before the run.
    """
    counts, warnings = report.document_counts(), _warnings(report, exists or failed is not None)
    console.warn(warnings)
    skipped = count(len(report.skipped), "item")
    if report.skipped:
        console.note(f"skipped {skipped}:")
    for item in report.skipped[: LISTED if exists else None]:
        console.note(f"  {item.path}: {item.reason}")
    if exists and len(report.skipped) > LISTED:
        console.note(f"  and {len(report.skipped) - LISTED:,} more: see `semsearch info {report.index}`")
    if report.left_out:
        listed = "" if report.dry_run or not exists else f"; `semsearch info {report.index} --skipped` lists them"
        kinds = letters_by_kind(report.left_out, MOST_KINDS)
        console.note(f"left out: {kinds} in {count(report.left_out_files, 'file')}{listed}")
    summary = {"index": report.index, "documents": counts, "passages": report.passages, "vectors": report.vectors}
    summary |= {"skipped": [asdict(item) for item in report.skipped], "took_s": report.took_s}
    summary |= {"warnings": [*warned, *warnings]}
    summary |= {"left_out": dict(report.left_out), "left_out_files": report.left_out_files}
    summary |= {"dry_run": True} if report.dry_run else {}
    listed = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    would = " (dry run: nothing was written)" if report.dry_run else ""
    text = f"{report.index}: {listed}; {count(report.passages, 'passage')} in {report.took_s:.1f} s{would}"
    if report.skipped and strict:
        failed = GateFailed(f"{skipped} skipped.", "They are listed above.")
    console.result(summary, text, as_json=as_json, quiet=options.quiet, failed=failed)


def nothing_read(report: SyncReport, files: Sequence[Path]) -> SemsearchError | None:
    """The error of a run in which files named by themselves cannot be read, and no other gave a document.

    A UsageError for a missing text field; None for files without text, which are no error, as an empty folder is none.
    """
    first = next((each for each in report.skipped if not each.reason.startswith(NO_TEXT)), None)
    if first is None or not files or report.added + report.changed + report.unchanged + report.moved:
        return None
    message = f"nothing was indexed: {first.path}: {first.reason}."
    if first.reason.startswith(NO_FIELD):
        return UsageError(message, "Choose the field of the text: semsearch index PATH --text-field F")
    return SemsearchError(message)


def _warnings(report: SyncReport, exists: bool) -> list[str]:
    warnings = list(report.warnings)
    if not exists:
        warnings.append("no documents were found, so no index was created.")
    elif not any(report.document_counts().values()):
        warnings.append("no documents were found.")
    if report.cut_tokens:
        cut, tokens = count(report.cut_passages, "passage"), count(report.cut_tokens, "token")
        warnings.append(f"{cut} exceeded the encoder's maximum length: {tokens} are not part of the vectors.")
    return warnings
