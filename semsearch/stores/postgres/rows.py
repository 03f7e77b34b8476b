"""Rows of documents with passages, words, vectors and counters, inserted and removed in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import Unreadable
from semsearch.stores import machine_recipes
from semsearch.stores.entry_checks import furniture, keywords
from semsearch.stores.postgres.full_text import words
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.postgres.server.escapes import stored, stored_json
from semsearch.stores.postgres.server.schema import LONGEST_KEY, vectors_table
from semsearch.stores.postgres.server.vector_types import packed
from semsearch.stores.postgres.space_vectors import SpaceVectors
from semsearch.stores.records import Entry, stable_id
from semsearch.stores.sql.rows import PASSAGE, document_values, passage_values

if TYPE_CHECKING:
    from semsearch.types import Vectors

_TYPES = {  # of the columns of documents
    "id": "bigint", "uri": "text", "source": "bigint", "sha256": "text", "meta_sha256": "text", "size": "bigint",
    "lines": "boolean", "title": "text", "metadata": "text", "marks": "text", "fields": "jsonb", "body": "text",
}  # fmt: skip
_INSERT_DOCUMENTS = f"""INSERT INTO documents ({", ".join(_TYPES)})
    SELECT {", ".join(f"{name}::{kind}" for name, kind in _TYPES.items())}
    FROM unnest({", ".join(f"?::{kind.replace('jsonb', 'text')}[]" for kind in _TYPES.values())})
    one ({", ".join(_TYPES)}) ORDER BY uri COLLATE "C" ON CONFLICT (uri) DO NOTHING RETURNING uri"""
_PASSAGE = f"{PASSAGE}, stable_id"
_INSERT_PASSAGE = f"""INSERT INTO passages ({_PASSAGE}) VALUES (?{", ?" * 8}, ?::uuid)
    ON CONFLICT (stable_id) DO UPDATE SET ({_PASSAGE}) = (excluded.{_PASSAGE.replace(", ", ", excluded.")})"""
_INSERT_WORDS = """INSERT INTO words (passage, tokens, vector, characters, grams)
    VALUES (?, ?, ?::tsvector, ?, ?::tsvector) ON CONFLICT (passage) DO UPDATE
    SET (tokens, vector, characters, grams) = (excluded.tokens, excluded.vector, excluded.characters, excluded.grams)"""


class RowWriter:
    """Inserts and removes documents with all that belongs to them. Call it inside a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def locked(self, condition: str, value: object) -> dict[str, int]:
        """The numbers of some documents by their ids, locked until the transaction ends."""
        return dict(
            self._db.changed(f"SELECT uri, id FROM documents WHERE {condition} ORDER BY uri FOR UPDATE", (value,))
        )

    def remove_own(self, uris: Sequence[str]) -> None:
        """Remove the documents with these ids. Raises Unreadable for one of another machine's file."""
        numbers = list(self.locked("uri = ANY(?::text[])", list(uris)).values())
        sql = f"""SELECT d.uri, s.machine FROM documents d JOIN sources s ON s.id = d.source
                  WHERE d.id {self._db.among} AND s.machine <> ? ORDER BY d.uri LIMIT 1"""
        for uri, other in self._db.rows(sql, (numbers, machine_recipes.name())):
            raise machine_recipes.foreign_document(uri, other)
        self.remove(numbers)

    def remove(self, documents: Sequence[int]) -> int:
        """Delete locked documents with passages, words, vectors and counters; nothing else deletes them."""
        if not documents:
            return 0
        sql = f"SELECT id FROM passages WHERE document {self._db.among} FOR UPDATE"
        passages = [number for (number,) in self._db.changed(sql, (list(documents),))]
        sizes = self._sizes(passages)
        for (space,) in self._db.rows("SELECT id FROM spaces ORDER BY id"):
            self._db.add(f"vectors {space}", -self._delete(vectors_table(space), "passage", passages))
        self._delete("words", "passage", passages)
        self._delete("passages", "id", passages)
        removed = self._delete("documents", "id", documents)
        self._count(-len(passages), *sizes)
        self._db.add("documents", -removed)
        return removed

    def _delete(self, table: str, column: str, ids: Sequence[int]) -> int:
        return self._db.execute(f"DELETE FROM {table} WHERE {column} {self._db.among}", (list(ids),))

    def _count(self, passages: int, tokens: int, cjk: int, trigrams: int) -> None:
        changes = {"passages": passages, "tokens": tokens, "cjk": cjk, "trigrams": trigrams}
        for counter, change in changes.items():
            self._db.add(counter, change)

    def insert(self, entries: Mapping[str, Entry], space: SpaceVectors) -> None:
        """Insert documents by uri. One that another writer has inserted meanwhile is replaced."""
        numbers = dict(zip(entries, self._reserved("document_ids", len(entries)), strict=True))
        rows = {uri: _document_row(numbers[uri], entry) for uri, entry in entries.items()}
        while rows:
            columns = [list(column) for column in zip(*(row.values() for row in rows.values()), strict=True)]
            for (uri,) in self._db.changed(_INSERT_DOCUMENTS, columns):
                del rows[uri]
            if rows:
                self.remove_own(sorted(rows))
        self._db.add("documents", len(entries))
        self._insert_passages({numbers[uri]: entry for uri, entry in entries.items()}, space)

    def _insert_passages(self, entries: Mapping[int, Entry], space: SpaceVectors) -> None:
        parts = [
            (document, entry, position, passage)
            for document, entry in entries.items()
            for position, passage in enumerate(entry.passages)
        ]
        if not parts:
            return
        last = {document: furniture(entry.document, entry.passages) for document, entry in entries.items()}
        ids, rows, texts = self._reserved("passage_ids", len(parts)), [], []
        for number, (document, entry, position, passage) in zip(ids, parts, strict=True):
            identity = stable_id(entry.document.id, position, passage.text)
            rows.append((*passage_values(number, document, position, passage), identity))
            texts.append((number, passage.text, keywords(entry.document, passage)))
        self._db.execute_many(_INSERT_PASSAGE, rows)
        marked = [number for number, (document, _, at, _) in zip(ids, parts, strict=True) if at in last[document]]
        if marked:
            self._db.execute("INSERT INTO furniture SELECT unnest(?::bigint[]) ON CONFLICT DO NOTHING", (marked,))
        self._insert_words(texts)
        self.put_vectors(space, ids, np.concatenate([entry.vectors for entry in entries.values()]))

    def _sizes(self, passages: Sequence[int]) -> list[int]:
        """What the counters lose with the words of passages: tokens, those with CJK letters, trigrams."""
        sql = f"""SELECT coalesce(sum(tokens), 0)::bigint, count(grams),
                  coalesce(sum(greatest(characters - 2, 0)) FILTER (WHERE grams IS NOT NULL), 0)::bigint
                  FROM words WHERE passage {self._db.among}"""
        return [-size for size in self._db.rows(sql, (list(passages),))[0]]

    def _insert_words(self, texts: Sequence[tuple[int, str, str]]) -> None:
        rows = words.of_passages(texts)
        self._db.execute_many(_INSERT_WORDS, [each[:5] for each in rows])
        self._db.add_terms(set().union(*(each.terms for each in rows)))
        with_cjk = [each.characters for each in rows if each.grams is not None]
        trigrams = sum(max(0, characters - 2) for characters in with_cjk)
        self._count(len(rows), sum(each.tokens for each in rows), len(with_cjk), trigrams)

    def put_vectors(self, space: SpaceVectors, ids: Sequence[int], vectors: Vectors) -> None:
        """Store vectors (n, d) of n passages that are there."""
        before = len(list(self._db.rows_of(f"SELECT passage FROM {space.table} WHERE passage", ids)))
        sql = f"""INSERT INTO {space.table} (passage, vector) VALUES (?, ?)
                  ON CONFLICT (passage) DO UPDATE SET vector = excluded.vector"""
        self._db.execute_many(sql, list(zip(ids, packed(vectors, space.kind), strict=True)))
        self._db.add(space.counter, len(ids) - before)

    def _reserved(self, sequence: str, count: int) -> list[int]:
        """The next `count` numbers of a sequence, ascending; others may have some between them."""
        sql = "SELECT nextval(?::regclass) FROM generate_series(1, ?)"
        return sorted(number for (number,) in self._db.changed(sql, (sequence, count)))


def _document_row(number: int, entry: Entry) -> dict[str, object]:
    values = document_values(number, entry)
    row = {**values, "fields": stored_json(values["metadata"]), "body": entry.document.text}
    return {name: row[name] for name in _TYPES}


def check_key(name: str) -> None:
    """Raise Unreadable for an id that is too long for an index of PostgreSQL."""
    if len(stored(name).encode()) > LONGEST_KEY:
        raise Unreadable(f"its id is longer than {LONGEST_KEY:,} bytes: {name[:40]!r}")
