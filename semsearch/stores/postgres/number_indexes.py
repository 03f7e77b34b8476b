"""Indexes of the numbers in metadata, for filters such as `year > 2000`: one for each key that many documents have."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from semsearch.stores.postgres.server.connection import Connection

INDEXED_FROM = 20_000  # documents: below, reading the fields of all takes 20 ms
MOST_INDEXES = 16
LEAST_SHARE = 0.05  # of the sampled documents that have a number under a key
_PLAIN = re.compile(r"[\w .-]{1,60}")  # what a key may be to stand in a statement as it is
_KEYS = """
    SELECT m.key FROM (SELECT fields FROM documents TABLESAMPLE SYSTEM (?) LIMIT 2000) d, jsonb_each(d.fields) m
    WHERE jsonb_typeof(m.value) = 'number' GROUP BY 1
    HAVING count(*) > ? * (SELECT least(2000, value) FROM counters WHERE name = 'documents')
    ORDER BY count(*) DESC, 1"""


def number(names: Sequence[str]) -> str | None:
    """The number under a key of `d.fields`, as an index has it; None for one that has none."""
    key = names[0]
    if len(names) > 1 or not _PLAIN.fullmatch(key):
        return None
    return f"CASE WHEN jsonb_typeof(d.fields -> '{key}') = 'number' THEN (d.fields ->> '{key}')::numeric END"


def keep_up(connection: Connection) -> None:
    """Build the indexes that are missing, beside everything else; outside a transaction."""
    documents = connection.count("documents")
    if documents < INDEXED_FROM or connection.is_writing:
        return
    share = min(100.0, 100 * 10_000 / documents)
    keys = [key for (key,) in connection.rows(_KEYS, (share, LEAST_SHARE))][:MOST_INDEXES]
    with connection.alone("number indexes") as run:
        for key in keys:
            if run is not None and (expression := number([key])):
                name = f"documents_number_{hashlib.sha256(key.encode()).hexdigest()[:16]}"
                run(f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON documents (({expression.replace('d.', '')}))")
        if run is not None and keys:
            run("ANALYZE documents")
