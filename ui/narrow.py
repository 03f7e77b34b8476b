"""Filters that an index offers by itself: what its metadata hold, with the values that are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_VALUES = 40  # of one key; with more of them a text box serves better
MOST_KEYS = 12

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Facet:
    """One key of the metadata: `bounds` of numbers, or the `values` of words with their counts, most frequent first."""

    key: str
    bounds: Bounds | None = None
    whole: bool = True
    values: tuple[tuple[str, int], ...] = ()


def facets(documents: Iterable[Mapping[str, Any]]) -> list[Facet]:
    """The keys that tell documents apart: those with two values or more, the most frequent keys first.

    >>> facets([{"metadata": {"lang": "en", "year": 2001}}, {"metadata": {"lang": "de", "year": 2004}}])[1]
    Facet(key='year', bounds=(2001, 2004), whole=True, values=())
    """
    found: dict[str, list[Any]] = {}
    for document in documents:
        for key, value in document["metadata"].items():
            if isinstance(value, str | int | float):
                found.setdefault(key, []).append(value)
    made = [_facet(key, values) for key, values in sorted(found.items(), key=lambda item: -len(item[1]))]
    return [each for each in made if each][:MOST_KEYS]


def _facet(key: str, values: Sequence[Any]) -> Facet | None:
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        low, high = min(values), max(values)
        return Facet(key, (low, high), all(isinstance(value, int) for value in values)) if low < high else None
    counts: dict[str, int] = {}
    for value in values:
        if not isinstance(value, str):
            return None
        counts[value] = counts.get(value, 0) + 1
    if not 2 <= len(counts) <= MOST_VALUES:
        return None
    return Facet(key, values=tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))


def condition(facet: Facet, chosen: Any) -> str:
    """The filter, in the language of `--where`, that keeps what was chosen; nothing where that is everything.

    >>> condition(Facet("lang"), ["en", "it's"])
    '"lang" in (\\'en\\', \\'it\\'\\'s\\')'
    """
    name = '"{}"'.format(facet.key.replace('"', '""'))
    if facet.bounds:
        if not chosen or tuple(chosen) == facet.bounds:
            return ""
        return f"{name} between {chosen[0]} and {chosen[1]}"
    return f"{name} in ({', '.join(map(quoted, chosen))})" if chosen else ""


def quoted(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))


def joined(conditions: Iterable[str]) -> str | None:
    """All of them together, or nothing."""
    told = [each for each in conditions if each]
    return " and ".join(f"({each})" for each in told) if len(told) > 1 else (told[0] if told else None)
