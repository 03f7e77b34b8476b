"""Rows of documents with passages, words, vectors and counters, inserted and removed in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores import machine_recipes
from semsearch.stores.entry_checks import furniture, keywords
from semsearch.stores.postgres.escapes import restored, stored, stored_json, stored_or_none
from semsearch.stores.postgres.full_text import words
from semsearch.stores.postgres.server.connection import Connection, Row
from semsearch.stores.postgres.server.schema import vectors_table
from semsearch.stores.postgres.server.vector_types import packed
from semsearch.stores.postgres.space_vectors import SpaceVectors
from semsearch.stores.records import Entry, meta_hash, packed_marks, stable_id, text_hash, to_json

if TYPE_CHECKING:
    from semsearch.types import Vectors


def excluded(columns: str) -> str:
    """The values of a row that was not inserted because there is one already."""
    return ", ".join(f"excluded.{name}" for name in columns.split(", "))


SPACES = "spaces"  # held by all who write documents, and alone by the one who switches to another space or removes one
_DOCUMENT = "id, uri, source, sha256, meta_sha256, size, lines, title, metadata, fields, marks, body"
_PASSAGE = 'id, stable_id, document, position, start, "end", page, line, heading, text'
_INSERT_DOCUMENTS = f"""INSERT INTO documents ({_DOCUMENT})
    SELECT {_DOCUMENT.replace("fields", "fields::jsonb")}
    FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::boolean[], %s::text[],
        %s::text[], %s::text[], %s::text[], %s::text[])
    given ({_DOCUMENT}) ORDER BY uri COLLATE "C" ON CONFLICT (uri) DO NOTHING RETURNING uri"""
_INSERT_PASSAGE = f"""INSERT INTO passages ({_PASSAGE}) VALUES (%s, %s::uuid{", %s" * 8})
    ON CONFLICT (stable_id) DO UPDATE SET ({_PASSAGE}) = ({excluded(_PASSAGE)})"""
_INSERT_WORDS = """INSERT INTO words (passage, tokens, vector, characters, grams)
    VALUES (%s, %s, %s::tsvector, %s, %s::tsvector) ON CONFLICT (passage) DO UPDATE
    SET (tokens, vector, characters, grams) = (excluded.tokens, excluded.vector, excluded.characters, excluded.grams)"""


class RowWriter:
    """Inserts and removes documents with all that belongs to them. Call it inside a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def locked(self, condition: str, *values: object) -> list[int]:
        """The numbers of some documents, locked until the transaction ends."""
        sql = f"SELECT id FROM documents WHERE {condition} ORDER BY uri FOR UPDATE"
        return [number for (number,) in self._db.returned(sql, values)]

    def own(self, uris: Sequence[str]) -> list[int]:
        """The numbers of the documents with these ids, locked. Raises Unreadable for one of another machine's file."""
        numbers = self.locked("uri = ANY(%s::text[])", uris)
        sql = """SELECT d.uri, s.machine FROM documents d JOIN sources s ON s.id = d.source
                 WHERE d.id = ANY(%s::bigint[]) AND s.machine <> %s ORDER BY d.uri LIMIT 1"""
        for uri, other in self._db.rows(sql, (numbers, stored(machine_recipes.name()))):
            raise machine_recipes.foreign_document(restored(uri), restored(other))
        return numbers

    def remove(self, documents: Sequence[int]) -> int:
        """Delete locked documents with passages, words, vectors and counters; nothing else deletes them."""
        if not documents:
            return 0
        sql = "SELECT id FROM passages WHERE document = ANY(%s::bigint[]) FOR UPDATE"
        passages = [number for (number,) in self._db.returned(sql, (list(documents),))]
        sql = """SELECT coalesce(sum(tokens), 0)::bigint, count(grams),
                 coalesce(sum(greatest(characters - 2, 0)) FILTER (WHERE grams IS NOT NULL), 0)::bigint
                 FROM words WHERE passage = ANY(%s::bigint[])"""
        ((tokens, cjk, trigrams),) = self._db.rows(sql, (passages,))
        for (space,) in self._db.rows("SELECT id FROM spaces ORDER BY id"):
            gone = f"DELETE FROM {vectors_table(space)} WHERE passage = ANY(%s::bigint[])"
            self._db.add(f"vectors {space}", -self._db.execute(gone, (passages,)))
        self._db.execute("DELETE FROM words WHERE passage = ANY(%s::bigint[])", (passages,))
        self._db.execute("DELETE FROM passages WHERE id = ANY(%s::bigint[])", (passages,))
        removed = self._db.execute("DELETE FROM documents WHERE id = ANY(%s::bigint[])", (list(documents),))
        self._count(-len(passages), -tokens, -cjk, -trigrams)
        self._db.add("documents", -removed)
        return removed

    def _count(self, passages: int, tokens: int, cjk: int, trigrams: int) -> None:
        changes = {"passages": passages, "tokens": tokens, "cjk": cjk, "trigrams": trigrams}
        for counter, change in changes.items():
            self._db.add(counter, change)

    def insert_documents(self, rows: Mapping[str, Sequence[object]]) -> None:
        """Insert documents by uri. One that another writer has inserted meanwhile is replaced."""
        left = dict(rows)
        while left:
            columns = [list(column) for column in zip(*left.values(), strict=True)]
            for (uri,) in self._db.returned(_INSERT_DOCUMENTS, columns):
                del left[uri]
            self.remove(self.own(sorted(left)) if left else [])

    def insert_passages(self, entries: Mapping[int, Entry], space: SpaceVectors) -> None:
        """Insert the passages of documents by their numbers, with all that belongs to them."""
        count = sum(len(entry.passages) for entry in entries.values())
        if not count:
            return
        ids = self.reserved("passage_ids", count)
        parts = [
            (document, entry, position)
            for document, entry in entries.items()
            for position in range(len(entry.passages))
        ]
        rows = [_passage_row(number, *part) for number, part in zip(ids, parts, strict=True)]
        self._db.execute_many(_INSERT_PASSAGE, rows)
        last = {document: furniture(entry.document, entry.passages) for document, entry in entries.items()}
        marked = [number for number, (document, _, at) in zip(ids, parts, strict=True) if at in last[document]]
        if marked:
            self._db.execute("INSERT INTO furniture SELECT unnest(%s::bigint[]) ON CONFLICT DO NOTHING", (marked,))
        texts = [
            (number, entry.passages[position].text, keywords(entry.document, entry.passages[position]))
            for number, (_, entry, position) in zip(ids, parts, strict=True)
        ]
        self._insert_words(texts)
        self.put_vectors(space, ids, np.concatenate([entry.vectors for entry in entries.values()]))

    def _insert_words(self, texts: Sequence[tuple[int, str, str]]) -> None:
        rows = words.of_passages(texts)
        self._db.execute_many(_INSERT_WORDS, [each[:5] for each in rows])
        self._db.add_terms(set().union(*(each.terms for each in rows)))
        with_cjk = [each.characters for each in rows if each.grams is not None]
        trigrams = sum(max(0, characters - 2) for characters in with_cjk)
        self._count(len(rows), sum(each.tokens for each in rows), len(with_cjk), trigrams)

    def put_vectors(self, space: SpaceVectors, ids: Sequence[int], vectors: Vectors) -> None:
        """Store vectors (n, d) of n passages that are there."""
        there = f"SELECT count(*) FROM {space.table} WHERE passage = ANY(%s::bigint[])"
        before = int(self._db.rows(there, (list(ids),))[0][0])
        sql = f"""INSERT INTO {space.table} (passage, vector) VALUES (%s, %s)
                  ON CONFLICT (passage) DO UPDATE SET vector = excluded.vector"""
        self._db.execute_many(sql, list(zip(ids, packed(vectors, space.kind), strict=True)))
        self._db.add(space.counter, len(ids) - before)

    def reserved(self, sequence: str, count: int) -> list[int]:
        """The next `count` numbers of a sequence, ascending; others may have some between them."""
        sql = "SELECT nextval(%s::regclass) FROM generate_series(1, %s)"
        return sorted(number for (number,) in self._db.returned(sql, (sequence, count)))


def document_row(number: int, entry: Entry) -> Row:
    document = entry.document
    metadata = to_json(dict(document.metadata))
    return (
        number,
        stored(document.id),
        entry.source,
        text_hash(document.text),
        meta_hash(document.title, document.metadata),
        len(document.text.encode()),
        document.lines,
        stored_or_none(document.title),
        metadata,
        stored_json(metadata),
        packed_marks(document.marks),
        stored(document.text),
    )


def _passage_row(number: int, document: int, entry: Entry, position: int) -> Row:
    passage = entry.passages[position]
    return (
        number,
        stable_id(entry.document.id, position, passage.text),
        document,
        position,
        passage.start,
        passage.end,
        passage.page,
        passage.line,
        stored_or_none(passage.heading),
        stored(passage.text),
    )
