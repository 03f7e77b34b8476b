"""Follow-up of `train`: an export of the trained encoder, and an index built with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import semsearch
from semsearch import export as exporting
from semsearch import settings
from semsearch.cli.encoders.export_command import sts_folder
from semsearch.cli.indexes.naming import index_name
from semsearch.cli.lookup import encoder_of, existing_paths
from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.cli.output.progress import sync_progress
from semsearch.errors import UsageError
from semsearch.export import require_packages
from semsearch.models import bundle as bundles
from semsearch.models.model_ref import Reference

if TYPE_CHECKING:
    from semsearch.types import SyncReport

FOLDER = "onnx"
DTYPES = {"onnx": "fp32", "onnx-int8": "int8"}


@dataclass(slots=True)
class Goal:
    """`out` is the folder of the run, `name` that of the index."""

    options: Options
    out: Path
    export: str | None
    index: Path | None
    name: str | None
    data: Path | None

    def check(self, *, force: bool) -> None:
        """Raises, before anything is trained, for what could not be done afterwards."""
        if self.export is not None:
            require_packages("--export")
        if self.index is None:
            if self.name is not None:
                raise UsageError(f"-n {self.name} names an index, but there is nothing to index.", "Pass --index PATH.")
            return
        existing_paths([str(self.index)])
        if self.name is None:
            self.name = index_name(self.options, [self.index], from_stdin=False)
        folder = settings.index_folder(self.name, self.options.folder())
        if settings.is_index(folder) and (force or not self._is_ours(encoder_of(folder))):
            other = "the encoder that --force replaces" if force else "another encoder"
            raise UsageError(
                f"an index called {self.name} exists, but was built with {other}.",
                f"Pass -n with another name, or remove it first: semsearch rm {self.name}",
            )

    def reach(self, encoder: Path, *, trust: bool) -> dict[str, Any]:
        """Export and index the encoder as asked; what came of both, None where nothing was asked."""
        exported = None if self.export is None else self._exported(encoder, trust=trust)
        used = Path(exported["folder"]) if exported else encoder
        return {"export": exported, "index": None if self.index is None else self._indexed(used, self.index)}

    def _exported(self, encoder: Path, *, trust: bool) -> dict[str, Any]:

        out, dtype = self.out.expanduser() / FOLDER, DTYPES[str(self.export)]
        source = bundles.read(encoder)
        if (out / bundles.MANIFEST).is_file():
            there = bundles.read(out)
            same = there.origin.get("weights_sha256") == source.weights_sha256
            if same and there.precision == dtype:
                return {"folder": str(out), "fingerprint": there.fingerprint, "dtype": dtype}
        found = exporting.export(
            str(encoder),
            out,
            dtype,
            data=sts_folder(self.data, dtype),
            force=True,
            trust_remote_code=trust,
            report=(lambda step: None) if self.options.quiet else console.note,
        )
        return {"folder": str(out), "fingerprint": found.fingerprint, "dtype": dtype}

    def _indexed(self, encoder: Path, path: Path) -> dict[str, Any]:
        assert self.name is not None
        folder = settings.index_folder(self.name, self.options.folder())
        opened = (
            semsearch.Index.open(folder)
            if settings.is_index(folder)
            else semsearch.Index.create(folder, encoder=str(encoder))
        )
        with opened as index, sync_progress(self.options, self.name) as report:
            done: SyncReport = index.sync([path], None, report)
        if done.skipped and not self.options.quiet:
            console.note(f"skipped {console.count(len(done.skipped), 'item')}, see `semsearch info {self.name}`")
        counted = ("added", "changed", "unchanged", "moved", "deleted")
        documents = {key: getattr(done, key) for key in counted} | {"skipped": len(done.skipped)}
        return {"name": self.name, "documents": documents, "passages": done.passages, "vectors": done.vectors}

    def _is_ours(self, encoder: str) -> bool:
        """Whether an index was built with what an earlier run of this command left."""
        return Path(Reference.parse(encoder).model).is_relative_to(self.out.expanduser().resolve())
