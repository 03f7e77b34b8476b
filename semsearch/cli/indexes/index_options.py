"""The options of `index`, in the groups of its `--help`: files, records, passages, storage, the run itself, Ray."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from click import Choice

import semsearch
from semsearch import scale
from semsearch.cli.options import JsonFlag, YesFlag, flag, value
from semsearch.documents import vector_database_files
from semsearch.documents.parsing import ocr
from semsearch.errors import UsageError
from semsearch.types import JsonObject
from semsearch.utils import plugins

if TYPE_CHECKING:
    from semsearch import Fields, Rules
    from semsearch.scale.cluster import Engine

BACKENDS = Choice(["auto", *plugins.own_names("semsearch.vector_index.backends")])
LOADERS = plugins.own_names("semsearch.documents.loaders")
KINDS = Choice(["auto", "files", *LOADERS, *vector_database_files.KINDS])
HOW = (
    "How to read files: by suffix (auto), each as one text (files), or all by one loader, such as csv (docs/formats.md "
    f"lists them); or another store: {', '.join(vector_database_files.KINDS)}.  [default: auto]"
)
FILES, PASSAGES, RAY = "Files and records", "Passages, vectors and storage", "Embedding on a Ray cluster"  # headings
Chunk = Literal["sentences", "tokens", "markdown", "none"]


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Which files are read, and how."""

    include: Annotated[list[str] | None, value("G", "Index only files that match this glob; repeatable.")] = None
    exclude: Annotated[list[str] | None, value("G", "Leave out files that match this glob; repeatable.")] = None
    kind: Annotated[str | None, value("KIND", HOW, "--from", click_type=KINDS)] = None
    no_ignore: Annotated[
        bool, flag("--no-ignore", "Also read what .gitignore excludes, and node_modules and the like.", heading=FILES)
    ] = False
    max_file_size: Annotated[
        str | None, value("SIZE", "Skip larger files: 500k, 10M, 1G.  [default: 10M]", heading=FILES)
    ] = None

    def rules(self) -> Rules | None:
        """The rules that the options set; None without any. Raises UsageError."""
        size = _bytes(self.max_file_size) if self.max_file_size else None
        ignored = False if self.no_ignore else None
        chosen = chosen_of(include=self.include, exclude=self.exclude, use_ignore_files=ignored, max_bytes=size)
        return semsearch.Rules(**chosen) if chosen else None


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What of a file is text, id and metadata."""

    HEADING: ClassVar[str] = FILES
    text_field: Annotated[list[str] | None, value("F", "Field of the text; repeatable: joined.")] = None
    id_field: Annotated[str | None, value("F", "Field of the document's id.")] = None
    meta_field: Annotated[list[str] | None, value("F", "Field to store as metadata; repeatable.  [default: all]")] = (
        None
    )
    id_prefix: Annotated[str | None, value("P", "Begin the ids of the records with this.")] = None
    sql: Annotated[str | None, value("Q", "SQLite: index the rows of this query.")] = None
    ocr: Annotated[
        str | None, value("LANG", "PDF: recognise the text of scanned pages with tesseract: eng, or deu+eng.")
    ] = None

    def fields(self) -> Fields | None:
        """The fields that the options set; None without any. Raises UsageError, MissingExtra."""
        if self.ocr is not None:
            ocr.check(self.ocr)
        text = self.text_field[0] if self.text_field and len(self.text_field) == 1 else self.text_field
        chosen = chosen_of(
            text=text, id=self.id_field, meta=self.meta_field, sql=self.sql, ocr=self.ocr, id_prefix=self.id_prefix
        )
        return semsearch.Fields(**chosen) if chosen else None


@dataclass(frozen=True, slots=True)
class PassageOptions:
    """How documents are split."""

    HEADING: ClassVar[str] = PASSAGES
    chunk: Annotated[Chunk | None, value(None, "How to split documents into passages.")] = None
    chunk_size: Annotated[int | None, value("N", "Tokens per passage.", min=1)] = None
    overlap: Annotated[int | None, value("N", "Tokens shared by neighbouring passages.", min=0)] = None

    def chosen(self) -> JsonObject:
        """The fields of Splitter that the options set."""
        return chosen_of(kind=self.chunk, size=self.chunk_size, overlap=self.overlap)


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """Where vectors come from, and where a new index is stored."""

    HEADING: ClassVar[str] = PASSAGES
    from_vectors: Annotated[
        Path | None,
        value(
            "FILE",
            "Texts with vectors: .parquet, or a folder of them; or .npy, with the JSON lines of texts as PATH. "
            "-m: their encoder.",
        ),
    ] = None
    backend_type: Annotated[
        str | None, value(None, "Type of the vector index.  [default: auto]", click_type=BACKENDS)
    ] = None
    store: Annotated[
        str | None,
        value(
            "STORE",
            "Where a new index is stored, or is linked to: local, lance:FOLDER, lance:s3://BUCKET/PREFIX, "
            "postgres:postgresql://HOST/DATABASE.  [default: local]",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run does with the files, and what it prints."""

    watching: Annotated[bool, flag("--watch", "Keep running and follow every change.")] = False
    force: Annotated[bool, flag("--force", "Read and split every file again.")] = False
    checksums: Annotated[bool, flag("--checksums", "Compare files by content, not by size and time.")] = False
    prune: Annotated[bool, flag("--prune/--no-prune", "Remove the documents of deleted files, or keep them.")] = True
    dry_run: Annotated[bool, flag("--dry-run", "Report what would be done, and write nothing.")] = False
    strict: Annotated[bool, flag("--strict", "Exit 5 if anything was skipped.")] = False
    yes: YesFlag = False
    as_json: JsonFlag = False


@dataclass(frozen=True, slots=True)
class RayOptions:
    """Where the work is done, and by how many workers."""

    HEADING: ClassVar[str] = RAY
    engine: Annotated[
        Literal["local", "ray"],
        value("E", "Where texts are embedded: here (local), or by Ray."),
    ] = "local"
    ray_address: Annotated[str | None, value("A", "HOST:PORT; auto: of this machine.  [default: auto]")] = None
    workers: Annotated[int | None, value("N", "How many.  [default: all that fit]", min=1)] = None
    cpus_per_worker: Annotated[float | None, value("N", "Processors of a worker.  [default: 1]")] = None
    gpus_per_worker: Annotated[float | None, value("N", "GPUs of a worker.  [default: 0]")] = None

    def chosen(self) -> Engine | None:
        """The engine of the options; None for this process. Raises UsageError."""
        others = [one.name for one in fields(self) if one.name != "engine" and getattr(self, one.name) is not None]
        if self.engine == "local":
            if others:
                option = f"--{others[0].replace('_', '-')}"
                raise UsageError(f"{option} is for work on Ray.", "Add --engine ray, or leave it out.")
            return None
        cpus = 1.0 if self.cpus_per_worker is None else self.cpus_per_worker
        return scale.cluster.Engine(self.ray_address or "auto", self.workers, cpus, self.gpus_per_worker or 0.0)


def chosen_of(**options: object) -> JsonObject:
    """The options that have a value; lists as tuples.

    >>> chosen_of(kind=None, size=3, meta=["a", "b"], id="")
    {'size': 3, 'meta': ('a', 'b')}
    """
    return {
        name: tuple(setting) if isinstance(setting, list) else setting
        for name, setting in options.items()
        if setting not in (None, [], "")
    }


def _bytes(text: str) -> int:
    """
    >>> _bytes("500k"), _bytes("1.5M")
    (512000, 1572864)
    """
    size = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip(), re.IGNORECASE)
    if not size:
        raise UsageError(f"--max-file-size: {text!r} is not a size.", "Write 500k, 10M or 1G.")
    return int(float(size[1]) * 1024 ** " kmgt".index(size[2].lower() or " "))
