"""Follow-up of `train`: an export of the trained encoder, and an index built with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

import semsearch
from semsearch import export as exporting
from semsearch import settings
from semsearch.cli.encoders.export_command import sts_folder
from semsearch.cli.lookup import encoder_of, existing_paths, index_of_files
from semsearch.cli.options import Options, value
from semsearch.cli.output import console
from semsearch.cli.output.progress import sync_progress
from semsearch.errors import UsageError
from semsearch.models import bundle as bundles
from semsearch.models.model_ref import Reference
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

if TYPE_CHECKING:
    from semsearch.types import SyncReport

FOLDER = "onnx"
DTYPES = {"onnx": "fp32", "onnx-int8": "int8"}


@dataclass(slots=True)
class FollowUp:
    """The options that export the trained encoder, and index files with it."""

    HEADING: ClassVar[str] = "Use of the trained encoder"
    export: Annotated[
        Literal["onnx", "onnx-int8"] | None,
        typer.Option(help="Also export the encoder to DIR/onnx, which needs no PyTorch."),
    ] = None
    index: Annotated[Path | None, value("PATH", "Also index these files with the trained encoder.")] = None
    name: Annotated[str | None, value("NAME", "Name of that index.  [default: that of PATH]", "-n", "--name")] = None

    def check(self, options: Options, out: Path, *, force: bool) -> None:
        """Raises before training for errors that would occur after it. `out` is the folder of the run."""
        if self.export is not None:
            exporting.require_packages("--export")
        if self.index is None:
            if self.name is not None:
                raise UsageError(f"-n {self.name} names an index, but there is nothing to index.", "Pass --index PATH.")
            return
        existing_paths([str(self.index)])
        if self.name is None:
            self.name = index_of_files(options, [self.index])
        folder = settings.index_folder(self.name, options.folder())
        if not semsearch.admin.exists(folder):
            return
        encoder = Path(Reference.parse(encoder_of(folder)).model)
        if force or not encoder.is_relative_to(out.expanduser().resolve()):  # not of an earlier run of this command
            other = "the encoder that --force replaces" if force else "another encoder"
            raise UsageError(
                f"an index called {self.name} exists, but was built with {other}.",
                f"Pass -n with another name, or remove it first: semsearch rm {self.name}",
            )

    def run(self, options: Options, encoder: Path, out: Path, data: Path | None, *, trust: bool) -> JsonObject:
        """Export the encoder to `out` and build the index; the JSON objects of both, None where not requested.

        `data` is the folder of STS test sets, on which an int8 export is checked.
        """
        exported = indexed = None
        if self.export is not None:
            exported = _export(options, encoder, out, DTYPES[self.export], data, trust=trust)
        if self.index is not None:
            indexed = self._build(options, Path(exported["folder"]) if exported else encoder, self.index)
        return {"export": exported, "index": indexed}

    def _build(self, options: Options, encoder: Path, path: Path) -> JsonObject:
        assert self.name is not None
        folder = settings.index_folder(self.name, options.folder())
        opened = (
            semsearch.Index.open(folder)
            if semsearch.admin.exists(folder)
            else semsearch.Index.create(folder, encoder=str(encoder))
        )
        with opened as index, sync_progress(options, self.name) as report:
            done: SyncReport = index.sync([path], None, report)
        if done.skipped and not options.quiet:
            console.note(f"skipped {count(len(done.skipped), 'item')}, see `semsearch info {self.name}`")
        documents = done.document_counts()
        return {"name": self.name, "documents": documents, "passages": done.passages, "vectors": done.vectors}


def _export(options: Options, encoder: Path, folder: Path, dtype: str, data: Path | None, *, trust: bool) -> JsonObject:
    """Export the encoder, unless an earlier run of the command did."""
    out = folder.expanduser() / FOLDER
    bundle = bundles.read(out) if (out / bundles.MANIFEST).is_file() else None
    same = bundle and bundle.origin.get("weights_sha256") == bundles.read(encoder).weights_sha256
    if bundle is None or not same or bundle.precision != dtype:
        bundle = exporting.export(
            str(encoder),
            out,
            dtype,
            data=sts_folder(data, dtype),
            force=True,
            trust_remote_code=trust,
            report=(lambda step: None) if options.quiet else console.note,
        )
    return {"folder": str(out), "fingerprint": bundle.fingerprint, "dtype": dtype}
