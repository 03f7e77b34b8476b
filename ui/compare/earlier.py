"""Pairs that were compared before: what every encoder made of them, until they are removed or the switch is off."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

import streamlit as st

from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import remembered, tables, widgets

MOST, LONGEST = 500, 1_000  # comparisons; letters of a sentence
FIELDS = {"first": str, "second": str, "encoder": str, "fingerprint": str, "cosine": float, "day": str}
COLUMNS = {
    name: st.column_config.NumberColumn(name, format=form) for name, form in (("cosine", "%.4f"), ("strength", "%.2f"))
}
SWITCH = "remember comparisons"  # the key of the checkbox


def add(first: str, second: str, rows: Iterable[JsonObject]) -> None:
    """Keep what encoders made of a pair. Rows have encoder, fingerprint, cosine and strength."""
    if not remembered.on() or max(len(first), len(second)) > LONGEST:
        return
    new = [{"first": first, "second": second, **row} for row in rows]

    def added(content: JsonObject) -> JsonObject:
        before = _sound(content)
        kept = {_key(each): each for each in before}
        fresh = [each for each in new if _figures(kept.get(_key(each))) != _figures(each)]
        replaced = {_key(each) for each in fresh}
        today = date.today().isoformat()
        listed = [{**each, "day": today} for each in fresh] + [each for each in before if _key(each) not in replaced]
        return {"comparisons": listed[:MOST]}

    remembered.change(remembered.COMPARISONS, added)


def of(first: str, second: str) -> list[JsonObject]:
    """The comparisons of a pair, in either order, the newest first."""
    comparisons = _sound(remembered.read(remembered.COMPARISONS))
    return [each for each in comparisons if {each["first"], each["second"]} == {first, second}]


def forget(first: str, second: str) -> None:
    """Remove the comparisons of a pair: the body of a click."""
    kept = lambda content: [each for each in _sound(content) if {each["first"], each["second"]} != {first, second}]  # noqa: E731
    remembered.change(remembered.COMPARISONS, lambda content: {"comparisons": kept(content)})


def forget_all() -> None:
    """Remove the comparisons of all pairs: the body of a click."""
    remembered.delete(remembered.COMPARISONS)


def show(first: str, second: str, fingerprints: Iterable[str]) -> None:
    """What encoders other than these made of the pair before, folded away, with the switch."""
    shown = set(fingerprints)
    others = [each for each in of(first, second) if each["fingerprint"] not in shown]
    label = "Earlier comparisons of this pair" + (f": {count(len(others), 'other encoder')}" if others else "")
    with st.expander(label):
        if others:
            tables.show(
                [{name: each.get(name) for name in ("encoder", "cosine", "strength", "day")} for each in others],
                COLUMNS,
            )
        else:
            st.caption("No other encoder has compared this pair before.")
        row = widgets.row()
        st.session_state[SWITCH] = remembered.on()
        row.checkbox(
            remembered.LABEL, key=SWITCH, on_change=_switched, help="They are in the home of indexes, for you alone."
        )
        widgets.button("Forget this pair", "delete", forget, (first, second), place=row, key="forget pair")
        widgets.button("Forget all pairs", "delete_sweep", forget_all, place=row, key="forget pairs")


def _switched() -> None:
    remembered.switch(bool(st.session_state[SWITCH]))


def _sound(content: JsonObject) -> list[JsonObject]:
    """The comparisons in the file, as far as they are whole."""
    rows = content.get("comparisons")
    kept = [each for each in (rows if isinstance(rows, list) else []) if isinstance(each, dict)]
    return [each for each in kept if all(isinstance(each.get(name), kind) for name, kind in FIELDS.items())]


def _key(each: JsonObject) -> tuple[frozenset[str], str]:
    return frozenset((each["first"], each["second"])), str(each["fingerprint"])


def _figures(each: JsonObject | None) -> object:
    return each and (each["cosine"], each.get("strength"))
