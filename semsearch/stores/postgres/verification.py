"""Verification of a collection: every text, word, vector and counter is compared with the others.

PostgreSQL checks its own pages where they have checksums (initdb --data-checksums, pg_amcheck); here it is what they
say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from semsearch.errors import SemsearchError
from semsearch.stores.entry_checks import keywords
from semsearch.stores.postgres.escapes import restored, restored_or_none
from semsearch.stores.postgres.full_text import words
from semsearch.stores.postgres.server.connection import Connection, Row
from semsearch.stores.postgres.server.schema import vectors_table
from semsearch.stores.records import meta_hash, stable_id, text_hash
from semsearch.types import Document, Passage, Progress

MOST_OF_A_KIND = 5  # problems of one kind that are listed; more are counted
AT_ONCE = 500  # documents
_DOCUMENTS = """SELECT id, uri, sha256, meta_sha256, title, metadata, marks, body FROM documents
    WHERE id > %s ORDER BY id LIMIT %s"""
_PASSAGES = """SELECT document, id, position, start, "end", heading, text, replace(stable_id::text, '-', '')
    FROM passages WHERE document = ANY(%s::bigint[]) ORDER BY document, position"""


def verify(connection: Connection, progress: Callable[[Progress], None]) -> list[str]:
    """Every problem, a sentence each; an empty list is good. Call it inside a snapshot."""
    problems: list[str] = []
    for at, (name, check) in enumerate(_CHECKS.items()):
        progress(Progress(at, len(_CHECKS), "checks", name))
        each = _caught(check(connection), name)
        problems += islice(each, MOST_OF_A_KIND)
        if more := sum(1 for _ in each):
            problems.append(f"… and {more} more like that.")
    return problems


def _caught(problems: Iterator[str], name: str) -> Iterator[str]:
    """The problems that a check finds, and the one that stops it."""
    try:
        yield from problems
    except (SemsearchError, TypeError, ValueError) as error:  # damage has any type
        yield f"{name}: {getattr(error, 'message', error)}"


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
        titles: dict[int, Document] = {}
        for number, uri, sha256, meta_sha256, title, metadata, marks, body in rows:
            name, text = restored(uri), restored(body)
            titles[number] = Document(name, text, {}, restored_or_none(title))
            if text_hash(text) != sha256:
                yield f"the text of {name!r} is not the one that was stored."
            if meta_hash(restored_or_none(title), connection.parsed(metadata)) != meta_sha256:
                yield f"title or metadata of {name!r} are not what was stored."
            connection.parsed(marks)
            yield from _passages(parts[number], name, text)
        yield from _words(connection, [(titles[number], part) for number, each in parts.items() for part in each])


def _passages(rows: Sequence[Row], uri: str, text: str) -> Iterator[str]:
    for expected, (number, position, start, end, _, packed, identity) in enumerate(rows):
        part = restored(packed)
        if position != expected:
            yield f"passage {number} of {uri!r} is number {position} where {expected} should be."
        if text[start:end] != part:
            yield f"passage {number} is not the text from {start} to {end} of {uri!r}."
        if stable_id(uri, position, part) != identity:
            yield f"the identity of passage {number} of {uri!r} is wrong."


def _words(connection: Connection, passages: Sequence[tuple[Document, Row]]) -> Iterator[str]:
    """The words of passages, cut once more. The keywords of before a change of the title are right, too."""
    made = []
    for document, (number, _, start, end, heading, packed, _) in passages:
        text = restored(packed)
        passage = Passage(start, end, text, heading=restored_or_none(heading))
        made.append((number, text, keywords(document, passage)))
    made.sort()
    rows = words.of_passages(made)
    ids, vectors, grams = ([each[at] for each in rows] for at in (0, 2, 4))
    sql = """SELECT given.id FROM unnest(%s::bigint[], %s::text[], %s::text[]) given (id, vector, grams)
             LEFT JOIN words w ON w.passage = given.id WHERE w.passage IS NULL
             OR ts_filter(w.vector, '{a}') <> ts_filter(given.vector::tsvector, '{a}')
             OR w.grams IS DISTINCT FROM given.grams::tsvector"""
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
