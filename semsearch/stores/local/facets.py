"""Facets of the documents of a store: the keys of their metadata, their kind of file, their date."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import date
from typing import Any, Literal

from semsearch.types import Facet

MOST_VALUES = 40  # listed for one key; a key with more of them is filtered by a part of its text
MOST_KEYS = 24
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

Kind = Literal["number", "date", "words", "list", "flag", "text"]


def facets(connection: sqlite3.Connection) -> list[Facet]:
    """File type and date, then the 24 metadata keys of the most documents. Call it inside a snapshot.

    Keys with one value for all documents, and keys with values of several types, are left out.
    """
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for row in connection.execute(_KEYS):
        rows.setdefault(row[0], []).append(row)
    kinds = {key: kind for key, found in rows.items() if (kind := _kind(found))}
    values: dict[str, list[tuple[str, int]]] = {}
    for wanted, sql in (("words", _TEXTS), ("list", _LISTED)):
        keys = json.dumps([key for key, kind in kinds.items() if kind == wanted])
        for key, value, count in connection.execute(sql, (keys,)):
            values.setdefault(key, []).append((value, count))
    for found in values.values():
        found.sort(key=lambda one: (-one[1], one[0]))
    made = [_facet(key, kind, rows[key], values.get(key, ())) for key, kind in kinds.items()]
    best = sorted((each for each in made if each), key=lambda each: (-each.documents, each.key))
    return [*_builtin(connection), *best[:MOST_KEYS]]


def _kind(rows: Sequence[tuple[Any, ...]]) -> Kind | None:
    types = {row[1] for row in rows}
    if types <= {"integer", "real"}:
        return "number"
    if types <= {"true", "false"}:
        return "flag"
    if types == {"array"}:
        return "list"
    if types != {"text"}:
        return None
    _, _, count, distinct, _, _, dates = rows[0]
    if rows[0][0] == "date" and dates:
        return None  # it is part of the built-in of this name
    return "date" if dates == count else "words" if distinct <= MOST_VALUES else "text"


def _facet(key: str, kind: Kind, rows: Sequence[tuple[Any, ...]], values: Sequence[tuple[str, int]]) -> Facet | None:
    documents = sum(row[2] for row in rows)
    low, high = min(row[4] for row in rows), max(row[5] for row in rows)
    if kind == "date":
        return _dated(key, documents, low, high)
    if kind == "number":
        whole = all(row[1] == "integer" for row in rows)
        return Facet(key, kind, documents, low=low, high=high, whole=whole) if low < high else None
    if kind == "flag":
        return Facet(key, kind, documents) if len(rows) == 2 else None
    if kind == "text":
        return Facet(key, kind, documents)
    if kind == "list" and len(values) > MOST_VALUES:
        return Facet(key, "text", documents)
    return Facet(key, kind, documents, values=tuple(values)) if len(values) > 1 else None


def _dated(key: str, documents: int, low: str, high: str, *, builtin: bool = False) -> Facet | None:
    """A facet of dates; None where one does not exist, like 2024-02-31."""
    try:
        first, last = date.fromisoformat(low[:10]), date.fromisoformat(high[:10])
    except ValueError:
        return None
    return Facet(key, "date", documents, builtin, first.isoformat(), last.isoformat()) if first < last else None


def _builtin(connection: sqlite3.Connection) -> list[Facet]:
    loaders = sorted(connection.execute(_LOADERS).fetchall(), key=lambda row: (-row[1], row[0]))
    low, high = connection.execute(_DATES).fetchone()
    documents = sum(count for _, count in loaders)
    kinds = [Facet("loader", "words", documents, True, values=tuple(loaders))] if len(loaders) > 1 else []
    dates = _dated("date", documents, low, high, builtin=True) if low else None
    return [*kinds, *([dates] if dates else [])]
