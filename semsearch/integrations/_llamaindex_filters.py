"""Filters of LlamaIndex as structures of ours (docs/filters.md); what cannot be expressed is refused by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from semsearch.errors import BadFilter

if TYPE_CHECKING:
    from enum import Enum

    from semsearch.types import JsonObject

    Compared: TypeAlias = int | float | str | list[str] | list[float] | list[int] | None  # MetadataFilter.value


def condition(
    filters: MetadataFilters | None, *, node_ids: Sequence[str] | None = None, doc_ids: Sequence[str] | None = None
) -> JsonObject | None:
    """Filters of LlamaIndex as a structure of ours; None where everything passes. Raises BadFilter."""
    parts: list[JsonObject] = []
    if filters is not None and filters.filters:
        parts.append({"$metadata": _combined(filters)})
    if node_ids:
        parts.append({"document": {"$in": list(node_ids)}})
    if doc_ids:
        parts.append({"$metadata": {"ref_doc_id": {"$in": list(doc_ids)}}})
    return {"$and": parts} if parts else None


def _combined(filters: MetadataFilters) -> JsonObject:
    parts = [_combined(each) if isinstance(each, MetadataFilters) else _single(each) for each in filters.filters]
    if not parts:
        raise BadFilter("a group of filters is empty.", "Leave it out.")
    if filters.condition == FilterCondition.NOT:
        return {"$not": {"$or": parts}}
    return {"$or" if filters.condition == FilterCondition.OR else "$and": parts}


def _single(one: MetadataFilter) -> JsonObject:
    if one.operator not in OPERATORS:
        operators = listed(OPERATORS)
        raise BadFilter(f"operator {one.operator.value!r} cannot be expressed in a filter.", f"Operators: {operators}.")
    return OPERATORS[one.operator](one.key, one.value)


def _plain(operator: str) -> Callable[[str, Compared], JsonObject]:
    return lambda key, value: {key: {operator: value}}


def _unlike(operator: str) -> Callable[[str, Compared], JsonObject]:
    """LlamaIndex counts a missing field as unequal."""
    return lambda key, value: {"$or": [{key: {"$exists": False}}, {key: {operator: value}}]}


def _each(joined: str) -> Callable[[str, Compared], JsonObject]:
    def compared(key: str, values: Compared) -> JsonObject:
        several = values if isinstance(values, list) else [values]
        return {joined: [{key: {"$contains": value}} for value in several]}

    return compared


OPERATORS: dict[FilterOperator, Callable[[str, Compared], JsonObject]] = {
    FilterOperator.EQ: _plain("$eq"),
    FilterOperator.NE: _unlike("$ne"),
    FilterOperator.GT: _plain("$gt"),
    FilterOperator.GTE: _plain("$gte"),
    FilterOperator.LT: _plain("$lt"),
    FilterOperator.LTE: _plain("$lte"),
    FilterOperator.IN: _plain("$in"),
    FilterOperator.NIN: _unlike("$nin"),
    FilterOperator.CONTAINS: _plain("$contains"),
    FilterOperator.TEXT_MATCH_INSENSITIVE: _plain("$contains"),
    FilterOperator.ANY: _each("$or"),
    FilterOperator.ALL: _each("$and"),
    FilterOperator.IS_EMPTY: lambda key, _: {"$or": [{key: {"$exists": False}}, {key: ""}]},
}


def listed(names: Iterable[Enum]) -> str:
    """The names that LlamaIndex has for modes or operators."""
    return ", ".join(sorted(str(name.value) for name in names))
