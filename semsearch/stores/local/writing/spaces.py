"""Spaces of a local store, their vectors and the caches of these, written."""

from __future__ import annotations

import json
from dataclasses import astuple, replace
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import NotFound, UsageError
from semsearch.stores.local.database.schema import SPACES
from semsearch.stores.local.full_text import sealing
from semsearch.stores.local.reader import LocalReader
from semsearch.stores.local.vectors.space_vectors import SpaceVectors
from semsearch.stores.local.vectors.space_vectors import sweep as sweep_caches
from semsearch.stores.local.writing.rows import THESE, RowWriter
from semsearch.stores.records import Space, to_json
from semsearch.utils.vectors import check_storable
from semsearch.vector_index.cache_files import CacheFile

if TYPE_CHECKING:
    from semsearch.stores.protocol import Rebuild
    from semsearch.types import Ids, Vectors
    from semsearch.utils.strength import NullDistribution


class SpaceWriter(RowWriter):
    """The methods of a `LocalWriter` for spaces and vectors."""

    reader: LocalReader

    def put_space(self, space: Space, *, current: bool = False) -> Space:
        sql = "INSERT INTO spaces (fingerprint, name, dim, info) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        with self._db.transaction():
            if not space.id and self._db.execute(sql, (space.fingerprint, space.name, space.dim, to_json(space.info))):
                self._db.renew_checksum("spaces", "fingerprint = ?", space.fingerprint)
            stored = next((one for one in self.reader.spaces() if _is(one, space)), None)
            if stored is None:
                raise NotFound(f"{self._db.folder} has no space {space.id}.")
            if current:
                self._db.execute("INSERT OR REPLACE INTO meta VALUES ('space', ?)", (stored.id,))
            if space.null_distribution is not None:
                self._set_null_distribution(stored.id, space.null_distribution)
            return replace(stored, null_distribution=space.null_distribution or stored.null_distribution)

    def drop_space(self, space: int) -> None:
        with self._db.transaction():
            if self._known_spaces(space)[0] == space:
                raise UsageError(f"space {space} of {self._db.folder} is in use.", "Use another one first.")
            for table, key in (("vectors", "space"), ("caches", "space"), ("spaces", "id")):
                self._db.execute(f"DELETE FROM {table} WHERE {key} = ?", (space,))
        self.reader.close_cache(space)
        if not self._db.is_writing:  # else the cache files stay until the next writer is opened
            sweep_caches(self._db)

    def _known_spaces(self, space: int) -> list[int]:
        """The ids of all spaces, the current one first. Raises NotFound unless `space` is among them."""
        known = [each for (each,) in self._db.rows(f"SELECT id {SPACES}")]
        if space not in known:
            raise NotFound(f"{self._db.folder} has no space {space}.")
        return known

    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None:
        here = SpaceVectors(self._db, space)
        rows = check_storable(vectors, len(ids), here.dim, what="a passage")
        with self._db.transaction():
            there = here.existing(ids)
            passages = np.asarray(ids, dtype=np.int64)[there].tolist()
            before = f"DELETE FROM vectors WHERE space = ? AND passage {THESE}"
            replaced = self._db.execute(before, (space, json.dumps(passages)))
            self._insert_vectors(space, passages, rows[there])
            self._count_vectors(space, len(passages) - replaced)
            for record in here.caches():
                if record.highest_id >= min(passages, default=record.highest_id + 1):  # it would never find them
                    self.drop_cache(record.id)

    def _set_null_distribution(self, space: int, measured: NullDistribution) -> None:
        packed = np.asarray(measured.quantiles, dtype="<f8").tobytes()
        sql = "UPDATE spaces SET background = ?, background_count = ? WHERE id = ?"
        self._db.execute(sql, (packed, measured.passages, space))
        self._db.renew_checksum("spaces", "id = ?", space)

    def update_vector_index(self, space: int, backend: str, *, when: Rebuild = "due") -> None:
        """Raises UnknownName for a backend that does not exist.

        SemsearchError where the file cannot be written; the present cache is untouched then.
        """
        self._seal()
        vectors = SpaceVectors(self._db, space)
        if not vectors.is_due(backend, when):
            return
        self.reader.close_cache(space)  # beside the new one there would be two in memory
        with LocalReader.open(self._db.folder) as reader:  # threads that share this writer go on meanwhile
            built = SpaceVectors(reader.connection, space).build_cache(backend)
        with self._db.transaction():
            for record in vectors.outdated_caches():
                self.drop_cache(record.id)
            self.add_cache(built)
        sweep_caches(self._db)

    def _seal(self) -> None:
        """Bring the postings of frequent words up to date, a segment in each transaction."""
        while True:
            with self._db.snapshot():
                if not sealing.is_due(self._db.raw):
                    return
            with self._db.transaction():
                sealing.seal(self._db.raw)

    def add_cache(self, record: CacheFile) -> CacheFile:
        """Record a finished cache file; the commit switches to it. `record.id` is ignored."""
        sql = """INSERT INTO caches (space, file, bytes, sha256, highest_id, count, spec, faiss_version, why)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
        with self._db.transaction():
            self._db.execute(sql, astuple(record)[1:])
            added = replace(record, id=self._next_id("caches") - 1)
            self._db.renew_checksum("caches", "id = ?", added.id)
            return added

    def drop_cache(self, cache: int) -> None:
        """Remove the record of a cache; its file stays."""
        with self._db.transaction():
            self._db.execute("DELETE FROM caches WHERE id = ?", (cache,))


def _is(stored: Space, space: Space) -> bool:
    return stored.id == space.id if space.id else stored.fingerprint == space.fingerprint
