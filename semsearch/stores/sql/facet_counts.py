"""Facets out of counts of the metadata, the same for every store.

A local store counts keys, types and values by itself; those of others are counted here (`counted`).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from itertools import chain
from typing import Any, Literal, NamedTuple

from semsearch.types import Facet

MOST_VALUES = 40  # listed for one key; a key with more of them is filtered by a part of its text
MOST_KEYS = 24

Kind = Literal["number", "date", "words", "list", "flag", "text"]
_ISO = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TYPES = {int: "integer", float: "real", str: "text", list: "array", dict: "object"}


class KeyCount(NamedTuple):
    """The values of one type under a key of the metadata.

    `type` is integer, real, true, false, text, array or object; null is left out. `dates`: how many texts begin with a
    date.
    """

    key: str
    type: str
    documents: int
    distinct: int
    low: object
    high: object
    dates: int | None


def facets(
    counts: Iterable[KeyCount],
    values_of: Callable[[Literal["words", "list"], list[str]], Iterable[tuple[str, str, int]]],
    loaders: Sequence[tuple[str, int]],
    days: tuple[str | None, str | None],
) -> list[Facet]:
    """File type and date, then the 24 metadata keys of the most documents.

    Keys with one value for all documents, and keys with values of several types, are left out. `values_of` gives (key,
    value, documents) for keys whose values are texts, or lists of them. `loaders`: kinds of files with their numbers;
    `days`: the first and the last one, as in 2024-01-31.
    """
    rows: dict[str, list[KeyCount]] = {}
    for row in counts:
        rows.setdefault(row.key, []).append(row)
    kinds = {key: kind for key, of_key in rows.items() if (kind := _kind(of_key))}
    values: dict[str, list[tuple[str, int]]] = {}
    counted: tuple[Literal["words", "list"], ...] = ("words", "list")
    for each in counted:
        for key, value, count in values_of(each, [key for key, kind in kinds.items() if kind == each]):
            values.setdefault(key, []).append((value, count))
    for listed in values.values():
        listed.sort(key=lambda one: (-one[1], one[0]))
    made = [_facet(key, kind, rows[key], values.get(key, ())) for key, kind in kinds.items()]
    best = sorted((each for each in made if each), key=lambda each: (-each.documents, each.key))
    return [*_builtin(loaders, days), *best[:MOST_KEYS]]


def counted(documents: Iterable[tuple[str, str | None, int | None]]) -> list[Facet]:
    """The same of documents, each its metadata as JSON, its loader, and the time of its file in nanoseconds."""
    values: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    loaders: Counter[str] = Counter()
    days: list[str] = []
    for packed, loader, mtime in documents:
        metadata = json.loads(packed)
        for key, value in metadata.items():
            if value is not None:
                kind = str(value).lower() if isinstance(value, bool) else _TYPES[type(value)]
                values[key, kind].append(value)
        loaders.update([loader] if loader else [])
        own = metadata.get("date")
        if isinstance(own, str) and _ISO.match(own):
            days.append(own[:10])
        elif mtime is not None:
            days.append(datetime.fromtimestamp(mtime / 1e9).date().isoformat())

    def values_of(kind: str, keys: list[str]) -> Iterable[tuple[str, str, int]]:
        for key in keys:
            listed = values[key, "text"] if kind == "words" else chain.from_iterable(values[key, "array"])
            counts = Counter(value for value in listed if isinstance(value, str))
            yield from ((key, value, count) for value, count in counts.items())

    counts = [_key_count(key, kind, of_key) for (key, kind), of_key in sorted(values.items())]
    return facets(counts, values_of, list(loaders.items()), (min(days, default=None), max(days, default=None)))


def _key_count(key: str, kind: str, values: list[Any]) -> KeyCount:
    plain = values if kind in ("integer", "real", "text") else [json.dumps(value) for value in values]
    dates = sum(_ISO.match(value) is not None for value in values) if kind == "text" else 0
    return KeyCount(key, kind, len(values), len(set(plain)), min(plain), max(plain), dates)


def _kind(rows: Sequence[KeyCount]) -> Kind | None:
    types = {row.type for row in rows}
    if types <= {"integer", "real"}:
        return "number"
    if types <= {"true", "false"}:
        return "flag"
    if types == {"array"}:
        return "list"
    if types != {"text"}:
        return None
    (row,) = rows
    if row.key == "date" and row.dates:
        return None  # it is part of the built-in of this name
    return "date" if row.dates == row.documents else "words" if row.distinct <= MOST_VALUES else "text"


def _facet(key: str, kind: Kind, rows: Sequence[KeyCount], values: Sequence[tuple[str, int]]) -> Facet | None:
    documents = sum(row.documents for row in rows)
    if kind == "date":
        return _dated(key, documents, str(rows[0].low), str(rows[0].high))
    if kind == "number":
        low, high = min(map(_number, (row.low for row in rows))), max(map(_number, (row.high for row in rows)))
        whole = all(row.type == "integer" for row in rows)
        return Facet(key, kind, documents, low=low, high=high, whole=whole) if low < high else None
    if kind == "flag":
        return Facet(key, kind, documents) if len(rows) == 2 else None
    if kind == "text":
        return Facet(key, kind, documents)
    if kind == "list" and len(values) > MOST_VALUES:
        return Facet(key, "text", documents)
    return Facet(key, kind, documents, values=tuple(values)) if len(values) > 1 else None


def _number(value: object) -> int | float:
    assert isinstance(value, int | float)
    return value


def _dated(key: str, documents: int, low: str, high: str, *, builtin: bool = False) -> Facet | None:
    """A facet of dates; None where one does not exist, like 2024-02-31."""
    try:
        first, last = date.fromisoformat(low[:10]), date.fromisoformat(high[:10])
    except ValueError:
        return None
    return Facet(key, "date", documents, builtin, first.isoformat(), last.isoformat()) if first < last else None


def _builtin(loaders: Sequence[tuple[str, int]], days: tuple[str | None, str | None]) -> list[Facet]:
    ordered = sorted(loaders, key=lambda row: (-row[1], row[0]))
    documents = sum(count for _, count in ordered)
    kinds = [Facet("loader", "words", documents, True, values=tuple(ordered))] if len(ordered) > 1 else []
    low, high = days
    dates = _dated("date", documents, low, high, builtin=True) if low and high else None
    return [*kinds, *([dates] if dates else [])]
