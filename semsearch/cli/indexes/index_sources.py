"""What `index` reads: files, standard input, texts with vectors, the stores of other programs; embedded here or on Ray.

Each is checked against the other options before anything is read, and is read into an index that is open.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import semsearch
from semsearch import scale
from semsearch.cli.indexes.index_options import RayOptions, RecordOptions, RunOptions
from semsearch.cli.lookup import existing_paths
from semsearch.cli.options import EncoderOptions, Options
from semsearch.cli.output import console
from semsearch.cli.output.progress import sync_progress
from semsearch.documents import vector_database_files
from semsearch.errors import UsageError

if TYPE_CHECKING:
    from semsearch import Fields, Index, SyncOptions
    from semsearch.scale.cluster import Engine
    from semsearch.scale.precomputed_encoder import PrecomputedEncoder
    from semsearch.types import EncoderLike, Progress, SyncReport


@dataclass(slots=True)
class Files:
    """Files that the index follows, `kind` and `fields` saying how they are read; without any, those of its recipe.

    Of every source, a new index is named after `paths`. `width`: of the vectors of a new index without an encoder.
    """

    paths: Sequence[Path] = ()
    kind: str | None = None
    fields: Fields | None = None
    width: int | None = None
    followed: ClassVar[bool] = True
    loads_encoder: ClassVar[bool] = False  # also that of an index that exists

    @property
    def named(self) -> bool:
        """Whether the command names what to read, so that a new index can be made of it."""
        return bool(self.paths)

    @property
    def samples(self) -> bool:
        """Whether some of it can be read beforehand."""
        return self.followed and self.named and self.width is None

    def check(self, run: RunOptions, encoder: EncoderOptions, ray: RayOptions) -> None:
        """Raises UsageError for options that fit neither this source nor each other."""
        if run.watching and run.dry_run:
            raise UsageError("--watch and --dry-run exclude each other.", "Choose one.")
        engine = ray.chosen()
        if engine and (encoder.trust or not self.followed):
            raise UsageError("--engine ray is for files and folders that are followed.", "Leave out the other options.")
        if engine and encoder.device:
            raise UsageError("--device is of this process, and workers embed.", "Their GPUs: --gpus-per-worker N.")

    def encoder(self, name: str) -> str | EncoderLike:
        """The encoder called `name` in the form that this source needs."""
        return name

    def run(self, index: Index, how: SyncOptions, options: Options) -> SyncReport:
        """Read it into the index, with progress on stderr."""
        with sync_progress(options, index.name) as tell:
            return index.sync(self.paths, how, tell)

    def is_waiting(self, index: Index) -> bool:
        """Whether something is done that waits for the index, for the next run to take it from there."""
        return False


@dataclass(slots=True)
class Stdin(Files):
    """Standard input."""

    followed: ClassVar[bool] = False

    @property
    def named(self) -> bool:
        return True

    def check(self, run: RunOptions, encoder: EncoderOptions, ray: RayOptions) -> None:
        if run.watching:
            raise UsageError("- (standard input) allows no --watch.", "Leave it out.")
        Files.check(self, run, encoder, ray)

    def run(self, index: Index, how: SyncOptions, options: Options) -> SyncReport:
        return index.add_files(sys.stdin.buffer, options=how)


@dataclass(slots=True)
class OtherStore(Files):
    """The texts of another program's store, which is read once."""

    followed: ClassVar[bool] = False

    def check(self, run: RunOptions, encoder: EncoderOptions, ray: RayOptions) -> None:
        if run.dry_run or run.watching:
            raise UsageError("--dry-run and --watch are for files that are followed.", "Leave them out.")
        Files.check(self, run, encoder, ray)

    def run(self, index: Index, how: SyncOptions, options: Options) -> SyncReport:
        with sync_progress(options, index.name) as tell:
            return self.read(index, tell)

    def read(self, index: Index, tell: Callable[[Progress], None]) -> SyncReport:
        """Read it into the index."""
        return index.add_from(self.kind or "", self.paths[0], fields=self.fields, progress=tell)


@dataclass(slots=True)
class Vectors(OtherStore):
    """Texts with their vectors: the file of both, or of the vectors, the texts being in another."""

    texts: Path | None = None

    def read(self, index: Index, tell: Callable[[Progress], None]) -> SyncReport:
        return index.add_vectors(self.paths[0], self.texts, fields=self.fields, progress=tell)


@dataclass(slots=True)
class FilesOnRay(Files):
    """Files whose passages a Ray cluster embeds."""

    loads_encoder: ClassVar[bool] = True
    engine: Engine = field(kw_only=True)
    vectors: PrecomputedEncoder = field(init=False)

    def encoder(self, name: str) -> PrecomputedEncoder:
        """In place of the model, what gives an index the vectors that the cluster has embedded."""
        self.vectors = scale.precomputed_encoder.PrecomputedEncoder(semsearch.Encoder.load(name))
        return self.vectors

    def run(self, index: Index, how: SyncOptions, options: Options) -> SyncReport:
        with (
            sync_progress(options, index.name) as tell,
            scale.embedding_job.embedded_ahead(
                index.path, self.vectors, self.paths, how, self.engine, tell=tell
            ) as report,
        ):
            if not options.quiet:
                console.note(report.summary())
            return index.sync(self.paths, how, tell)

    def is_waiting(self, index: Index) -> bool:
        return scale.embedding_job.is_waiting(index.path)


def source_of(
    paths: Sequence[str], kind: str | None, records: RecordOptions, vectors: Path | None, *, model: str | None
) -> Files:
    """What the command line names. Raises UsageError, NotFound."""
    fields = records.fields()
    if "-" in paths:
        if len(paths) > 1 or vectors:
            raise UsageError("- (standard input) allows no other paths.", "Index other paths separately.")
        return Stdin((), kind, fields)
    files = existing_paths(paths)
    if vectors is not None:
        return _vectors(vectors, files, kind, fields, model=model)
    if kind in vector_database_files.KINDS:
        return _other_store(kind, files, fields or semsearch.Fields())
    return Files(files, "sqlite" if records.sql and not kind else kind, fields)


def on_ray(source: Files, ray: RayOptions) -> Files:
    """`source`, which a cluster embeds where the options say so."""
    engine = ray.chosen()
    if engine is None:
        return source
    return FilesOnRay(source.paths, source.kind, source.fields, engine=engine)


def _vectors(
    file: Path, paths: Sequence[Path], kind: str | None, fields: Fields | None, *, model: str | None
) -> Vectors:
    if kind is not None or len(paths) > 1:
        raise UsageError("--from-vectors takes no --from, and one PATH at most: the texts.", "Leave out the others.")
    existing_paths([str(file)])
    texts = paths[0] if paths else None
    width = semsearch.admin.vector_width(file, texts)
    return Vectors([file], None, fields, width if model is None else None, texts)


def _other_store(kind: str, paths: Sequence[Path], fields: Fields) -> Files:
    if len(paths) != 1:
        raise UsageError(f"--from {kind} takes one PATH, not {len(paths)}.", "Index each store by itself.")
    if fields.sql:
        raise UsageError(f"--sql is for databases of your own, not for --from {kind}.", "Leave out one of them.")
    if vector_database_files.is_followed(kind, paths[0]):
        return Files([vector_database_files.database(kind, paths[0])], "sqlite", replace(fields, sql=kind))
    return OtherStore(paths, kind, fields)
