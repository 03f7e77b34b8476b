"""Lexical search in a local store: `keyword_search` over FTS5 alone, or with the postings of frequent words beside it,
which give the same ranking."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from semsearch.stores.local.database.schema import as_indexed
from semsearch.stores.local.full_text.matching import Fts5Matching
from semsearch.stores.sql import lexical_search
from semsearch.stores.sql.query_terms import query_terms

if TYPE_CHECKING:
    from semsearch.stores.local.full_text.postings import Postings
    from semsearch.stores.protocol import Lexical
    from semsearch.types import Ids


def search(
    connection: sqlite3.Connection, text: str, k: int, allowed: Ids | None = None, postings: Postings | None = None
) -> Lexical:
    """See `lexical_search.search`.

    Without `postings`, and where they are missing in the store, FTS5 finds the same. Raises Damaged for postings.
    """
    words = query_terms(as_indexed(connection, text))
    if k < 1 or not words or (allowed is not None and not len(allowed)):
        return lexical_search.nothing()
    if postings is not None and (fast := postings.matching(connection, allowed)) is not None:
        return lexical_search.search(fast, words, k)
    return lexical_search.search(Fts5Matching(connection, allowed), words, k)
