"""Null distributions of the indexes of a run: hundreds of tests make an index of the same passages, and three quarters
of the time that this takes goes into the questions that it cannot answer.
"""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import pytest

from semsearch.indexing import derived
from semsearch.stores import null_queries
from semsearch.stores.local.reader import LocalReader
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space
from semsearch.types import EncoderProtocol
from semsearch.utils.strength import NullDistribution

MOST = 2000  # passages of an index whose distribution is kept


def shared(patch: pytest.MonkeyPatch) -> None:
    """From now on, an index with the very rows of an earlier one has its null distribution, which is the same."""
    measured: dict[object, NullDistribution | None] = {}
    measure = null_queries.measure

    def looked_up(reader: StoreReader, space: Space, encoder: EncoderProtocol) -> NullDistribution | None:
        rows = rows_of(reader, space.id) if space.has_encoder else None
        if rows is None:
            return measure(reader, space, encoder)
        digest = hashlib.sha256(repr((encoder.fingerprint, type(encoder), rows)).encode()).digest()
        key = null_queries.questions, digest
        if key not in measured:
            measured[key] = measure(reader, space, encoder)
        return measured[key]

    patch.setattr(derived, "null_queries", SimpleNamespace(measure=looked_up))


def few(_: str) -> list[tuple[str, ...]]:
    """In place of `null_queries.questions` where nobody looks at a strength."""
    return [("a", "b c"), ("d", "e f")]  # one of each group


def rows_of(reader: StoreReader, space: int) -> list[object] | None:
    """The rows of passages and vectors of a small local store from which no passage was ever removed; None for others.

    What was removed may have left its words in the full-text indexes.
    """
    if not isinstance(reader, LocalReader):
        return None
    with reader.snapshot():
        database = reader.connection.raw
        passages = database.execute("SELECT * FROM passages ORDER BY id LIMIT ?", (MOST + 1,)).fetchall()
        if not 0 < len(passages) <= MOST or passages[-1][0] != len(passages):
            return None
        vectors = database.execute("SELECT passage, vector FROM vectors WHERE space = ? ORDER BY passage", (space,))
        return [*passages, *vectors.fetchall(), *database.execute("PRAGMA user_version").fetchall()]
