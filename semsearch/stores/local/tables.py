"""Tables of a local store, read: documents, passages, vectors, sources, spaces, caches and runs.

Free of sqlite-utils, for a fast start.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import Corrupt, NotFound
from semsearch.stores.local import sqlite
from semsearch.stores.local.connection import Connection, Row, pieces
from semsearch.stores.local.row_codec import FLOAT16, decompress, passage_crc, vector_crc
from semsearch.stores.protocol import Counts
from semsearch.stores.records import (
    DocumentStamp,
    Origin,
    Source,
    Space,
    StoredPassage,
    meta_hash,
    text_hash,
)
from semsearch.types import Document, JsonObject, Mark
from semsearch.utils.globs import matches
from semsearch.utils.vectors import unit_rows
from semsearch.vector_index.cache_files import CacheFile

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from semsearch.types import Ids, Vectors

IDS_A_QUERY = 10_000

_LISTING = """
    SELECT d.id, d.uri, d.title, d.size, d.mtime, d.loader, d.metadata, s.root, s.path,
           (SELECT count(*) FROM passages p WHERE p.document = d.id)
    FROM documents d LEFT JOIN sources s ON s.id = d.source"""
_PASSAGE = """
    SELECT p.id, d.uri, p.start, p."end", p.text, p.page, p.line, p.heading, d.metadata, d.title, s.root, s.path,
           p.crc, p.document
    FROM json_each(?) wanted CROSS JOIN passages p ON p.id = wanted.value
    JOIN documents d ON d.id = p.document LEFT JOIN sources s ON s.id = d.source"""


class Tables:
    """The tables of one connection, for reading. What is read outside a snapshot is of the moment of each call."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.folder = connection.folder
        self._db = connection

    def version(self) -> int:
        """A counter that every commit which changed something has raised."""
        return int(self._db.meta("version"))

    def counts(self) -> Counts:
        """{"documents": n, "passages": n, "vectors": {space id: n}}, from counters: the same cost at any size."""
        with self._db.snapshot():
            vectors = dict(self._db.rows("SELECT id, vectors FROM spaces"))
            return {"documents": self._db.meta("documents"), "passages": self._db.meta("passages"), "vectors": vectors}

    def recipe(self) -> JsonObject:
        """How this index was made: what `set_recipe` was given last."""
        return {key: self._db.parsed(value) for key, value in self._db.rows("SELECT key, value FROM recipe")}

    def runs(self) -> Iterator[JsonObject]:
        """The reports of the runs that are remembered, newest first."""
        numbers = [number for (number,) in self._db.rows("SELECT id FROM runs ORDER BY id DESC")]
        for number in numbers:  # one at a time: each may name thousands of files
            yield from (
                self._db.parsed(report)
                for (report,) in self._db.rows("SELECT report FROM runs WHERE id = ?", (number,))
            )

    def spaces(self) -> list[Space]:
        """The encoders whose vectors are here, oldest first."""
        sql = "SELECT id, fingerprint, name, dim, info, background, background_count FROM spaces ORDER BY id"
        return [self._space(*row) for row in self._db.rows(sql)]

    def caches(self, space: int) -> list[CacheFile]:
        """The caches of a space, newest first."""
        sql = """SELECT id, space, file, bytes, sha256, highest_id, count, spec, faiss_version, why
                 FROM caches WHERE space = ? ORDER BY id DESC"""
        return [CacheFile(*row) for row in self._db.rows(sql, (space,))]

    # ---- documents

    def sources(self) -> dict[tuple[str, str], Source]:
        """Every file that was read, by (root, path)."""
        rows = self._db.rows("SELECT root, path, mtime_ns, size, sha256, loader, id FROM sources")
        return {(row[0], row[1]): Source(*row) for row in rows}

    def source_of(self, uri: str) -> Source | None:
        """The file that a document came from, None for a document without one. Raises NotFound."""
        sql = """SELECT s.root, s.path, s.mtime_ns, s.size, s.sha256, s.loader, s.id FROM documents d
                 LEFT JOIN sources s ON s.id = d.source WHERE d.uri = ?"""
        rows = self._db.rows(sql, (uri,))
        if not rows:
            raise NotFound(f"index {self.folder.name} has no document {uri!r}.", "It may have been deleted.")
        return None if rows[0][-1] is None else Source(*rows[0])

    def stamps(self, uris: Iterable[str]) -> dict[str, DocumentStamp]:
        """Hashes and source of these documents, by uri. Unknown ones are left out."""
        sql = "SELECT uri, sha256, meta_sha256, source FROM documents WHERE uri IN"
        return {row[0]: DocumentStamp(*row) for row in self._db.rows_in(sql, list(uris))}

    def documents_of(self, source: int) -> list[str]:
        """The documents that came from one source, in the order in which they were stored."""
        return [uri for (uri,) in self._db.rows("SELECT uri FROM documents WHERE source = ? ORDER BY id", (source,))]

    def document_counts(self) -> dict[int, int]:
        """How many documents came from each source, by the source's id."""
        return dict(self._db.rows("SELECT source, count(*) FROM documents WHERE source IS NOT NULL GROUP BY source"))

    def document(self, uri: str) -> Document | None:
        """The document exactly as it was put, or None."""
        sql = "SELECT body, metadata, title, marks, lines, sha256, meta_sha256 FROM documents WHERE uri = ?"
        rows = self._db.rows(sql, (uri,))
        if not rows:
            return None
        body, metadata, title, marks, lines, sha256, meta_sha256 = rows[0]
        kept = self._db.parsed(metadata)
        try:
            text = decompress(body)
            marked = tuple(Mark(*mark) for mark in self._db.parsed(marks))
            sound = (text_hash(text), meta_hash(title, kept)) == (sha256, meta_sha256)
        except (ValueError, TypeError) as error:
            raise Corrupt(f"{self.folder}: {uri!r} is damaged ({error}).", sqlite.REPAIR) from error
        if not sound:
            raise Corrupt(f"{self.folder}: {uri!r} is not what was stored.", sqlite.REPAIR)
        return Document(uri, text, kept, title, marked, bool(lines))

    def documents(
        self, *, path: str | None = None, ids: Sequence[str] | None = None, limit: int = -1, offset: int = 0
    ) -> list[JsonObject]:
        """What is indexed, by uri: id, title, passages, size, mtime (ns), loader, metadata, root and path.

        `path` is a pattern for the id or the source's path, as in `--path`; `ids` are the documents wanted.
        """
        with self._db.snapshot():
            places = None if path is None else json.dumps(self._fitting(path))
            these = None if ids is None else json.dumps(list(ids))
            asked = [(column, given) for column, given in (("d.id", places), ("d.uri", these)) if given is not None]
            where = " AND ".join(f"{column} IN (SELECT value FROM json_each(?))" for column, _ in asked) or "1"
            sql = f"{_LISTING} WHERE {where} ORDER BY d.uri LIMIT ? OFFSET ?"
            rows = self._db.rows(sql, (*(given for _, given in asked), limit, offset))
        keys = ("id", "title", "size", "mtime", "loader", "metadata", "root", "path", "passages")
        return [dict(zip(keys, (*row[1:6], self._db.parsed(row[6]), *row[7:]), strict=True)) for row in rows]

    def titles(self) -> list[tuple[str, str | None]]:
        """Id and title of every document, by id."""
        return self._db.rows("SELECT uri, title FROM documents ORDER BY uri")

    def origins(self, uris: Sequence[str] | None = None) -> list[Origin]:
        """The files that these documents (all, for None) came from."""
        sql = "SELECT d.uri, s.root, s.path, s.mtime_ns, s.size FROM documents d LEFT JOIN sources s ON s.id = d.source"
        rows = self._db.rows(sql) if uris is None else self._db.rows_in(f"{sql} WHERE d.uri IN", list(uris))
        return [Origin(*row) for row in rows]

    # ---- passages

    def passage_ids(self, uri: str) -> Ids:
        """The passages of a document in their order; none for an unknown one."""
        sql = "SELECT p.id FROM documents d JOIN passages p ON p.document = d.id WHERE d.uri = ? ORDER BY p.position"
        return _ids(self._db.rows(sql, (uri,)))

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        """These passages in the order of `ids`; those that are gone are left out. Raises Corrupt."""
        wanted = np.asarray(ids, dtype=np.int64).tolist()
        found: dict[int, StoredPassage] = {}
        with self._db.snapshot():
            for piece in pieces(wanted, IDS_A_QUERY):
                for row in self._db.rows(_PASSAGE, (json.dumps(piece),)):
                    found[row[0]] = self._passage(*row)
        return [found[passage] for passage in wanted if passage in found]

    def texts(self) -> Iterator[str]:
        """The text of every passage, by id, in pieces: the memory is that of one piece. Raises Corrupt."""
        sql = 'SELECT id, document, start, "end", text, crc FROM passages WHERE id > ? ORDER BY id LIMIT ?'
        after = 0
        while rows := self._db.rows(sql, (after, IDS_A_QUERY)):
            for row_id, document, start, end, text, crc in rows:
                if not isinstance(text, str) or crc != passage_crc(row_id, document, start, end, text):
                    raise Corrupt(f"{self.folder}: passage {row_id} is damaged.", sqlite.REPAIR)
                yield text
            after = rows[-1][0]

    def existing(self, ids: Ids | Sequence[int]) -> NDArray[np.bool_]:
        """(n,) ids -> (n,) whether each passage is still there."""
        wanted = np.asarray(ids, dtype=np.int64)
        sql = "SELECT p.id FROM json_each(?) wanted CROSS JOIN passages p ON p.id = wanted.value"
        rows = [
            row for piece in pieces(wanted.tolist(), IDS_A_QUERY) for row in self._db.rows(sql, (json.dumps(piece),))
        ]
        return np.isin(wanted, _ids(rows))

    def owners(self, ids: Sequence[int]) -> dict[int, int]:
        """Passage id -> row id of its document, without reading a text; vanished ones are left out."""
        sql = "SELECT p.id, p.document FROM json_each(?) wanted CROSS JOIN passages p ON p.id = wanted.value"
        return {
            row[0]: row[1] for piece in pieces(ids, IDS_A_QUERY) for row in self._db.rows(sql, (json.dumps(piece),))
        }

    # ---- vectors

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        """(passage ids (m,) ascending, their vectors (m, dim)) in pieces of at most `chunk`. Raises Corrupt.

        Only passages with an id above `after`, and of `ids` where given. Memory is that of one piece. What is
        committed meanwhile may or may not come along: use `snapshot()` for a view of one moment.
        """
        dim = self.dim(space)
        if ids is not None:
            wanted = sorted({i for i in np.asarray(ids, dtype=np.int64).tolist() if i > after})
            for piece in pieces(wanted, chunk):  # np.unique would import numpy.ma, a cold query's 25 ms
                sql = "passage IN (SELECT value FROM json_each(?)) ORDER BY passage"
                if rows := self._vector_rows(sql, (space, json.dumps(piece))):
                    yield self._decode(rows, dim)
            return
        while rows := self._vector_rows("passage > ? ORDER BY passage LIMIT ?", (space, after, chunk)):
            yield self._decode(rows, dim)
            after = rows[-1][0]

    def vector_ids(self, space: int) -> Ids:
        """The passages that have a vector in this space, ascending."""
        sql = "SELECT passage FROM vectors WHERE space = ? AND passage > ? ORDER BY passage LIMIT ?"
        parts = [np.empty(0, np.int64)]
        while rows := self._db.rows(sql, (space, int(parts[-1][-1]) if len(parts) > 1 else 0, IDS_A_QUERY)):
            parts.append(_ids(rows))
        return np.concatenate(parts)

    def highest_id(self, space: int) -> int:
        """The newest passage that has a vector in this space; 0 for none."""
        return int(self._db.rows("SELECT coalesce(max(passage), 0) FROM vectors WHERE space = ?", (space,))[0][0])

    def count_after(self, space: int, passage: int) -> int:
        """How many vectors of this space belong to passages newer than `passage`."""
        return int(
            self._db.rows("SELECT count(*) FROM vectors WHERE space = ? AND passage > ?", (space, passage))[0][0]
        )

    def highest_given(self) -> int:
        """The highest id that a passage ever had."""
        rows = self._db.rows("SELECT seq FROM sqlite_sequence WHERE name = 'passages'")
        return int(rows[0][0]) if rows else 0

    def copy_to(self, file: Path) -> None:
        """A compact copy of the database as it is at this moment, in the new file `file`. Not inside a snapshot."""
        self._db.rows("VACUUM INTO ?", (str(file),))

    # ---- inside

    def dim(self, space: int) -> int:
        rows = self._db.rows("SELECT dim FROM spaces WHERE id = ?", (space,))
        if not rows:
            raise NotFound(f"{self.folder} has no space {space}.")
        return int(rows[0][0])

    def _vector_rows(self, condition: str, parameters: Sequence[object]) -> list[tuple[int, int, bytes]]:
        return self._db.rows(f"SELECT passage, crc, vector FROM vectors WHERE space = ? AND {condition}", parameters)

    def _passage(self, row_id: int, uri: str, start: int, end: int, text: str, *rest: Row) -> StoredPassage:
        page, line, heading, metadata, title, root, path, crc, document = rest
        if not isinstance(text, str) or crc != passage_crc(row_id, document, start, end, text):
            raise Corrupt(f"{self.folder}: passage {row_id} of {uri!r} is damaged.", sqlite.REPAIR)
        parsed = (
            {} if metadata == "{}" else self._db.parsed(metadata)
        )  # most files have none, and a search reads hundreds
        return StoredPassage(row_id, uri, start, end, text, page, line, heading, parsed, title, root, path)

    def _space(self, row_id: int, fingerprint: str, name: str, dim: int, *rest: Row) -> Space:
        info, quantiles, count = rest
        return Space(row_id, fingerprint, name, dim, self._db.parsed(info), self._quantiles(quantiles), count)

    def _quantiles(self, packed: bytes) -> tuple[float, ...]:
        if not isinstance(packed, bytes) or len(packed) % 8:
            raise Corrupt(f"{self.folder} is damaged: a background distribution.", sqlite.REPAIR)
        return tuple(np.frombuffer(packed, "<f8").tolist())

    def _decode(self, rows: Sequence[Row], dim: int) -> tuple[Ids, Vectors]:
        ids, sums, blobs = zip(*rows, strict=True)
        sound = all(map(_is_sound, ids, sums, blobs)) and all(len(blob) == 2 * dim for blob in blobs)
        if not sound:
            bad = next(row[0] for row in rows if not _is_sound(*row) or len(row[2]) != 2 * dim)
            raise Corrupt(f"{self.folder}: the vector of passage {bad} is damaged.", sqlite.REPAIR)
        halves = np.frombuffer(b"".join(blobs), FLOAT16).reshape(len(ids), dim)
        return np.array(ids, dtype=np.int64), unit_rows(halves)

    def _fitting(self, path: str) -> list[int]:
        sql = "SELECT d.id, d.uri, s.path, s.root FROM documents d LEFT JOIN sources s ON s.id = d.source"
        return [
            document
            for document, uri, place, root in self._db.rows(sql)
            if matches(path, uri) or (place is not None and matches(path, place, root))
        ]


def _ids(rows: Sequence[Row]) -> Ids:
    return np.array([row[0] for row in rows], dtype=np.int64)


def _is_sound(row_id: int, crc: int, blob: object) -> bool:
    return isinstance(blob, bytes) and vector_crc(row_id, blob) == crc
