"""What narrows a search: its conditions as chips to remove, and the facets of the indexes to choose from.

The widgets under *Advanced* hold the choices, and the URL what they hold; a click here changes what stands there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from semsearch import SemsearchError
from semsearch.types import Facet, JsonObject
from semsearch.utils.untrusted import visible

from ..shared import pool
from ..shared.messages import one_line
from . import facet_counts, filters
from .results import IndexHit

MOST_VALUES, FEW, LONGEST, WORDS = 12, 6, 60, 36  # of a facet; letters of a label, and of a passage in it
PASSAGE = re.compile(r"#(?:(.+)/)?([0-9]{1,18})")
TEXTS = {"where": "filter", "path": "path", "grep": "must match"}
LISTS = {"more": "more like", "less": "less like"}
ONE = "\x1f"  # between the key of a widget and one of its values, in the name of a chip


def data(names: Sequence[str], hits: Sequence[IndexHit] = ()) -> JsonObject:
    """The facets: each value with its documents among these hits, and among all that pass the other filters."""
    every = filters.of(names)
    shown = [each for each in every if each.kind != "text" and not _names_each(each)]
    narrowed = {each: facet_counts.others(each, every) for each in shown}
    facets = [_facet(each, names, hits, others) for each, others in narrowed.items()]
    return {"facets": facets, "filtered": any(each != facet_counts.NONE for each in narrowed.values())}


def _names_each(facet: Facet) -> bool:
    """Whether its values name single documents, so that a choice of one narrows nothing; unless one is chosen."""
    counts = dict(facet.values).values()
    return len(counts) > FEW and max(counts) == 1 and not _chosen(facet)


def chips(names: Sequence[str]) -> list[JsonObject]:
    """Every condition of the search."""
    every = filters.of(names)
    return [{"name": name, "label": visible(one_line(label, LONGEST))} for name, label in _chips(every, names)]


def drop(name: str, names: Sequence[str]) -> None:
    """Remove a condition by the name of its chip; all of them with ""."""
    present = [chip for chip, _ in _chips(filters.of(names), names)]
    for each in present if not name else [name] if name in present else []:
        key, one, value = each.partition(ONE)
        st.session_state[key] = _without(key, value) if one else _nothing(key, names)


def choose(key: str, value: str, names: Sequence[str]) -> None:
    """Choose a value of a facet, or no longer."""
    facet = _facet_called(key, names)
    if facet is None or value not in _values(facet):
        return
    before = _chosen(facet)
    if facet.kind == "flag":
        st.session_state[key] = None if before == value else value
    else:
        st.session_state[key] = [one for one in before if one != value] + [value] * (value not in before)


def narrow(key: str, first: object, last: object, names: Sequence[str]) -> None:
    """Narrow a number or a date to the range from one bar of its histogram to another."""
    facet = _facet_called(key, names)
    if facet is None or facet.kind not in ("number", "date"):
        return
    parts = facet_counts.parts(facet)
    if isinstance(first, int) and isinstance(last, int) and 0 <= first <= last < len(parts):
        st.session_state[key] = (parts[first][0], parts[last][1])


def _facet(facet: Facet, names: Sequence[str], hits: Sequence[IndexHit], others: facet_counts.Others) -> JsonObject:
    head: JsonObject = {"key": filters.key(facet), "label": visible(one_line(filters.label(facet), LONGEST))}
    chosen = _chosen(facet)
    if facet.kind in ("number", "date"):
        complete = chosen if len(chosen) == 2 else filters.bounds(facet)
        return head | {"bars": facet_counts.bars(facet, names, complete, others)}
    listed_values, here = dict(facet.values), facet_counts.among(facet, hits)
    counts = facet_counts.under(facet, names, others)
    first = [*_values(facet)[:MOST_VALUES], *(one for one in here if one in listed_values)]
    listed = list(dict.fromkeys([*first, *(chosen or ())])) if facet.kind != "flag" else _values(facet)
    listed = [one for one in listed if counts is None or counts.get(one) or one in (chosen or ())]
    values = [
        {
            "value": one,
            "label": visible(one_line(one, LONGEST)),
            "count": None if counts is None else counts.get(one, 0),
            "here": here[one] if hits else None,
            "on": one in (chosen or ()),
        }
        for one in listed
    ]
    return head | {"values": values, "more": max(0, len(facet.values) - MOST_VALUES)}


def _values(facet: Facet) -> list[str]:
    return ["yes", "no"] if facet.kind == "flag" else [value for value, _ in facet.values]


def _facet_called(key: str, names: Sequence[str]) -> Facet | None:
    return next((each for each in filters.of(names) if filters.key(each) == key), None)


def _chosen(facet: Facet) -> Any:
    return st.session_state.get(filters.key(facet), filters.nothing_chosen(facet))


def _chips(facets: Sequence[Facet], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name and label of every condition of the search."""
    state = st.session_state
    for key, what in TEXTS.items():
        if value := str(state.get(key) or "").strip():
            yield key, f"{what}: {value}"
    for word in str(state.get("must") or "").split():
        yield f"must{ONE}{word}", f"must contain: {word}"
    if state.get("min"):
        yield "min", f"strength from {state['min']:.2f}"
    for key, what in LISTS.items():
        for value in state.get(key) or ():
            yield f"{key}{ONE}{value}", f"{what}: {_first_words(value, names)}"
    for facet in facets:
        yield from _of_facet(facet)


def _first_words(chip: str, names: Sequence[str]) -> str:
    """A chip for a person: of a passage, which it names by its number, the first words."""
    text, _, weight = chip.partition("^")
    with suppress(SemsearchError):
        said = " ".join(passage(text.strip(), names).split())
        return f"“{one_line(said, WORDS)}”{f' ^{weight}' if weight else ''}" if said else chip
    return chip


def passage(chip: str, names: Sequence[str]) -> str:
    """The text of the passage that a chip names, in the index that stands there, or in the first that has the number.

    "" for a chip that is a text itself. Raises SemsearchError for a passage that is nowhere.
    """
    named = PASSAGE.fullmatch(chip)
    if named is None:
        return ""
    places = [named[1]] if named[1] else names
    for name in places:
        with suppress(SemsearchError):
            return str(pool.index(name).get(int(named[2]))["text"])
    raise SemsearchError(f"There is no passage #{named[2]} in {', '.join(places)}.", "Remove that chip.")


def _of_facet(facet: Facet) -> Iterator[tuple[str, str]]:
    key, chosen = filters.key(facet), _chosen(facet)
    if not filters.condition(facet, chosen):
        return
    name = filters.label(facet)
    if facet.kind in ("number", "date"):
        yield key, f"{name}: {chosen[0]} – {chosen[1]}"
    elif facet.kind in ("flag", "text"):
        yield key, f"{name}: {chosen}"
    else:
        for value in chosen:
            yield f"{key}{ONE}{value}", f"{name}: {value}"


def _without(key: str, value: str) -> Any:
    before = st.session_state.get(key)
    if key == "must":
        return " ".join(word for word in str(before or "").split() if word != value)
    return [one for one in before or () if one != value]


def _nothing(key: str, names: Sequence[str]) -> Any:
    others: dict[str, Callable[[], Any]] = {**dict.fromkeys(TEXTS, str), "min": float}
    facet = _facet_called(key, names)
    return others[key]() if key in others else filters.nothing_chosen(facet) if facet else None
