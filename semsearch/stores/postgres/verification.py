"""Verification of a collection: every text, word, vector and counter is compared with the others.

PostgreSQL checks its own pages where they have checksums (initdb --data-checksums, pg_amcheck); here it is what they
say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from semsearch.stores.entry_checks import keywords
from semsearch.stores.postgres.full_text import words
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.postgres.server.schema import vectors_table
from semsearch.stores.sql import checks
from semsearch.stores.sql.database import Row
from semsearch.types import Document, Passage, Progress

AT_ONCE = 500  # documents
_DOCUMENTS = """SELECT id, uri, sha256, meta_sha256, title, metadata, marks, body FROM documents
    WHERE id > ? ORDER BY id LIMIT ?"""
_PASSAGES = """SELECT document, id, position, start, "end", text, TRUE, replace(stable_id::text, '-', ''), heading
    FROM passages WHERE document = ANY(?::bigint[]) ORDER BY document, position"""


def verify(connection: Connection, progress: Callable[[Progress], None]) -> list[str]:
    """Every problem, a sentence each; an empty list is good. Call it inside a snapshot."""
    return checks.run(_CHECKS, connection, progress)


def _counters(connection: Connection) -> Iterator[str]:
    for counter, sql in _COUNTED.items():
        recorded, rows = connection.count(counter), int(connection.rows(sql)[0][0])
        if recorded != rows:
            yield f"{recorded} {counter} are on record, but {rows} are there."
    for (space,) in connection.rows("SELECT id FROM spaces ORDER BY id"):
        recorded = connection.count(f"vectors {space}")
        rows = int(connection.rows(f"SELECT count(*) FROM {vectors_table(space)}")[0][0])
        if recorded != rows:
            yield f"{recorded} vectors of space {space} are on record, but {rows} are there."
    for table in ("documents", "passages"):
        sql = f"SELECT coalesce(max(id), 0) <= (SELECT last_value FROM {table[:-1]}_ids) FROM {table}"
        if not connection.rows(sql)[0][0]:
            yield f"the next id of {table} would be one that was used before."


_COUNTED = {
    "documents": "SELECT count(*) FROM documents",
    "passages": "SELECT count(*) FROM passages",
    "tokens": "SELECT coalesce(sum(tokens), 0)::bigint FROM words",
    "cjk": "SELECT count(grams) FROM words",
    "trigrams": "SELECT coalesce(sum(greatest(characters - 2, 0)), 0)::bigint FROM words WHERE grams IS NOT NULL",
}


def _documents(connection: Connection) -> Iterator[str]:
    after = 0
    while rows := connection.rows(_DOCUMENTS, (after, AT_ONCE)):
        after = rows[-1][0]
        parts: dict[int, list[Row]] = {row[0]: [] for row in rows}
        for document, *part in connection.rows(_PASSAGES, (list(parts),)):
            parts[document].append(part)
        made: list[tuple[int, str, str]] = []
        for number, uri, sha256, meta_sha256, title, metadata, marks, body in rows:
            yield from checks.of_document(uri, body, sha256, meta_sha256, title, metadata, marks)
            yield from checks.of_passages([row[:7] for row in parts[number]], uri, body)
            document = Document(uri, body, {}, title)
            for passage, _, start, end, text, *_, heading in parts[number]:
                made.append((passage, text, keywords(document, Passage(start, end, text, heading=heading))))
        yield from _words(connection, sorted(made))


def _words(connection: Connection, passages: Sequence[tuple[int, str, str]]) -> Iterator[str]:
    """The words of passages, cut once more. The keywords of before a change of the title are right, too."""
    rows = words.of_passages(passages)
    ids, vectors, grams = ([each[at] for each in rows] for at in (0, 2, 4))
    sql = """SELECT made.id FROM unnest(?::bigint[], ?::text[], ?::text[]) made (id, vector, grams)
             LEFT JOIN words w ON w.passage = made.id WHERE w.passage IS NULL
             OR ts_filter(w.vector, '{a}') <> ts_filter(made.vector::tsvector, '{a}')
             OR w.grams IS DISTINCT FROM made.grams::tsvector"""
    for (number,) in connection.rows(sql, (ids, vectors, grams)):
        yield f"the words of passage {number} are not those of its text."


def _vectors(connection: Connection) -> Iterator[str]:
    current = connection.rows("SELECT value::integer FROM meta WHERE key = 'space'")
    spaces = [space for (space,) in connection.rows("SELECT id FROM spaces ORDER BY id")]
    if current and current[0][0] not in spaces:
        yield f"the current space, {current[0][0]}, is not there."
    elif spaces:
        space = current[0][0] if current else spaces[0]
        sql = f"""SELECT id FROM passages p WHERE NOT EXISTS
                  (SELECT 1 FROM {vectors_table(space)} v WHERE v.passage = p.id)"""
        for (passage,) in connection.rows(sql):
            yield f"passage {passage} has no vector."
    sql = """SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
             JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND NOT i.indisvalid"""
    for (index,) in connection.rows(sql):
        yield f"the index {index} is not finished; update the index to build it again."


_CHECKS: dict[str, Callable[[Connection], Iterator[str]]] = {
    "counters": _counters,
    "documents": _documents,
    "vectors": _vectors,
}
