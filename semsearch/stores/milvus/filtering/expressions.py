"""Filters as Milvus expressions over the columns of `facts`, as far as they can be said there.

What cannot be said (patterns, a part of a text, a path, names and values with quotes) is None here: the caller reads
the documents and tests them itself. No text of the user is part of an expression unless `facts.is_plain`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from semsearch.stores.filters import (
    DATE,
    FILE_DATE,
    And,
    Compare,
    Contains,
    Date,
    Exists,
    Filter,
    In,
    Not,
    Or,
    within,
    without_date,
)
from semsearch.stores.milvus.filtering import facts

_NOT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


class Pair(NamedTuple):
    """A condition, and the one that holds exactly where it does not. `not` stands before tokens only."""

    yes: str
    no: str


def token(text: str) -> Pair:
    """Whether a row has a token."""
    return Pair(f'array_contains(tokens, "{text}")', f'not array_contains(tokens, "{text}")')


def compiled(tree: Filter, has: Callable[[str], bool]) -> Pair | None:
    """A filter as a condition, or None. `has` tells whether any row has a token."""
    match tree:
        case And(parts):
            return _joined("and", "or", [compiled(part, has) for part in parts])
        case Or(parts):
            return _joined("or", "and", [compiled(part, has) for part in parts])
        case Not(part):
            found = compiled(part, has)
            return found and Pair(found.no, found.yes)
        case Compare() | In() | Contains() | Exists():
            return _leaf(tree, has)
        case _:
            return None


def _joined(word: str, other: str, parts: Sequence[Pair | None]) -> Pair | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return Pair(f"({f' {word} '.join(p.yes for p in known)})", f"({f' {other} '.join(p.no for p in known)})")


def _leaf(tree: Compare | In | Contains | Exists, has: Callable[[str], bool]) -> Pair | None:
    if tree.field == DATE:
        return compiled(without_date(tree), has) if isinstance(tree, Compare | Exists) else None
    if tree.field == FILE_DATE:
        return _file_time(tree)
    name = f"@{tree.field.names[0]}" if tree.field.builtin else facts.field_name(tree.field.names)
    if name is None:
        return None
    match tree:
        case Exists():
            return token(f"x.{name}")
        case Compare(_, op, Date(text)):
            return _dated(name, op, text)
        case Compare(_, "=", value):
            return _equals(name, value)
        case Compare(_, op, value):
            return _ordered(name, op, value)
        case In(_, values):
            return _joined("or", "and", [_equals(name, value) for value in values])
        case Contains(_, value):
            item = facts.atom(value)
            of_text = isinstance(value, str) and has(f"s.{name}")
            return None if item is None or of_text else token(f"l.{name}={item}")


def _equals(name: str, value: Any) -> Pair | None:
    item = facts.atom(value)
    return None if item is None else token(f"{item[0]}.{name}={item[2:]}")


def _ordered(name: str, op: str, value: Any) -> Pair | None:
    item = facts.atom(value)
    if item is None or item[0] not in "sn":
        return None
    literal = f'"{item[2:]}"' if item[0] == "s" else item[2:]
    return _where(f"{item[0]}.{name}", [(op, literal)])


def _where(column: str, tests: Sequence[tuple[str, str]]) -> Pair:
    """All of the tests of one value, which only rows with the token `column` have."""
    there = token(column)
    yes = " and ".join(f'facts["{column}"] {op} {literal}' for op, literal in tests)
    no = " or ".join(f'facts["{column}"] {_NOT[op]} {literal}' for op, literal in tests)
    return Pair(f"({there.yes} and {yes})", f"({there.no} or {no})")


def _dated(name: str, op: str, text: str) -> Pair:
    """A text that begins like a date, cut to the length of `text` and compared with it."""
    after = text[:-1] + chr(ord(text[-1]) + 1)  # the first text above all that begin with it
    return _where(f"d.{name}", within(op, f'"{text}"', f'"{after}"'))


def _file_time(tree: Any) -> Pair | None:
    """Seconds since 1970: the bounds are whole ones."""
    if isinstance(tree, Exists):
        return token("x.@mtime")
    if not isinstance(tree, Compare) or not isinstance(tree.value, Date):
        return None
    first, after = (str(float(at // 10**9)) for at in tree.value.span())
    return _where("n.@mtime", within(tree.op, first, after))
