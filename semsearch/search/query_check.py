"""Checks of a query before the search, and its texts to encode."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from semsearch.errors import UnknownName, UsageError
from semsearch.types import Group, Mode, Query, QueryFields

FIELDS = tuple(QueryFields.__annotations__)


def make_query(text: str | Query, fields: QueryFields) -> Query:
    """A query with these fields; a single text for a field of several counts as one text, not as letters.

    Raises UsageError for a field that a query does not have.
    """
    for name in set(fields).difference(FIELDS):
        raise UsageError(f"a search has no {name!r}.", f"It has: {', '.join(FIELDS)}.")
    changes: dict[str, object] = dict(fields)
    for name in ("must", "like"):
        if name in changes:
            changes[name] = _several(changes[name])
    for name in ("more", "less"):
        if name in changes:
            changes[name] = tuple((one, 1.0) if isinstance(one, str) else one for one in _several(changes[name]))
    return replace(Query(text) if isinstance(text, str) else text, **changes)  # type: ignore[arg-type]  # checked above


def _several(value: object) -> tuple[object, ...]:
    return (value,) if isinstance(value, str | int) else tuple(value)  # type: ignore[arg-type]  # what the field takes


def texts_to_encode(query: Query) -> list[tuple[str, float]]:
    """The texts of a query that need a vector, each with its weight."""
    if query.mode == "keyword":
        return []
    weighted = [(query.text, 1.0)] if query.text.strip() else []
    return [*weighted, *query.more, *((text, -weight) for text, weight in query.less)]


def check(query: Query) -> None:
    """Raises UsageError for a query that cannot be answered, with the remedy."""
    if not isinstance(query.k, int) or query.k < 1:
        raise UsageError(f"k must be a whole number of at least 1, not {query.k!r}.", "Use for example k=10 (-k 10).")
    for name, value, known in (("mode", query.mode, get_args(Mode)), ("group", query.group, get_args(Group))):
        if value not in known:
            raise UnknownName(name, str(value), known)
    for name, text in (("text", query.text), ("where", query.where or ""), ("path", query.path or "")):
        if not isinstance(text, str):
            raise UsageError(f"{name} must be a string, not {text!r}.", "Put it in quotes.")
    if query.alpha is not None and not 0 <= query.alpha <= 1:
        raise UsageError(
            f"alpha must be between 0 and 1, not {query.alpha}.", "1 uses only the cosine, 0 only the words."
        )
    if not 0 <= query.min_strength <= 1:
        raise UsageError(f"the minimum strength must be between 0 and 1, not {query.min_strength}.", "Try 0.9.")
    if not (query.text.strip() or query.more or query.like):
        raise UsageError("the query is empty.", "Pass a text to search for.")
    if query.mode == "keyword" and not (query.text.strip() or query.more):
        raise UsageError("a keyword search needs words.", "Pass a text, or use the semantic mode.")
