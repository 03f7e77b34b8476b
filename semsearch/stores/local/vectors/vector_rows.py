"""Stored vectors of some passages: read by id, checked, as unit rows, and each only once in a snapshot.

A hybrid search compares what it found by vectors again, beside what it found by words. And in a store of one space a
row mostly has the number of its passage, so that place is tried before the index is searched: half the time of a read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.errors import Corrupt
from semsearch.stores.local.database import sqlite
from semsearch.stores.local.database.schema import FLOAT16, vector_crcs
from semsearch.utils.late_numpy import np
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from semsearch.stores.local.database.connection import Connection
    from semsearch.stores.sql.database import Row
    from semsearch.types import Ids, Vectors

KEPT_BYTES = 1 << 22  # of unit rows: 2,730 of 384 numbers
_COLUMNS = "SELECT passage, crc, vector"
_IN_PLACE = f"""{_COLUMNS} FROM json_each(?2) wanted CROSS JOIN vectors ON vectors.rowid = wanted.value
                WHERE space = ?1 AND passage = wanted.value"""
_BY_INDEX = f"{_COLUMNS} FROM vectors WHERE space = ?1 AND passage IN (SELECT value FROM json_each(?2))"


class VectorRows:
    """Reads the vectors of one space. Keeps what it read last, until the snapshot ends."""

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
