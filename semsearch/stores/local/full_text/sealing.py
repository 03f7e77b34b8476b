"""Writing the postings of frequent terms: a segment at a time, each in a transaction that changes no document."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semsearch.stores.local.database.schema import word_columns
from semsearch.stores.local.full_text import segments
from semsearch.stores.local.full_text.occurrences import at_least, occurrences
from semsearch.stores.local.full_text.segments import (
    Segment,
    decoded,
    encoded,
    last_sealed,
    posting_crc,
)
from semsearch.stores.sql.tokenizer import Tokens

if TYPE_CHECKING:
    from semsearch.stores.local.full_text.segments import Places, Sealed
    from semsearch.stores.sql.bm25 import Sizes


class Limits(NamedTuple):
    """When postings are written."""

    passages: int = 16_384  # of a store with postings; in a smaller one, FTS5 alone is fast
    segment: int = 4096  # passages: as many may wait for the next one, and are cut by each process that searches
    merged: int = 16  # segments that become one: a search reads one row of each
    in_segment: int = 16  # passages of the next segment with a term that becomes frequent
    in_store: int = 1000  # and of the store; FTS5 lists those of a rarer one in less than a millisecond


LIMITS = Limits()


def is_due(connection: sqlite3.Connection) -> bool:
    """Whether passages wait for the next segment, or segments for being written again."""
    (passages,) = connection.execute("SELECT value FROM meta WHERE key = 'passages'").fetchone()
    return (passages >= LIMITS.passages and _waiting(connection)) or bool(_to_rewrite(connection))


def seal(connection: sqlite3.Connection) -> None:
    """Write the next segment, or rewrite some; inside a transaction. Raises Damaged."""
    if old := _to_rewrite(connection):
        _rewrite(connection, old)
        return
    after = last_sealed(connection)
    sql = f"SELECT {word_columns(connection)} FROM passages WHERE id > ? ORDER BY id LIMIT ?"
    with Tokens(connection.execute(sql, (after, LIMITS.segment))) as tokens:
        _admit(connection, tokens, after)
        (highest,) = connection.execute("SELECT coalesce(max(number), 0) FROM segments").fetchone()
        segment = Segment(highest + 1, tokens.ids, *tokens.sizes())
        _put_segment(connection, segment)
        for kind, term, ids, counts in sorted(tokens.of(frequent_terms(connection)), key=lambda row: row[:2]):
            _put(connection, segment.number, kind, term, np.searchsorted(segment.ids, ids), counts, len(segment.ids))


def _waiting(connection: sqlite3.Connection) -> bool:
    sql = "SELECT 1 FROM passages WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"
    return connection.execute(sql, (last_sealed(connection), LIMITS.segment - 1)).fetchone() is not None


def _to_rewrite(connection: sqlite3.Connection) -> list[int]:
    """The numbers of segments that are to become one: some small ones, or one that has lost half of its passages."""
    small = f"SELECT number FROM segments WHERE passages <= {LIMITS.segment} ORDER BY number LIMIT {LIMITS.merged}"
    if len(numbers := [number for (number,) in connection.execute(small)]) == LIMITS.merged:
        return numbers
    gone = "SELECT count(*) FROM postings_gone WHERE id BETWEEN s.first AND s.last"
    sql = f"SELECT number FROM segments s WHERE 2 * ({gone}) > passages LIMIT 1"
    if connection.execute("SELECT 1 FROM postings_gone LIMIT 1").fetchone() is None:
        return []
    return [number for (number,) in connection.execute(sql)]


def _rewrite(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Make one segment of several, without what was removed since."""
    old = segments.load(connection, numbers)
    within = int(old.ids[0]), int(old.ids[-1])
    gone = [row for (row,) in connection.execute("SELECT id FROM postings_gone WHERE id BETWEEN ? AND ?", within)]
    here = ~np.isin(old.ids, gone)
    rows = [_postings(connection, kind, term, old) for kind, term in sorted(frequent_terms(connection))]
    for number in numbers:
        connection.execute("DELETE FROM postings WHERE segment = ?", (number,))
        connection.execute("DELETE FROM segments WHERE number = ?", (number,))
    connection.execute("DELETE FROM postings_gone WHERE id BETWEEN ? AND ?", within)
    if not here.any():
        return
    _put_segment(connection, Segment(numbers[0], old.ids[here], old.tokens[here], old.characters[here]))
    moved = np.cumsum(here) - 1
    for kind, term, places, counts in rows:
        stay = here[places]
        _put(connection, numbers[0], kind, term, moved[places[stay]], counts[stay], int(here.sum()))


def _postings(connection: sqlite3.Connection, kind: int, term: str, of: Sealed) -> tuple[int, str, Places, Sizes]:
    """(kind, term) with the places (n,) of the term in some segments, and how often it is there (n,)."""
    sql = "SELECT segment, places, counts, crc FROM postings WHERE segment = ? AND kind = ? AND term = ?"
    rows = [row for number in of.parts for row in connection.execute(sql, (number, kind, term))]
    return kind, term, *decoded(rows, kind, term, of)


def frequent_terms(connection: sqlite3.Connection) -> set[tuple[int, str]]:
    """(kind, term) of the frequent terms."""
    return set(connection.execute("SELECT kind, term FROM frequent_terms"))


def _admit(connection: sqlite3.Connection, tokens: Tokens, last: int) -> None:
    """Record the terms that are frequent from now on, and what the segments so far (ids up to `last`) have of them."""
    before = frequent_terms(connection)
    several = tokens.several(LIMITS.in_segment)
    new = [one for one in several if one not in before and at_least(connection, *one, LIMITS.in_store)]
    connection.executemany("INSERT INTO frequent_terms VALUES (?, ?)", new)
    if not last or not new:
        return
    sealed = segments.load(connection)
    for kind, term in new:
        ids, counts = occurrences(connection, kind, term)
        places = np.searchsorted(sealed.ids, ids)
        for number, part in sealed.parts.items():
            some = slice(*np.searchsorted(places, [part.start, part.stop]))
            _put(connection, number, kind, term, places[some] - part.start, counts[some], len(part))


def _put_segment(connection: sqlite3.Connection, segment: Segment) -> None:
    connection.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)", segment.row())


def _put(
    connection: sqlite3.Connection, segment: int, kind: int, term: str, places: Places, counts: Sizes, passages: int
) -> None:
    """The row of a term in a segment of so many passages, unless none of them has it."""
    if len(places):
        packed, often = encoded(places, counts, passages)
        row = (segment, kind, term, packed, often, posting_crc(segment, kind, term, packed, often))
        connection.execute("INSERT INTO postings VALUES (?, ?, ?, ?, ?, ?)", row)
