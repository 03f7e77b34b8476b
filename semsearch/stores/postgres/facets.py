"""Facets of the documents of a collection: the keys of their metadata, their kind of file, their date."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.sql import facet_counts
from semsearch.stores.sql.facet_counts import KeyCount
from semsearch.types import Facet

_ISO = "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TEXT = "(m.value #>> '{}') COLLATE \"C\""
_NUMBER = "CASE WHEN jsonb_typeof(m.value) = 'number' THEN (m.value #>> '{}')::numeric END"
_TYPE = """CASE jsonb_typeof(m.value) WHEN 'string' THEN 'text' WHEN 'boolean' THEN m.value::text
    WHEN 'number' THEN CASE WHEN m.value::text ~ '[.]' THEN 'real' ELSE 'integer' END
    ELSE jsonb_typeof(m.value) END"""
_KEYS = f"""
    SELECT m.key, {_TYPE} AS type, count(*), count(DISTINCT m.value), min({_NUMBER}), max({_NUMBER}),
        min({_TEXT}), max({_TEXT}), count(*) FILTER (WHERE {_TEXT} ~ '{_ISO}')
    FROM documents d, jsonb_each(d.fields) m WHERE jsonb_typeof(m.value) <> 'null' GROUP BY 1, 2 ORDER BY 1, 2"""
_TEXTS = """
    SELECT m.key, m.value #>> '{}', count(*) FROM documents d, jsonb_each(d.fields) m
    WHERE jsonb_typeof(m.value) = 'string' AND m.key = ANY(?::text[]) GROUP BY 1, 2"""
_LISTED = """
    SELECT m.key, e.value #>> '{}', count(*) FROM documents d, jsonb_each(d.fields) m,
        jsonb_array_elements(CASE WHEN jsonb_typeof(m.value) = 'array' THEN m.value ELSE '[]' END) e
    WHERE jsonb_typeof(e.value) = 'string' AND m.key = ANY(?::text[]) GROUP BY 1, 2"""
_LOADERS = "SELECT s.loader, count(*) FROM documents d JOIN sources s ON s.id = d.source GROUP BY 1"
_OWN = f"coalesce(d.fields ->> 'date' ~ '{_ISO}', FALSE)"
_DATES = f"""
    SELECT min(left(d.fields ->> 'date', 10) COLLATE "C") FILTER (WHERE {_OWN}),
        max(left(d.fields ->> 'date', 10) COLLATE "C") FILTER (WHERE {_OWN}),
        min(s.mtime_ns) FILTER (WHERE NOT {_OWN}), max(s.mtime_ns) FILTER (WHERE NOT {_OWN})
    FROM documents d LEFT JOIN sources s ON s.id = d.source"""


def facets(connection: Connection) -> list[Facet]:
    """See `facet_counts.facets`. Call it inside a snapshot."""

    def values_of(kind: str, keys: list[str]) -> Iterable[tuple[str, str, int]]:
        return connection.rows(_TEXTS if kind == "words" else _LISTED, (keys,))

    counts = [_key_count(*row) for row in connection.rows(_KEYS)]
    first, last, oldest, newest = connection.rows(_DATES)[0]
    days = [day for day in (first, last, _day(oldest), _day(newest)) if day is not None]
    return facet_counts.facets(
        counts, values_of, connection.rows(_LOADERS), (min(days, default=None), max(days, default=None))
    )


def _key_count(
    key: str, kind: str, documents: int, distinct: int, least: Decimal | None, most: Decimal | None, *rest: object
) -> KeyCount:
    low, high, dates = rest
    numbers = least is not None and most is not None
    ends = (_number(least), _number(most)) if numbers else (low, high)
    return KeyCount(key, kind, documents, distinct, *ends, int(str(dates)))


def _number(value: Decimal | None) -> int | float:
    assert value is not None
    return int(value) if value == value.to_integral_value() and "." not in str(value) else float(value)


def _day(nanoseconds: int | None) -> str | None:
    """The day of a file's time on this computer's clock."""
    return None if nanoseconds is None else datetime.fromtimestamp(nanoseconds / 1e9).date().isoformat()
