"""Checksums of rows, passages and vectors; the first two also as functions of SQL.

`crc` of a table in `COLUMNS` is that of the columns named there. The others are checked in other ways: the text of a
document, its title and metadata by SHA-256, its time and loader against its file, counters by counting.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Sequence

from semsearch.utils.late_numpy import np

NOTES = "bookmark of "  # and the id of a source: a key of the table `meta`, for `Source.notes`
COLUMNS = {
    "documents": "id, uri, source, sha256, meta_sha256, size, lines, marks",
    "sources": f"id, root, path, mtime_ns, size, sha256, loader, (SELECT value FROM meta WHERE key = '{NOTES}' || id)",
    "spaces": "id, fingerprint, name, dim, info, background, background_count",
    "caches": "id, space, file, bytes, sha256, highest_id, count, spec, faiss_version, why",
    "recipe": "key, value",
    "runs": "id, report",
}


def row_crc(*values: object) -> int:
    """CRC-32 of the values of a row, which are integers, texts, bytes or None."""
    return zlib.crc32(json.dumps(values, default=bytes.hex).encode())


def passage_crc(
    row_id: int, document: int, start: int, end: int, page: int | None, line: int | None, heading: str | None, text: str
) -> int:
    """CRC-32 of a passage's text and of its place, so that the right text in the wrong place fails too."""
    place = f"{row_id} {document} {start} {end} {page} {line} {heading is None} {heading}\0"
    return zlib.crc32(text.encode(), zlib.crc32(place.encode()))


def first_passage_crc(row_id: int, document: int, start: int, end: int, text: str) -> int:
    """`passage_crc` in a store of schema 1 or 2, which leaves out page, line and heading."""
    return zlib.crc32(text.encode(), zlib.crc32(f"{row_id} {document} {start} {end}".encode()))


def vector_crc(row_id: int, blob: bytes) -> int:
    """CRC-32 of a vector's bytes, seeded with its passage's id."""
    return zlib.crc32(blob, row_id & 0xFFFFFFFF)


def vector_crcs(row_ids: Sequence[int], blobs: Sequence[bytes]) -> list[int]:
    """`vector_crc` of every vector, without a call of Python for each. Raises TypeError where one is not bytes."""
    return list(map(zlib.crc32, blobs, (np.array(row_ids) & 0xFFFFFFFF).tolist()))


def add_functions(connection: sqlite3.Connection) -> None:
    """Let statements of this connection call the functions above by their names."""
    connection.create_function("row_crc", -1, row_crc, deterministic=True)
    connection.create_function("passage_crc", 8, passage_crc, deterministic=True)
    connection.create_function("first_passage_crc", 5, first_passage_crc, deterministic=True)


def renew(connection: sqlite3.Connection, table: str, where: str, parameters: tuple[object, ...] = ()) -> None:
    """Set the checksums of the rows that a condition selects: after every change of them, in the same transaction."""
    connection.execute(f"UPDATE {table} SET crc = row_crc({COLUMNS[table]}) WHERE {where}", parameters)
