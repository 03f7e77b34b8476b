"""Filters from facets: the facets of several indexes merged, and a choice in them as a `--where` condition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from semsearch.types import Facet

MOST_KEYS = 16
Choice = Any  # what the widget of a facet returns: numbers, dates, words, a text, yes or no


def merged(found: Sequence[Sequence[Facet]]) -> list[Facet]:
    """The facets of several indexes as one list; a key that is of two kinds in them is left out.

    >>> [(each.low, each.high) for each in merged([[Facet("year", "number", 2, low=1, high=3)],
    ...                                            [Facet("year", "number", 2, low=2, high=9)]])]
    [(1, 9)]
    """
    together: dict[tuple[str, bool], Facet | None] = {}
    for each in (facet for facets in found for facet in facets):
        key = (each.key, each.builtin)
        known = together.get(key, each)
        together[key] = known if known is each or known is None else _both(known, each)
    return sorted(filter(None, together.values()), key=lambda each: not each.builtin)[:MOST_KEYS]


def _both(one: Facet, other: Facet) -> Facet | None:
    if one.kind != other.kind:
        return None
    counts = dict(one.values)
    for value, count in other.values:
        counts[value] = counts.get(value, 0) + count
    bounds = {} if one.low is None else {"low": min(one.low, other.low), "high": max(one.high, other.high)}
    values = tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0])))
    documents, whole = one.documents + other.documents, one.whole and other.whole
    return replace(one, documents=documents, whole=whole, values=values, **bounds)


def condition(facet: Facet, chosen: Choice) -> str:
    """The filter, in the language of `--where`, that matches what was chosen; "" where that is everything.

    >>> condition(Facet("lang", "words", 2), ["en", "it's"])
    '"lang" in (\\'en\\', \\'it\\'\\'s\\')'
    """
    name = facet.key if facet.builtin else '"{}"'.format(facet.key.replace('"', '""'))
    if not chosen:
        return ""
    match facet.kind:
        case "number":
            return "" if tuple(chosen) == (facet.low, facet.high) else f"{name} between {chosen[0]} and {chosen[1]}"
        case "date":
            return _days(name, facet, chosen)
        case "flag":
            return f"{name} = {'true' if chosen == 'yes' else 'false'}"
        case "list":
            terms = [f"{name} contains {quoted(one)}" for one in chosen]
            return terms[0] if len(terms) == 1 else f"({' or '.join(terms)})"
        case "text":
            return f"{name} contains {quoted(chosen.strip())}" if chosen.strip() else ""
        case _:
            return f"{name} in ({', '.join(map(quoted, chosen))})"


def _days(name: str, facet: Facet, chosen: Sequence[date]) -> str:
    """From a first day to a last; while a person still chooses there is only the first."""
    days = [day.isoformat() for day in chosen]
    if len(days) < 2 or days == [facet.low, facet.high]:
        return ""
    return f"{name} between {days[0]} and {days[1]}"


def quoted(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))


def joined(conditions: Iterable[str | None]) -> str | None:
    """All of them combined with "and"; None for no condition."""
    terms = [each for each in conditions if each]
    return " and ".join(f"({each})" for each in terms) if len(terms) > 1 else (terms[0] if terms else None)
