"""The filters under *Advanced*: a widget for each facet of the chosen indexes, and its `--where` condition."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from functools import reduce
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st

from semsearch import Index
from semsearch.types import Facet

from ..shared import messages, pool, widgets
from ..shared.messages import plain
from ..shared.widgets import URL

MOST_KEYS, MOST_FOLDERS = 16, 40
FOLDER = "folder"  # the first one of the path of a document
REUSED = 20  # facets of a changed index are reused for so many times the seconds that computing them took
BUILTIN = {"loader": ("Kind of file", ""), "date": ("Date", messages.DATE), FOLDER: ("Folder", "")}  # label and help
EMPTY = {"flag": None, "text": ""}  # the value of a widget without a choice, by kind; [] for the others
Choice = Any  # the value of a widget: numbers, dates, words, a text, yes or no


def controls(names: Sequence[str], written: str | None) -> str | None:
    """The condition written in the box and the choices below it, as one filter."""
    conditions = [written]
    with messages.errors():
        facets = of(names)
        named, texts = ([each for each in facets if (each.kind == "text") is text] for text in (False, True))
        if facets:
            st.caption("Document metadata")
        conditions += [condition(each, _chosen(each)) for each in named]
        if texts:
            with st.expander("Text fields"):
                conditions += [condition(each, _chosen(each)) for each in texts]
    return joined(conditions)


def clear(names: Sequence[str]) -> None:
    """Reset all of them: the body of a click."""
    for each in of(names):
        if key(each) in st.session_state:
            st.session_state[key(each)] = nothing_chosen(each)


def nothing_chosen(facet: Facet) -> Choice:
    """The value of its widget with which every document passes."""
    return bounds(facet) if facet.kind in ("number", "date") else EMPTY.get(facet.kind, [])


def label(facet: Facet) -> str:
    """Its name for a person."""
    return BUILTIN.get(facet.key, (facet.key, ""))[0] if facet.builtin else facet.key


def key(facet: Facet) -> str:
    """The key of its widget, also in the URL."""
    return f"{'b' if facet.builtin else 'f'}.{facet.key}"


def bounds(facet: Facet) -> tuple[Any, Any]:
    """The least and the greatest value, of the type that its widget has."""
    if facet.kind == "date":
        return date.fromisoformat(facet.low), date.fromisoformat(facet.high)
    number = int if facet.whole else float
    return number(facet.low), number(facet.high)


def _chosen(facet: Facet) -> Choice:
    """The widget of a facet, and the choice there."""
    hint = BUILTIN.get(facet.key, ("", ""))[1] if facet.builtin else ""
    common: dict[str, Any] = {"label": plain(label(facet)), "key": key(facet), "bind": URL, "help": hint or None}
    match facet.kind:
        case "number":
            low, high = bounds(facet)
            return st.slider(min_value=low, max_value=high, value=(low, high), **common)
        case "date":
            low, high = bounds(facet)
            return st.date_input(min_value=low, max_value=high, value=(low, high), format="YYYY-MM-DD", **common)
        case "flag":
            return st.segmented_control(options=("yes", "no"), **common)
        case "text":
            return st.text_input(placeholder="contains …", **common)
        case _:
            return widgets.several(options=[value for value, _ in facet.values], placeholder="any", **common)


@st.cache_resource(show_spinner=False)
def _cache() -> WeakKeyDictionary[Index, tuple[int, float, list[Facet]]]:
    """For each open index a version, the time until which its facets are reused after a change, and the facets."""
    return WeakKeyDictionary()


def _facets(index: Index) -> list[Facet]:
    """The facets. While another process writes they may lag a little behind, so that the page does not."""
    cache, version, now = _cache(), index.version, time.monotonic()
    cached, until, facets = cache.get(index, (-1, 0.0, []))
    if cached != version and now >= until:
        facets = [*index.analysis.facets(), *_folders(index.matching())]
        cache[index] = version, time.monotonic() + REUSED * (time.monotonic() - now), facets
    return facets


def _folders(documents: Sequence[str]) -> list[Facet]:
    """The folders of the documents as a facet, where there are several, but not too many."""
    counted = Counter(folder for each in documents if (folder := folder_of(each)))
    values = tuple(sorted(counted.items(), key=lambda each: (-each[1], each[0])))
    return [Facet(FOLDER, "words", counted.total(), True, values=values)] if 1 < len(values) <= MOST_FOLDERS else []


def folder_of(document: str) -> str:
    """
    >>> folder_of("engines/old/a.txt"), folder_of("a.txt")
    ('engines', '')
    """
    return document.rpartition("/")[0].partition("/")[0]


def of(names: Sequence[str]) -> list[Facet]:
    """The facets of these indexes together."""
    return merged([_facets(pool.index(name)) for name in names])


def merged(by_index: Sequence[Sequence[Facet]]) -> list[Facet]:
    """The facets of several indexes as one list; a key that is of two kinds in them is left out.

    >>> [(each.low, each.high) for each in merged([[Facet("year", "number", 2, low=1, high=3)],
    ...                                            [Facet("year", "number", 2, low=2, high=9)]])]
    [(1, 9)]
    """
    together: dict[tuple[str, bool], list[Facet]] = {}
    for each in chain.from_iterable(by_index):
        together.setdefault((each.key, each.builtin), []).append(each)
    alike = (reduce(_both, facets) for facets in together.values() if len({each.kind for each in facets}) == 1)
    return sorted(alike, key=lambda each: not each.builtin)[:MOST_KEYS]


def _both(one: Facet, other: Facet) -> Facet:
    counts = Counter(dict(one.values)) + Counter(dict(other.values))
    bounds = {} if one.low is None else {"low": min(one.low, other.low), "high": max(one.high, other.high)}
    values = tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0])))
    documents, whole = one.documents + other.documents, one.whole and other.whole
    return replace(one, documents=documents, whole=whole, values=values, **bounds)


def condition(facet: Facet, chosen: Choice) -> str:
    """The filter, in the language of `--where`, that matches the choice; "" where that is everything.

    >>> condition(Facet("lang", "words", 2), ["en", "it's"])
    '"lang" in (\\'en\\', \\'it\\'\\'s\\')'
    """
    name = _field(facet)
    if not chosen:
        return ""
    match facet.kind:
        case "number":
            return "" if tuple(chosen) == (facet.low, facet.high) else between(facet, *chosen)
        case "date":
            days = [day.isoformat() for day in chosen]
            incomplete = len(days) < 2  # while a person still chooses there is only the first day
            return "" if incomplete or days == [facet.low, facet.high] else between(facet, *chosen)
        case "flag":
            return f"{name} = {'true' if chosen == 'yes' else 'false'}"
        case "list":
            terms = [f"{name} contains {quoted(one)}" for one in chosen]
            return terms[0] if len(terms) == 1 else f"({' or '.join(terms)})"
        case "text":
            return f"{name} contains {quoted(chosen.strip())}" if chosen.strip() else ""
        case _ if facet.builtin and facet.key == FOLDER:
            terms = [f"document like {quoted(f'{each}/%')}" for each in chosen]
            return f"({' or '.join(terms)})"
        case _:
            return f"{name} in ({', '.join(map(quoted, chosen))})"


def between(facet: Facet, low: Any, high: Any) -> str:
    """The filter that a number, or a day, from `low` to `high` matches."""
    return f"{_field(facet)} between {low} and {high}"  # a date is written as an ISO day


def _field(facet: Facet) -> str:
    return facet.key if facet.builtin else '"{}"'.format(facet.key.replace('"', '""'))


def quoted(text: str) -> str:
    """A text as a literal of `--where`."""
    return "'{}'".format(text.replace("'", "''"))


def joined(conditions: Iterable[str | None]) -> str | None:
    """All of them combined with "and"; None for no condition."""
    terms = [each for each in conditions if each]
    return " and ".join(f"({each})" for each in terms) if len(terms) > 1 else (terms[0] if terms else None)
