"""Cache of vectors by text and fingerprint, across indexes and processes: every text is embedded once, ever.

One SQLite file of fp16 vectors with checksums. Its loss costs only time, so it never raises: a damaged row counts as
absent, a broken file is set aside as .corrupt-<time>, a busy one is not used.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np

from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from semsearch.types import Vectors

MOST_BYTES = 1 << 30  # about 1.2 million vectors of width 384; the oldest are deleted first
ROW_OVERHEAD = 64  # bytes of key, checksum, index entry and page slack, beside the vector
PARAMETERS = 500  # SQLite takes at least 999 in one statement
BUSY_S = 2.0
SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key BLOB NOT NULL UNIQUE,
    vector BLOB NOT NULL,
    crc INTEGER NOT NULL
)
"""


class VectorCache:
    """Vectors of one space (`identity`: fingerprint and prompt) and width `dim`, in the file `path`.

    fp16 changes a component by about 0.0002, so all vectors are rounded alike, cached or not: see `rounded`.
    """

    def __init__(self, path: Path, dim: int, most_bytes: int = MOST_BYTES) -> None:
        self.path, self.dim = path, dim
        self._most_rows = max(1, most_bytes // (2 * dim + ROW_OVERHEAD))
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = None
        self._lost = False

    def get(self, identity: str, texts: Sequence[str]) -> dict[int, Vectors]:
        """Position in `texts` -> its vector (dim,), for the texts in the cache."""
        keys = _keys(identity, texts)
        blobs: dict[bytes, bytes] = {}

        def look_up(connection: sqlite3.Connection) -> None:
            for at in range(0, len(keys), PARAMETERS):
                some = keys[at : at + PARAMETERS]
                marks = ",".join("?" * len(some))
                rows = connection.execute(f"SELECT key, vector, crc FROM vectors WHERE key IN ({marks})", some)
                blobs.update({key: row for key, row, crc in rows if (len(row), zlib.crc32(row)) == (2 * self.dim, crc)})

        self._try(look_up)
        return {at: np.frombuffer(blobs[key], "<f2").astype(np.float32) for at, key in enumerate(keys) if key in blobs}

    def put(self, identity: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Store the vectors (n, dim) of n texts; the oldest are deleted if the file grows too large."""
        blobs = [row.tobytes() for row in vectors.astype("<f2")]
        rows = [(key, blob, zlib.crc32(blob)) for key, blob in zip(_keys(identity, texts), blobs, strict=True)]

        def store(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT OR REPLACE INTO vectors (key, vector, crc) VALUES (?, ?, ?)", rows)
                newest = "(SELECT max(id) FROM vectors)"
                connection.execute(f"DELETE FROM vectors WHERE id <= {newest} - ?", (self._most_rows,))

        self._try(store)

    @staticmethod
    def rounded(vectors: Vectors) -> Vectors:
        """Unit rows rounded to fp16, as a cache returns them: a text has one vector, cached or not."""
        return unit_rows(vectors.astype(np.float16))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection:
                self._connection.close()
            self._connection = None

    def _try(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Do `work` on the open file; errors of the file end here."""
        with self._lock:
            if self._lost:
                return
            try:
                self._connection = self._connection or _connect(self.path)
                work(self._connection)
            except sqlite3.OperationalError:  # busy, full, or not writable: go on without
                return
            except sqlite3.DatabaseError:
                self._set_aside()
            except OSError:
                self._lost = True

    def _set_aside(self) -> None:
        self.close()
        try:
            self.path.rename(f"{self.path}.corrupt-{int(time.time())}")
            for suffix in ("-wal", "-shm"):
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        except OSError:
            self._lost = True


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")  # a lost row is embedded again, a torn one fails its crc
        connection.execute(SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _keys(identity: str, texts: Sequence[str]) -> list[bytes]:
    """A 16 byte hash of each text in its space; two texts in 10^15 share one with a chance under 10^-8."""
    space = hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=32).digest()
    return [
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=space).digest() for text in texts
    ]
