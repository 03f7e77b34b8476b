"""Verification of the postings of frequent words: they are made anew from the texts, some at a time, and compared."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from semsearch.stores.local.database.schema import POSTINGS, word_columns
from semsearch.stores.local.database.sqlite import Damaged
from semsearch.stores.local.full_text.sealing import frequent_terms
from semsearch.stores.local.full_text.segments import decoded, load
from semsearch.stores.sql.tokenizer import Tokens

if TYPE_CHECKING:
    from semsearch.stores.local.database.connection import Connection
    from semsearch.stores.local.full_text.segments import Sealed
    from semsearch.stores.sql.bm25 import Sizes
    from semsearch.types import Ids

AT_ONCE = 4096  # passages

_Having: TypeAlias = Mapping[tuple[int, str], tuple["Ids", "Sizes"]]  # kind, term -> passages, how often each has it


def problems(store: Connection) -> Iterator[str]:
    """What is wrong with the postings, a sentence each. Raises sqlite3.Error, Damaged."""
    if store.schema() < POSTINGS:
        return
    sealed = load(store.raw)
    gone = np.array([row for (row,) in store.raw.execute("SELECT id FROM postings_gone")], dtype=np.int64)
    if (np.diff(sealed.ids) <= 0).any():
        raise Damaged("the segments of the postings overlap.")
    for stranger in np.setdiff1d(gone, sealed.ids)[:1].tolist():
        yield f"passage {stranger} is on record as removed from the postings, which never had it."
    strange = "SELECT count(*) FROM postings WHERE segment NOT IN (SELECT number FROM segments)"
    if store.raw.execute(strange).fetchone()[0]:
        yield "there are postings of a segment that is not on record."
    for number in sealed.parts:
        yield from _segment(store.raw, number, gone)


def _segment(connection: sqlite3.Connection, number: int, gone: Ids) -> Iterator[str]:
    alone = load(connection, [number])
    rows = dict(_rows(connection, number, alone))
    frequent = frequent_terms(connection)
    if strange := sorted(rows.keys() - frequent):
        yield f"the postings of {strange[0][1]!r} in segment {number} are those of no frequent word."
    for at in range(0, len(alone.ids), AT_ONCE):
        ids = alone.ids[at : at + AT_ONCE]
        here = ~np.isin(ids, gone)
        sizes = alone.tokens[at : at + AT_ONCE][here], alone.characters[at : at + AT_ONCE][here]
        yield from _piece(connection, number, ids, here, sizes, rows, frequent)


def _piece(
    connection: sqlite3.Connection,
    number: int,
    ids: Ids,
    here: np.ndarray,
    sizes: tuple[Sizes, Sizes],
    rows: _Having,
    frequent: set[tuple[int, str]],
) -> Iterator[str]:
    """What is wrong about the passages `ids` (n,) of a segment, of which those `here` (n,) are not removed."""
    sql = f"SELECT {word_columns(connection)} FROM passages WHERE id BETWEEN ? AND ? ORDER BY id"
    with Tokens(connection.execute(sql, (int(ids[0]), int(ids[-1])))) as tokens:
        if not np.array_equal(tokens.ids, ids[here]):
            yield f"segment {number} of the postings has other passages than the store."
            return
        right = {(kind, term): (having, counts) for kind, term, having, counts in tokens.of(frequent)}
        if not all(map(np.array_equal, tokens.sizes(), sizes)):
            yield f"segment {number} of the postings has wrong lengths of passages."
    none = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for kind, term in sorted(frequent):
        having, counts = rows.get((kind, term), none)
        some = slice(*np.searchsorted(having, [ids[0], ids[-1] + 1]))
        stay = np.isin(having[some], ids[here])
        if not all(map(np.array_equal, (having[some][stay], counts[some][stay]), right.get((kind, term), none))):
            yield f"the postings of {term!r} in segment {number} do not agree with the passages."


def _rows(
    connection: sqlite3.Connection, number: int, alone: Sealed
) -> Iterator[tuple[tuple[int, str], tuple[Ids, Sizes]]]:
    """(kind, term) and what the rows of a segment have of it."""
    sql = "SELECT kind, term, segment, places, counts, crc FROM postings WHERE segment = ?"
    for kind, term, *row in connection.execute(sql, (number,)):
        places, counts = decoded([(row[0], row[1], row[2], row[3])], kind, term, alone)
        yield (kind, term), (alone.ids[places], counts)
