"""Facets of the documents of a store: the keys of their metadata, their kind of file, their date."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING

from semsearch.stores.sql import facet_counts
from semsearch.stores.sql.facet_counts import KeyCount

if TYPE_CHECKING:
    from semsearch.types import Facet

_ISO = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*"
_KEYS = f"""
    SELECT m.key, m.type, count(*), count(DISTINCT m.value), min(m.value), max(m.value), sum(m.value GLOB '{_ISO}')
    FROM documents d, json_each(d.metadata) m WHERE d.metadata <> '{{}}' AND m.type <> 'null' GROUP BY m.key, m.type"""
_TEXTS = """
    SELECT m.key, m.value, count(*) FROM documents d, json_each(d.metadata) m
    WHERE m.type = 'text' AND m.key IN (SELECT value FROM json_each(?)) GROUP BY m.key, m.value"""
_LISTED = """
    SELECT m.key, e.value, count(*) FROM documents d, json_each(d.metadata) m, json_each(m.value) e
    WHERE m.type = 'array' AND e.type = 'text' AND m.key IN (SELECT value FROM json_each(?)) GROUP BY m.key, e.value"""
_LOADERS = "SELECT loader, count(*) FROM documents WHERE loader IS NOT NULL GROUP BY loader"
_DATES = f"""
    SELECT min(day), max(day) FROM (SELECT CASE WHEN json_extract(metadata, '$.date') GLOB '{_ISO}'
        THEN substr(json_extract(metadata, '$.date'), 1, 10)
        ELSE date(mtime / 1000000000, 'unixepoch', 'localtime') END AS day FROM documents)"""


def facets(connection: sqlite3.Connection) -> list[Facet]:
    """See `facet_counts.facets`. Call it inside a snapshot."""

    def values_of(kind: str, keys: list[str]) -> Iterable[tuple[str, str, int]]:
        return connection.execute(_TEXTS if kind == "words" else _LISTED, (json.dumps(keys),))

    counts = (KeyCount(*row) for row in connection.execute(_KEYS).fetchall())
    loaders = connection.execute(_LOADERS).fetchall()
    return facet_counts.facets(counts, values_of, loaders, connection.execute(_DATES).fetchone())
