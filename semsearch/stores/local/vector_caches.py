"""Vector caches of a local store: built from a snapshot of its vectors, switched to by a commit, checked against it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import SemsearchError
from semsearch.stores.local.tables import Tables
from semsearch.stores.records import Space
from semsearch.types import JsonObject
from semsearch.utils import plugins
from semsearch.vector_index import backends, cache_files
from semsearch.vector_index.cache_files import CacheFile, OpenCache

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids, VectorIndex, Vectors

KEPT = 2  # files: the newest, and one to fall back to
PROBES = 32  # stored vectors that `check` looks up
NEAR = 0.95  # cosine at which a stored vector has found itself; SQ8 is off by 0.01 at most


class SpaceVectors:
    """The vectors of one space, as `VectorSearcher` reads them."""

    def __init__(self, tables: Tables, space: int) -> None:
        self._tables = tables
        self._space = space
        self.dim = tables.dim(space)

    def version(self) -> int:
        """A counter that every commit raises."""
        return self._tables.version()

    def count(self) -> int:
        """How many vectors there are."""
        return self._tables.counts()["vectors"].get(self._space, 0)

    def count_after(self, passage: int) -> int:
        """How many of them belong to passages newer than `passage`."""
        return self._tables.count_after(self._space, passage)

    def vectors(self, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192) -> Iterator[tuple[Ids, Vectors]]:
        """(ids (m,) ascending, vectors (m, d)) in pieces of at most `chunk`."""
        return self._tables.vectors(self._space, after=after, ids=ids, chunk=chunk)

    def existing(self, ids: Ids) -> NDArray[np.bool_]:
        """(n,) ids -> (n,) whether each passage is still there."""
        return self._tables.existing(ids)

    def newest_cache(self) -> int | None:
        """A number for the newest cache, None for none: it changes when a cache is built."""
        records = self._tables.caches(self._space)
        return records[0].id if records else None

    def open_cache(self, *, parse: bool) -> OpenCache:
        """The newest cache that is sound. parse: False compares its bytes and opens nothing."""
        return cache_files.open_newest(self._tables.folder, self._tables.caches(self._space), self.dim, parse=parse)


def staleness(tables: Tables, space: int, backend: str) -> str | None:
    """Why a new cache of a space is due, in words; None while the present one will do."""
    records = tables.caches(space)
    newest = records[0] if records else None
    count = tables.counts()["vectors"].get(space, 0)
    newer = tables.count_after(space, newest.highest_id) if newest else count
    return cache_files.staleness(tables.folder, newest, count, newer, tables.dim(space), backend)


def build(tables: Tables, space: int, backend: str) -> CacheFile:
    """Build a cache of every vector of a space; the record of its file, which no row names yet.

    `tables` are read in one snapshot. Raises UnknownName for a backend that is not there, SemsearchError where the
    file cannot be written.
    """
    with tables.connection.snapshot():
        dim, count = tables.dim(space), tables.counts()["vectors"].get(space, 0)
        choice = cache_files.choose(backend, count, dim)
        built: VectorIndex = plugins.load(backends, choice.backend).Backend.build(
            dim, lambda: tables.vectors(space), count=count
        )
    return cache_files.write(tables.folder, space, built, choice.why)


def outdated(tables: Tables, space: int) -> list[CacheFile]:
    """The caches to drop when a new one is switched to: all but the newest that is complete."""
    records = tables.caches(space)
    complete = [record for record in records if cache_files.is_complete(tables.folder, record)]
    fallback = {record.id for record in complete[: KEPT - 1]}
    return [record for record in records if record.id not in fallback]


def check(tables: Tables, space: Space) -> list[str]:
    """Every problem between the caches of a space and the store; empty is good."""
    problems: list[str] = []
    for record in tables.caches(space.id):
        try:
            index = cache_files.read(tables.folder, record, space.dim)
            problems += [f"cache {record.file}: {problem}" for problem in _against_store(tables, record, index)]
        except FileNotFoundError:
            problems.append(f"cache {record.file}: the file is missing.")
        except (SemsearchError, OSError) as error:
            problems.append(f"cache {record.file}: {getattr(error, 'message', error)}")
    return problems


def info(tables: Tables, space: Space, vectors: int) -> JsonObject:
    """A space with what serves it and why, as `Index.info` gives it."""
    records = tables.caches(space.id)
    newest = records[0] if records else None
    encoder = {key: value for key, value in space.info.items() if key != "background"}
    return {
        "encoder": {**encoder, "name": space.name, "fingerprint": space.fingerprint},
        "dim": space.dim,
        "vectors": vectors,
        "backend": newest.spec if newest else "exact",
        "why": newest.why if newest else "there is nothing to cache yet",
        "cache": {"file": newest.file, "bytes": newest.bytes, "vectors": newest.count} if newest else None,
        "newer_than_cache": tables.count_after(space.id, newest.highest_id if newest else 0),
    }


def _against_store(tables: Tables, record: CacheFile, index: VectorIndex) -> Iterator[str]:
    """What a cache lacks of the store's vectors up to its highest id, and whether it finds some of them."""
    missing, blind, probed = 0, 0, 0
    for ids, vectors in tables.vectors(record.space):
        old = ids <= record.highest_id
        missing += int((~np.isin(ids[old], index.ids, assume_unique=True)).sum())
        step = max(1, record.count // PROBES)
        probes = vectors[old][:: min(step, len(vectors))]
        if probed < 2 * PROBES and len(probes):
            probed += len(probes)
            blind += int((index.search(probes, 1)[1][:, 0] < NEAR).sum())
    if missing:
        yield f"{missing:,} stored vectors are not in it."
    if blind > probed * 0.1:
        yield f"{blind} of {probed} stored vectors do not find themselves."
