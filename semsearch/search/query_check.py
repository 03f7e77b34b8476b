"""Checks of a query before the search, and its texts to encode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from semsearch.errors import BadFilter, UnknownName, UsageError
from semsearch.types import Group, Mode, Query, QueryFields, Where

FIELDS = tuple(QueryFields.__annotations__)


def make_query(text: str | Query, fields: QueryFields) -> Query:
    """A query with these fields; a single text for a field of several counts as one text, not as letters.

    Raises UsageError for another type than text or Query, and for a field that a query does not have.
    """
    if not isinstance(text, str | Query):
        raise UsageError(f"a query is a text or a Query, not {text!r}.", 'For example: search("how do I …").')
    for name in set(fields).difference(FIELDS):
        raise UsageError(f"a search has no {name!r}.", f"It has: {', '.join(FIELDS)}.")
    changes: dict[str, object] = {name: value for name, value in fields.items() if name != "values"}
    where = written(fields.get("where"), fields.get("values"))
    if "where" in fields:
        changes["where"] = where
    for name in ("must", "like"):
        if name in changes:
            changes[name] = _several(changes[name])
    for name in ("more", "less"):
        if name in changes:
            changes[name] = tuple((one, 1.0) if isinstance(one, str) else one for one in _several(changes[name]))
    return replace(Query(text) if isinstance(text, str) else text, **changes)  # type: ignore[arg-type]  # checked above


def written(where: Where | None, values: Mapping[str, object] | None = None) -> str | None:
    """A filter as text of the filter language, with the values of its names. Raises BadFilter."""
    if where is None or (isinstance(where, str) and values is None):
        if values:
            raise BadFilter("values are given without a filter.", 'Pass where="year > :year" with them.')
        return where
    from semsearch.search import filter_text  # for structures and bound values only

    if isinstance(where, str):
        return filter_text.bind(where, values or {})
    if values is not None:
        raise BadFilter("a structure has its values inside.", "Leave out values, or write the filter as text.")
    return filter_text.from_mapping(where)


def _several(value: object) -> tuple[object, ...]:
    return (value,) if isinstance(value, str | int) else tuple(value)  # type: ignore[arg-type]  # what the field takes


def texts_to_encode(query: Query) -> list[tuple[str, float]]:
    """The texts of a query that need a vector, each with its weight."""
    if query.mode == "keyword":
        return []
    weighted = [(query.text, 1.0)] if query.text.strip() else []
    return [*weighted, *query.more, *((text, -weight) for text, weight in query.less)]


def check(query: Query, *, has_vector: bool = False) -> None:
    """Raises UsageError for a query that cannot be answered, with the remedy."""
    if not isinstance(query.offset, int) or query.offset < 0:
        raise UsageError(f"offset must be a whole number of at least 0, not {query.offset!r}.", "Leave it out.")
    if not isinstance(query.k, int) or query.k < 1:
        raise UsageError(
            f"k must be a whole number of at least 1, not {query.k!r}.", "For example: k=10.", "For example: -k 10"
        )
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
    if not (query.text.strip() or query.more or query.like or has_vector):
        raise UsageError("the query is empty.", "Pass a text to search for.")
    if query.mode == "keyword" and not (query.text.strip() or query.more):
        raise UsageError("a keyword search needs words.", "Pass a text, or use the semantic mode.")
