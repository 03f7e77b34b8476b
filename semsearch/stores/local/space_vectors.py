"""Vectors of one space of a local store, and their caches: built from a snapshot, switched to by a commit, verified."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.errors import Corrupt, NotFound, SemsearchError
from semsearch.stores.local.database import sqlite
from semsearch.stores.local.database.checksums import vector_crcs
from semsearch.stores.local.database.schema import FLOAT16
from semsearch.stores.sql.database import pieces
from semsearch.utils import plugins
from semsearch.utils.late_numpy import np
from semsearch.utils.vectors import unit_rows
from semsearch.vector_index import backends, cache_files
from semsearch.vector_index.cache_files import CacheFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.local.database.connection import Connection
    from semsearch.stores.protocol import Rebuild
    from semsearch.stores.sql.database import Row
    from semsearch.types import Ids, JsonObject, VectorIndex, Vectors
    from semsearch.vector_index.cache_files import OpenCache

GROWTH: dict[Rebuild, float] = {"grown": cache_files.DELTA_SHARE, "doubled": 1.0}
CACHES = 2  # files: the newest, and one to fall back to
PROBES = 32  # stored vectors that `problems` searches for
SAME = 0.95  # score at which a stored vector has found itself or one with the same text
KEPT_BYTES = 1 << 22  # of unit rows: 2,730 of 384 numbers
_COLUMNS = "SELECT passage, crc, vector"
_IN_PLACE = f"""{_COLUMNS} FROM json_each(?2) wanted CROSS JOIN vectors ON vectors.rowid = wanted.value
                WHERE space = ?1 AND passage = wanted.value"""
_BY_INDEX = f"{_COLUMNS} FROM vectors WHERE space = ?1 AND passage IN (SELECT value FROM json_each(?2))"


def sweep(connection: Connection) -> None:
    """Remove the cache files of all spaces that no row names."""
    cache_files.sweep(connection.folder, {file for (file,) in connection.rows("SELECT file FROM caches")})


class VectorRows:
    """Reads the vectors of one space by id: checked, as unit rows, and each only once in a snapshot.

    A hybrid search compares what it found by vectors again, beside what it found by words. And in a store of one space
    a row mostly has the number of its passage, so that place is tried before the index is searched: half the time of a
    read.
    """

    def __init__(self) -> None:
        self._moment = 0
        self._kept: tuple[Ids, Vectors] | None = None  # ids ascending
        self._in_place = True  # whether most rows have the number of their passage

    def read(self, connection: Connection, space: int, ids: Sequence[int], dim: int) -> tuple[Ids, Vectors]:
        """The passages among `ids`, ascending, that have a vector: ids (m,) and vectors (m, dim). Raises Corrupt."""
        moment = connection.moment
        if moment is None:
            return self._from_store(connection, space, ids, dim)
        if moment != self._moment:
            self._moment, self._kept = moment, None
        recent = self._kept or decoded([], dim, connection.folder)
        numbers = np.array(ids, dtype=np.int64)
        rest = numbers[~np.isin(numbers, recent[0], assume_unique=True)].tolist()
        every = _merged(recent, self._from_store(connection, space, rest, dim))
        here = np.isin(every[0], numbers, assume_unique=True)
        chosen = every if here.all() else (every[0][here], every[1][here])
        self._kept = next((some for some in (every, chosen) if some[1].nbytes <= KEPT_BYTES), None)
        return chosen

    def _from_store(self, connection: Connection, space: int, ids: Sequence[int], dim: int) -> tuple[Ids, Vectors]:
        rows = self._rows(connection, space, ids) if ids else []
        return decoded(sorted(rows), dim, connection.folder)

    def _rows(self, connection: Connection, space: int, ids: Sequence[int]) -> list[Row]:
        rows = connection.rows(_IN_PLACE, (space, json.dumps(ids))) if self._in_place else []
        if len(rows) == len(ids):
            return rows
        self._in_place = 2 * len(rows) > len(ids)
        there = {row[0] for row in rows}
        rest = [one for one in ids if one not in there]
        return rows + connection.rows(_BY_INDEX, (space, json.dumps(rest)))


class SpaceVectors:
    """The vectors of one space, as `VectorSearcher` reads them. Raises NotFound for an unknown space.

    `read`: what other objects for the same space and connection share, so that one snapshot reads no vector twice.
    """

    def __init__(self, connection: Connection, space: int, read: VectorRows | None = None) -> None:
        self._db = connection
        self._read = VectorRows() if read is None else read
        self._folder = connection.folder
        self._space = space
        self.dim = self._recorded("dim")

    def version(self) -> int:
        """A counter that every commit raises."""
        return self._db.count("version")

    def count(self) -> int:
        """The number of vectors, from a counter."""
        return self._recorded("vectors")

    def count_after(self, passage: int) -> int:
        """How many of them belong to passages newer than `passage`."""
        sql = "SELECT count(*) FROM vectors WHERE space = ? AND passage > ?"
        return int(self._db.rows(sql, (self._space, passage))[0][0])

    def ids(self) -> Ids:
        """The passages with a vector, ascending."""
        return self._db.ids("vectors", "passage", f"space = {int(self._space)}")

    def highest_id(self) -> int:
        """The newest passage with a vector; 0 for none."""
        sql = "SELECT coalesce(max(passage), 0) FROM vectors WHERE space = ?"
        return int(self._db.rows(sql, (self._space,))[0][0])

    def vectors(self, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192) -> Iterator[tuple[Ids, Vectors]]:
        """(passage ids (m,) ascending, their vectors (m, dim)) in pieces of at most `chunk`. Raises Corrupt.

        Only passages with an id above `after`, and of `ids` unless None. One piece is in memory at a time. Outside a
        snapshot, what is committed meanwhile may or may not be included.
        """
        if ids is not None:
            newer = sorted({i for i in np.asarray(ids, dtype=np.int64).tolist() if i > after})
            for piece in pieces(newer, chunk):  # np.unique would import numpy.ma, a cold query's 25 ms
                rows = self._read.read(self._db, self._space, piece, self.dim)
                if len(rows[0]):
                    yield rows
            return
        while newest := self._rows("passage > ? ORDER BY passage LIMIT ?", after, chunk):
            yield decoded(newest, self.dim, self._folder)
            after = newest[-1][0]

    def existing(self, ids: Ids | Sequence[int]) -> NDArray[np.bool_]:
        """(n,) ids -> (n,) whether each passage is still there."""
        numbers = np.asarray(ids, dtype=np.int64)
        counts = self._db.rows_of("SELECT count(*) FROM passages WHERE id", numbers.tolist())
        if sum(count for (count,) in counts) == len(numbers):  # as nearly always: one row is read, not one for each
            return np.ones(len(numbers), dtype=np.bool_)
        there = [row[0] for row in self._db.rows_of("SELECT id FROM passages WHERE id", numbers.tolist())]
        return np.isin(numbers, there)

    # ---- caches

    def caches(self) -> list[CacheFile]:
        """The caches, newest first."""
        sql = """SELECT id, space, file, bytes, sha256, highest_id, count, spec, faiss_version, why
                 FROM caches WHERE space = ? ORDER BY id DESC"""
        return [CacheFile(*row) for row in self._db.rows(sql, (self._space,))]

    def newest_cache(self) -> int | None:
        """A number for the newest cache, None for none: it changes when a cache is built."""
        return next((record.id for record in self.caches()), None)

    def open_cache(self, *, parse: bool) -> OpenCache:
        """The newest cache that is sound. parse: False compares its bytes and opens nothing."""
        return cache_files.open_newest(self._folder, self.caches(), self.dim, parse=parse)

    def staleness(self, backend: str) -> str | None:
        """Why a new cache is due, in words; None while the present one will do."""
        newest, count = next(iter(self.caches()), None), self.count()
        newer = self.count_after(newest.highest_id) if newest else count
        return cache_files.staleness(self._folder, newest, count, newer, self.dim, backend)

    def is_due(self, backend: str, when: Rebuild) -> bool:
        """Whether a new cache is to be built: see `StoreWriter.update_vector_index`."""
        newest = next(iter(self.caches()), None)
        if when in GROWTH:
            return cache_files.has_grown(newest, self.highest_id(), GROWTH[when])
        if when == "always":
            return cache_files.is_useful(newest, self.count(), backend)
        return self.staleness(backend) is not None

    def build_cache(self, backend: str) -> CacheFile:
        """Build a cache of every vector, of one moment; the record of its file, which no row names yet.

        Raises UnknownName for a backend that does not exist, SemsearchError where the file cannot be written.
        """
        with self._db.snapshot():
            count = self.count()
            choice = cache_files.choose(backend, count, self.dim)
            chosen = plugins.load(backends, choice.backend).Backend
            built: VectorIndex = chosen.build(self.dim, self.vectors, count=count)
        return cache_files.write(self._folder, self._space, built, choice.why)

    def outdated_caches(self) -> list[CacheFile]:
        """The caches to drop when a new one is switched to: all but the newest that is complete."""
        records = self.caches()
        complete = [record for record in records if cache_files.is_complete(self._folder, record)]
        return [record for record in records if record not in complete[: CACHES - 1]]

    def problems(self) -> list[str]:
        """Every difference between the caches and the store; empty is good."""
        problems: list[str] = []
        for record in self.caches():
            try:
                index = cache_files.read(self._folder, record, self.dim)
                problems += [f"cache {record.file}: {problem}" for problem in self._differences(record, index)]
            except FileNotFoundError:
                problems.append(f"cache {record.file}: the file is missing.")
            except (SemsearchError, OSError) as error:
                problems.append(f"cache {record.file}: {getattr(error, 'message', error)}")
        return problems

    def backend(self) -> JsonObject:
        """What searches the space, for `Index.info`: the backend and the reason for it, and its cache file."""
        newest = next(iter(self.caches()), None)
        return {
            "backend": newest.spec if newest else "exact",
            "why": cache_files.reason(newest, self.count(), self.dim),
            "cache": {"file": newest.file, "bytes": newest.bytes, "vectors": newest.count} if newest else None,
            "newer_than_cache": self.count_after(newest.highest_id if newest else 0),
        }

    def _differences(self, record: CacheFile, index: VectorIndex) -> Iterator[str]:
        """The store's vectors up to the highest id of a cache that it lacks, and whether it finds some of them."""
        missing, blind, probed = 0, 0, 0
        for ids, vectors in self.vectors():
            old = ids <= record.highest_id
            missing += int((~np.isin(ids[old], index.ids, assume_unique=True)).sum())
            step = max(1, record.count // PROBES)
            probes = vectors[old][:: min(step, len(vectors))]
            if probed < 2 * PROBES and len(probes):
                probed += len(probes)
                near, scores = index.search(probes, index.candidates(1))
                itself = (near == ids[old][:: min(step, len(vectors)), None]).any(axis=1)
                blind += int((~itself & (scores[:, 0] < SAME)).sum())
        if missing:
            yield f"{missing:,} stored vectors are not in it."
        if blind > probed * 0.1:
            yield f"{blind} of {probed} stored vectors do not find themselves."

    def _recorded(self, column: str) -> int:
        """A number of the space's record. Raises NotFound where there is no such space any more."""
        for (value,) in self._db.rows(f"SELECT {column} FROM spaces WHERE id = ?", (self._space,)):
            return int(value)
        raise NotFound(f"{self._folder} has no space {self._space}.")

    def _rows(self, condition: str, *parameters: object) -> list[Row]:
        sql = f"SELECT passage, crc, vector FROM vectors WHERE space = ? AND {condition}"
        return self._db.rows(sql, (self._space, *parameters))


def decoded(rows: Sequence[Row], dim: int, folder: Path) -> tuple[Ids, Vectors]:
    """Rows (passage, crc, vector) as ids (m,) and unit vectors (m, dim). Raises Corrupt, naming `folder`."""
    if not rows:
        return np.zeros(0, dtype=np.int64), np.zeros((0, dim), dtype=np.float32)
    ids, sums, blobs = zip(*rows, strict=True)
    if not _are_sound(ids, sums, blobs, dim):
        damaged = next(one for one, crc, blob in rows if not _are_sound([one], [crc], [blob], dim))
        raise Corrupt(f"{folder}: the vector of passage {damaged} is damaged.", sqlite.REPAIR)
    halves = np.frombuffer(b"".join(blobs), FLOAT16).reshape(len(ids), dim)
    return np.array(ids, dtype=np.int64), unit_rows(halves)


def _are_sound(passages: Sequence[int], sums: Sequence[int], blobs: Sequence[bytes], dim: int) -> bool:
    try:
        return set(map(len, blobs)) == {2 * dim} and vector_crcs(passages, blobs) == list(sums)
    except TypeError:  # damage has any type
        return False


def _merged(first: tuple[Ids, Vectors], second: tuple[Ids, Vectors]) -> tuple[Ids, Vectors]:
    """Two pairs of ids (n,), ascending, and vectors (n, d) as one."""
    if not len(second[0]):
        return first
    ids = np.concatenate([first[0], second[0]])
    order = np.argsort(ids)
    return ids[order], np.concatenate([first[1], second[1]])[order]
