"""`reembed`: encode an index again, in place, with another encoder."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

import typer

import semsearch
from semsearch.cli.lookup import existing_index, trusted_encoder, use_device, with_options
from semsearch.cli.options import EncoderOptions, JsonFlag, ModelOption, NameArgument, NameOption, flag
from semsearch.cli.output import console
from semsearch.cli.output.progress import sync_progress
from semsearch.types import ReembedReport
from semsearch.utils.quantities import count


def reembed(
    ctx: typer.Context,
    *,
    name: NameArgument = None,
    named: NameOption = None,
    model: ModelOption = None,
    keep_old: Annotated[
        bool, flag("--keep-old", "Keep the present vectors too, to compare: semsearch eval --spaces.")
    ] = False,
    options: EncoderOptions,
    as_json: JsonFlag = False,
) -> None:
    """Encode an index again, in place, with another encoder.

    Files are not read. Searches use the present vectors until all new ones are there, with their vector index. After
    Ctrl-C or a crash, the same command goes on; with another MODEL it begins anew.

    Without -m it goes on with the encoder of an unfinished run, else it takes that of a new index of such texts.
    """
    folder = existing_index(ctx.obj, name, named)
    use_device(options.device)
    with semsearch.Index.open(folder) as index:
        reference = _reference(index, model, options)
        encoder = trusted_encoder(reference) if options.trust else reference
        with sync_progress(ctx.obj, f"encoding {folder.name}") as progress:
            report = index.reembed(encoder, keep_old=keep_old, progress=progress)
        if unread := semsearch.admin.unread_warning(index, semsearch.admin.languages_of_index(index)):
            report = replace(report, warnings=(*report.warnings, unread))
    console.warn(report.warnings)
    if report.replaced:
        console.note(f"the unfinished vectors of {report.replaced} were removed")
    if report.cut_tokens:
        console.note(f"{count(report.cut_tokens, 'token')} were beyond what {report.encoder} reads of a passage")
    console.result(asdict(report), _in_words(report), as_json=as_json, quiet=ctx.obj.quiet)
    if report.removed or report.replaced:
        console.note(f"to free the disk space of the removed vectors: semsearch compact {folder.name}")


def _reference(index: semsearch.Index, model: str | None, options: EncoderOptions) -> str:
    """The encoder to change to, with its options. Raises UsageError."""
    begun = next((space["reference"] for space in index.info()["spaces"] if space["state"] == "unfinished"), "")
    usual, why = (
        ("", "") if model or begun else semsearch.admin.usual_encoder(semsearch.admin.languages_of_index(index))
    )
    if why:
        console.note(f"{why} (another: -m NAME)")
    return with_options(model or begun or usual, options)


def _in_words(report: ReembedReport) -> str:
    text = f"{report.index}: {count(report.passages, 'passage')} encoded with {report.encoder}"
    if report.present:
        text += f", {report.encoded:,} of them now" if report.encoded else ", all of them before"
    kept = f"; kept: {', '.join(report.kept)}" if report.kept else ""
    return f"{text}, in {report.took_s:.1f} s{kept}"
