"""Search by words with FTS5 alone, or with postings beside it, as a local reader does either."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from semsearch.stores.local.full_text.matching import Fts5Matching, as_indexed
from semsearch.stores.local.full_text.postings import Postings
from semsearch.stores.protocol import Lexical
from semsearch.stores.sql import lexical_search
from semsearch.stores.sql.query_terms import query_terms

if TYPE_CHECKING:
    from semsearch.types import Ids


def search(
    connection: sqlite3.Connection, text: str, k: int, allowed: Ids | None = None, postings: Postings | None = None
) -> Lexical:
    """The k best passages. postings: None for FTS5 alone."""
    if not (words := query_terms(as_indexed(connection, text))):
        return lexical_search.nothing()
    fast = None if postings is None else postings.matching(connection, allowed)
    if fast is not None:
        return lexical_search.search(fast, words, k)
    return lexical_search.search(Fts5Matching(connection, allowed), words, k)
