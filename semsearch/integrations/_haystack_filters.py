"""Filters of Haystack as structures of ours (docs/filters.md); what cannot be expressed is refused by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from haystack.errors import FilterError

if TYPE_CHECKING:
    from semsearch.types import JsonObject

NOTHING: JsonObject = {"$and": [{"document": {"$exists": True}}, {"document": {"$exists": False}}]}
LOGICAL = {"AND": "$and", "OR": "$or"}
ORDER = {">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"}


def condition(filters: JsonObject | None) -> JsonObject | None:
    """Filters of Haystack as a structure of ours; None where everything passes. Raises FilterError."""
    return _part(filters) if filters else None


def _part(part: object) -> JsonObject:
    if not isinstance(part, dict):
        raise FilterError(f"a filter is a dictionary, not {part!r:.60}.")
    return _comparison(part) if "field" in part else _logic(part)


def _logic(part: JsonObject) -> JsonObject:
    for key in ("operator", "conditions"):
        if key not in part:
            raise FilterError(f"'{key}' key missing in {part!r:.200}")
    operator, parts = part["operator"], [_part(each) for each in part["conditions"]]
    if operator not in (*LOGICAL, "NOT"):
        raise FilterError(f"unknown operator {operator!r}; use AND, OR, NOT.")
    if not parts:
        raise FilterError(f"the conditions of {operator} are empty.")
    return {"$not": {"$and": parts}} if operator == "NOT" else {LOGICAL[operator]: parts}


def _comparison(part: JsonObject) -> JsonObject:
    for key in ("operator", "value"):
        if key not in part:
            raise FilterError(f"'{key}' key missing in {part!r:.200}")
    field, operator, value = part["field"], part["operator"], part["value"]
    if operator not in OPERATORS:
        raise FilterError(f"unknown operator {operator!r}; use {', '.join(OPERATORS)}.")
    return OPERATORS[operator](lambda test: _tested(field, test), value)


def _tested(field: str, test: JsonObject) -> JsonObject:
    """A test of one field: `id`, or a key of the metadata, with `meta.` before it or without."""
    if field == "id":
        return {"document": test}
    if field in ("content", "blob", "score", "embedding", "sparse_embedding"):
        raise FilterError(f"documents cannot be filtered by {field!r}, but by 'id' and by their metadata: 'meta.…'.")
    return {"$metadata": {field.removeprefix("meta."): test}}


Test = Callable[["JsonObject"], "JsonObject"]


def _equal(test: Test, value: object) -> JsonObject:
    _check_plain([value])
    return test({"$exists": False}) if value is None else test({"$eq": value})


def _unequal(test: Test, value: object) -> JsonObject:
    """Haystack counts a missing field as unequal."""
    if value is None:
        return test({"$exists": True})
    _check_plain([value])
    return {"$or": [test({"$exists": False}), test({"$ne": value})]}


def _ordered(operator: str) -> Callable[[Test, object], JsonObject]:
    def compare(test: Test, value: object) -> JsonObject:
        if value is None:
            return NOTHING
        if isinstance(value, datetime):
            value = value.isoformat()
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise FilterError(f"{operator} needs a number or a date, not {value!r:.60}.")
        if isinstance(value, str):
            _check_date(value)
        return test({ORDER[operator]: value})

    return compare


def _check_date(text: str) -> None:
    """Dates are compared as the texts that they are in the metadata: ISO form has their order."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise FilterError(f"texts have no order, and {text!r:.60} is no date in ISO form.") from None


def _among(test: Test, values: object) -> JsonObject:
    _check_list(values)
    return test({"$in": values}) if values else NOTHING


def _not_among(test: Test, values: object) -> JsonObject:
    _check_list(values)
    return {"$not": test({"$in": values})} if values else {"$not": NOTHING}


def _check_list(values: object) -> None:
    if not isinstance(values, list):
        raise FilterError(f"'in' and 'not in' need a list, not {values!r:.60}.")
    _check_plain(values)


def _check_plain(values: Sequence[object]) -> None:
    for value in values:
        if value is not None and not isinstance(value, str | int | float | bool):
            raise FilterError(f"a filter cannot compare with {value!r:.60}; it takes texts, numbers, True and False.")


OPERATORS: dict[str, Callable[[Test, object], JsonObject]] = {
    "==": _equal,
    "!=": _unequal,
    **{operator: _ordered(operator) for operator in ORDER},
    "in": _among,
    "not in": _not_among,
}
