"""Facets of the documents of a table, counted here: the metadata of each document is read once."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from semsearch.stores.lance.table import Table
from semsearch.stores.sql import facet_counts
from semsearch.stores.sql.facet_counts import KeyCount
from semsearch.types import Facet

_ISO = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_KINDS = {int: "integer", float: "real", str: "text", list: "array", dict: "object"}


def facets(table: Table) -> list[Facet]:
    """See `facet_counts.facets`. Call it inside a snapshot."""
    values: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    loaders: Counter[str] = Counter()
    days: list[str] = []
    for row in table.rows(["metadata", "loader", "mtime"], "kind = 'document'"):
        metadata = json.loads(row["metadata"])
        for key, value in metadata.items():
            if value is not None:
                values[key, _kind(value)].append(value)
        loaders.update([row["loader"]] if row["loader"] else [])
        own = metadata.get("date")
        if isinstance(own, str) and _ISO.match(own):
            days.append(own[:10])
        elif row["mtime"] is not None:
            days.append(datetime.fromtimestamp(row["mtime"] / 1e9).date().isoformat())

    def values_of(kind: str, keys: list[str]) -> Iterable[tuple[str, str, int]]:
        for key in keys:
            counts = Counter(_texts(values[key, "text" if kind == "words" else "array"]))
            yield from ((key, value, count) for value, count in counts.items())

    counts = [_key_count(key, kind, of_key) for (key, kind), of_key in sorted(values.items())]
    ends = (min(days, default=None), max(days, default=None))
    return facet_counts.facets(counts, values_of, list(loaders.items()), ends)


def _kind(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else _KINDS[type(value)]


def _key_count(key: str, kind: str, values: list[Any]) -> KeyCount:
    plain = values if kind in ("integer", "real", "text") else [json.dumps(value) for value in values]
    dates = sum(_ISO.match(value) is not None for value in values) if kind == "text" else 0
    return KeyCount(key, kind, len(values), len(set(plain)), min(plain), max(plain), dates)


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str))
