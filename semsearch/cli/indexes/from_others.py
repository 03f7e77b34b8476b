"""What `index` reads besides files: vectors with their texts, and the stores of other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import semsearch
from semsearch.cli.lookup import existing_paths
from semsearch.documents import vector_database_files
from semsearch.errors import UsageError

if TYPE_CHECKING:
    from semsearch import Fields, Index
    from semsearch.types import Progress, SyncReport

    Read: TypeAlias = Callable[[Index, Callable[[Progress], None]], SyncReport]


@dataclass(frozen=True, slots=True)
class Origin:
    """The paths that an index is named after, how they are read, and for vectors without an encoder their width."""

    paths: Sequence[Path]
    kind: str | None
    fields: Fields | None
    read: Read | None = None  # in place of a synchronisation with files
    dimensions: int | None = None


def origin(
    paths: Sequence[Path], kind: str | None, fields: Fields | None, from_vectors: Path | None, *, encoder: bool
) -> Origin:
    """Where the documents come from. `encoder`: whether one is named. Raises UsageError, NotFound."""
    if from_vectors is not None:
        return _vectors(from_vectors, paths, kind, fields, encoder=encoder)
    if kind not in vector_database_files.KINDS:
        return Origin(paths, kind, fields)
    if len(paths) != 1:
        raise UsageError(f"--from {kind} takes one PATH, not {len(paths)}.", "Index each store by itself.")
    fields = fields or semsearch.Fields()
    if fields.sql:
        raise UsageError(f"--sql is for databases of your own, not for --from {kind}.", "Leave out one of them.")
    if vector_database_files.is_followed(kind, paths[0]):
        return Origin([vector_database_files.database(kind, paths[0])], "sqlite", replace(fields, sql=kind))
    return Origin(paths, kind, fields, lambda index, tell: index.add_from(kind, paths[0], fields=fields, progress=tell))


def _vectors(file: Path, paths: Sequence[Path], kind: str | None, fields: Fields | None, *, encoder: bool) -> Origin:
    if kind is not None or len(paths) > 1:
        raise UsageError("--from-vectors takes no --from, and one PATH at most: the texts.", "Leave out the others.")
    existing_paths([str(file)])
    texts = paths[0] if paths else None
    width = semsearch.admin.vector_width(file, texts)
    return Origin(
        [file],
        None,
        fields,
        lambda index, tell: index.add_vectors(file, texts, fields=fields, progress=tell),
        None if encoder else width,
    )
