"""Filters as trees of frozen dataclasses, which each store compiles to its own language.

The parser expands short forms: `a != 1` to `a exists and not a = 1`, `between` to `>= and <=`, `= null` to
`not exists`. A store translates only the nodes below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, TypeAlias, TypeVar

from semsearch.errors import UnknownName

T = TypeVar("T")

LAST_NS = 2**63 - 1  # the largest integer of SQLite and of PostgreSQL's bigint: the year 2262
BUILTINS: dict[str, Literal["text", "number", "date"]] = {
    "path": "text",
    "document": "text",
    "title": "text",
    "heading": "text",
    "loader": "text",
    "page": "number",
    "size": "number",
    "date": "date",
    "mtime": "date",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One of BUILTINS, or a path of keys into the metadata."""

    names: tuple[str, ...]
    builtin: bool = False


OF_PASSAGES = {Field(("page",), builtin=True), Field(("heading",), builtin=True)}
DATE = Field(("date",), builtin=True)  # OWN_DATE where the document has one, else FILE_DATE
OWN_DATE = Field(("date",))
FILE_DATE = Field(("mtime",), builtin=True)


@dataclass(frozen=True, slots=True)
class Date:
    """A whole year, month, day, minute or second: `text` is 2024, 2024-01, 2024-01-31, 2024-01-31T10:00, …:00."""

    text: str

    def span(self) -> tuple[int, int]:
        """Its first nanosecond on this computer's clock, since 1970, and the first after it."""
        first = datetime.fromisoformat(self.text + "2024-01-01T00:00:00"[len(self.text) :])
        steps = {10: timedelta(days=1), 16: timedelta(minutes=1), 19: timedelta(seconds=1)}
        if len(self.text) in steps:
            after = first + steps[len(self.text)]
        else:
            months = 12 if len(self.text) == 4 else 1
            after = (first + timedelta(days=31 * months)).replace(day=1)
        seconds = int(first.timestamp()), int(after.timestamp())
        return min(seconds[0] * 10**9, LAST_NS), min(seconds[1] * 10**9, LAST_NS)


Value: TypeAlias = str | int | float | bool | Date


@dataclass(frozen=True, slots=True)
class Compare:
    """The field exists, its value has the type of `value`, and `field op value` is true."""

    field: Field
    op: Literal["=", "<", "<=", ">", ">="]
    value: Value


@dataclass(frozen=True, slots=True)
class In:
    """The field equals one of these texts, numbers, true, false."""

    field: Field
    values: tuple[str | int | float | bool, ...]


@dataclass(frozen=True, slots=True)
class Like:
    """A text field as a whole fits an SQL pattern: % any text, _ one character, backslash before a literal one."""

    field: Field
    pattern: str


@dataclass(frozen=True, slots=True)
class PathGlob:
    """The document's path fits the pattern of `--path`."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Contains:
    """A list has exactly this value, or a text has it as a part."""

    field: Field
    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class Exists:
    """The field exists and is not null."""

    field: Field


@dataclass(frozen=True, slots=True)
class Not:
    part: Filter


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Filter, ...]


Filter: TypeAlias = Compare | In | Like | PathGlob | Contains | Exists | Not | And | Or


def negated(part: Filter) -> Filter:
    """Not(part), without a double negation: a long row of `not` must not nest."""
    return part.part if isinstance(part, Not) else Not(part)


def depth(tree: Filter) -> int:
    """How many `And`, `Or` and `Not` are inside each other at most. A tree may be of any depth."""
    deepest, left = 0, [(tree, 0)]
    while left:
        node, above = left.pop()
        deepest = max(deepest, above)
        parts = node.parts if isinstance(node, And | Or) else (node.part,) if isinstance(node, Not) else ()
        left.extend((part, above + 1) for part in parts)
    return deepest


def fields(tree: Filter) -> Iterator[tuple[Field, Filter]]:
    """Every field of the filter, with its node; in no order. A tree may be of any depth."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, And | Or):
            left.extend(node.parts)
        elif isinstance(node, Not):
            left.append(node.part)
        elif not isinstance(node, PathGlob):
            yield node.field, node


def is_of_passages(tree: Filter) -> bool:
    """Whether a filter depends on passages."""
    return any(field in OF_PASSAGES for field, _ in fields(tree))


def check_keys(tree: Filter, exists: Callable[[Field], bool], keys: Callable[[], set[str] | None]) -> None:
    """Raise UnknownName for a metadata key that no document has: a misspelt one would silently match nothing.

    One beside `exists` may be unknown. `keys`: some keys of the metadata; None where there is no document.
    """
    asked = {field for field, node in fields(tree) if not field.builtin and not isinstance(node, Exists)}
    for field in sorted(asked, key=lambda field: field.names):
        if not exists(field) and (some := keys()) is not None:
            raise UnknownName("field", ".".join(field.names), {*BUILTINS, *some})


def without_date(tree: Compare | In | Like | Contains | Exists) -> Filter:
    """A test of DATE, said by OWN_DATE and FILE_DATE."""
    of_file = And((Not(Exists(OWN_DATE)), replace(tree, field=FILE_DATE)))
    return Or((replace(tree, field=OWN_DATE), of_file))


def within(op: str, first: T, after: T) -> list[tuple[str, T]]:
    """A comparison with a whole stretch of time, from `first` to before `after`, as operators and bounds."""
    return {
        "=": [(">=", first), ("<", after)],
        "<": [("<", first)],
        "<=": [("<", after)],
        ">": [(">=", after)],
        ">=": [(">=", first)],
    }[op]


def like_escaped(text: str) -> str:
    """`text` as a pattern of `Like` that matches only this text."""
    return re.sub(r"([%_\\])", r"\\\1", text)
