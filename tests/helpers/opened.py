"""Short ways for tests to open a local store, and to look at what only it has: tables, caches, the vector searcher."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semsearch.stores.local import LocalReader, LocalWriter, open_reader, open_writer
from semsearch.stores.local.integrity.verify import verify as verify_tables
from semsearch.stores.local.space_vectors import SpaceVectors
from semsearch.stores.records import DocumentRow, Source, Space
from semsearch.types import Progress
from semsearch.vector_index.cache_files import CacheFile, OpenCache
from semsearch.vector_index.searcher import VectorSearcher

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

Store = LocalReader | LocalWriter


def opened(folder: Path, *, write: bool) -> Store:
    """The store in `folder`, for writing or for reading."""
    return open_writer(folder) if write else open_reader(folder)


def reader_of(store: Store) -> LocalReader:
    """What reads through the connection of `store`."""
    return store.reader if isinstance(store, LocalWriter) else store


def space_vectors(store: Store, space: Space | int) -> SpaceVectors:
    """The vectors of a space of `store`, and their caches."""
    return SpaceVectors(store.connection, space if isinstance(space, int) else space.id)


def last_run(store: Store) -> dict[str, Any] | None:
    """The report of the latest run."""
    return next(reader_of(store).runs(), None)


def all_stamps(store: Store) -> dict[str, DocumentRow]:
    """Every document without its text, by id."""
    return {row.uri: row for row in reader_of(store).document_rows()}


def sources_by_key(store: Store) -> dict[tuple[str, str], Source]:
    """Every file that was read, by its key."""
    return {source.key: source for source in reader_of(store).sources()}


def verify(store: Store, progress: Callable[[Progress], None] = lambda _: None) -> list[str]:
    """The problems of the tables of `store`."""
    return verify_tables(store.connection, progress)


def open_newest(store: Store, space: Space, *, parse: bool = True) -> OpenCache:
    """The newest cache of a space that is sound."""
    return space_vectors(store, space).open_cache(parse=parse)


def staleness(store: Store, space: Space, backend: str | None = None) -> str | None:
    """Why a new cache is due. backend: None for what the recipe says."""
    wanted = backend or str(reader_of(store).state().recipe.get("backend", "auto"))
    return space_vectors(store, space).staleness(wanted)


def rebuild(store: LocalWriter, space: Space, backend: str = "flat") -> CacheFile:
    """Build a cache of a space; its record."""
    store.update_vector_index(space.id, backend, when="always")
    return space_vectors(store, space).caches()[0]


def check(store: Store, space: Space) -> list[str]:
    """The differences between the caches of a space and the store."""
    return space_vectors(store, space).problems()


class DenseSearch:
    """A vector searcher over a store, asked inside a snapshot. `limits` are those of VectorSearcher."""

    def __init__(self, store: Store, space: Space, **limits: int) -> None:
        self._connection = store.connection
        self.searcher = VectorSearcher(space_vectors(store, space), **limits)

    def search(
        self, queries: Vectors, k: int, allowed: Ids | None = None, exact: bool = False
    ) -> tuple[Ids, Vectors, dict[str, Any]]:
        """ids (q, k), cosines (q, k) and the plan, with its warnings."""
        with self._connection.snapshot():
            ids, cosines, plan, warnings = self.searcher.search(queries, k, allowed, exact=exact)
        return ids, cosines, {**plan, "warnings": list(warnings)}
