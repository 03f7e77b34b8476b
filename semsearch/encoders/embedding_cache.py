"""The same text under the same fingerprint is embedded once, ever: vectors by text, across indexes and processes.

One SQLite file of fp16 vectors with checksums. Losing it loses nothing but time, so it never raises: a row that is
off counts as absent, a broken file is set aside as .corrupt-<time>, a busy one is passed by.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from semsearch.types import Vectors

MOST_BYTES = 1 << 30  # about 1.2 million vectors of width 384; the oldest go first
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
    """Vectors of one space (`identity`: fingerprint and prompt), width `dim`, kept in the file `path`.

    fp16 costs about 0.0002 of a component, so that vectors are rounded alike whether they were cached or not: see
    `rounded`.
    """

    def __init__(self, path: Path, dim: int, most_bytes: int = MOST_BYTES) -> None:
        self.path, self.dim = path, dim
        self._most_rows = max(1, most_bytes // (2 * dim + ROW_OVERHEAD))
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._lost = False

    def get(self, identity: str, texts: Sequence[str]) -> dict[int, Vectors]:
        """Position in `texts` -> its vector (dim,), for those that are known."""
        keys = _keys(identity, texts)
        found: dict[bytes, tuple[bytes, int]] = {}

        def look_up(connection: sqlite3.Connection) -> None:
            for at in range(0, len(keys), PARAMETERS):
                some = keys[at : at + PARAMETERS]
                marks = ",".join("?" * len(some))
                rows = connection.execute(f"SELECT key, vector, crc FROM vectors WHERE key IN ({marks})", some)
                found.update({key: (vector, crc) for key, vector, crc in rows})

        self._try(look_up)
        return {at: row for at, key in enumerate(keys) if (row := self._row(found.get(key))) is not None}

    def put(self, identity: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Remember the vectors (n, dim) of n texts; the oldest are forgotten where the file grows too large."""
        blobs = [row.tobytes() for row in vectors.astype("<f2")]
        rows = [(key, blob, zlib.crc32(blob)) for key, blob in zip(_keys(identity, texts), blobs, strict=True)]

        def remember(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT OR REPLACE INTO vectors (key, vector, crc) VALUES (?, ?, ?)", rows)
                newest = "(SELECT max(id) FROM vectors)"
                connection.execute(f"DELETE FROM vectors WHERE id <= {newest} - ?", (self._most_rows,))

        self._try(remember)

    @staticmethod
    def rounded(vectors: Vectors) -> Vectors:
        """Unit rows through fp16, as they come out of a cache: a text has one vector, cached or not."""
        return unit_rows(vectors.astype(np.float16))

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._connection:
                self._connection.close()
            self._connection = None

    def _row(self, found: tuple[bytes, int] | None) -> Vectors | None:
        if found is None or len(found[0]) != 2 * self.dim or zlib.crc32(found[0]) != found[1]:
            return None
        return np.frombuffer(found[0], dtype="<f2").astype(np.float32)

    def _try(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Do `work` on the open file; what goes wrong with it ends here."""
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
        if self._connection:
            self._connection.close()
        self._connection = None
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
