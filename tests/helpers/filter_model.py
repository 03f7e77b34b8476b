"""A model of the filter language in plain Python, with random trees and metadata to compare a store with."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from semsearch.stores.filters import (
    BUILTINS,
    And,
    Compare,
    Contains,
    Date,
    Exists,
    Field,
    Filter,
    In,
    Like,
    Not,
    Or,
    PathGlob,
)
from semsearch.utils import globs

KEYS = ["year", "lang", "tags", 'odd "key"', "a.b", "é\n\\", "select"]
NESTED = [("author", "name"), ("author", "born"), ("tags", "deep")]
WORDS = ["en", "EN", "de", "", "it's", "100%", "a_b", "back\\slash", "2020", "x' OR 1=1 --", "é", "日本"]
ATOMS: list[Any] = [*WORDS, 0, 1, 2020, -3, 2.5, 2020.0, True, False, None]
LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(65, 91)})  # LIKE ignores the case of A-Z only


@dataclass(frozen=True)
class Row:
    """What a filter sees of one passage: the metadata of its document, and the values of the built-in fields."""

    metadata: dict[str, Any]
    builtins: dict[str, Any] = field(default_factory=dict)
    document: str = ""
    path: str | None = None
    root: str | None = None


def random_metadata(count: int, seed: int = 0) -> dict[str, dict[str, Any]]:
    """Documents with values of every type under the same keys; the first has all keys, so that none is unknown."""
    rng = random.Random(seed)

    def value() -> Any:
        return rng.choice([rng.choice(ATOMS), [rng.choice(ATOMS) for _ in range(3)]])

    made: dict[str, dict[str, Any]] = {"0": dict.fromkeys(KEYS, 1)}
    made["0"] |= {"author": {"name": "x", "born": 1}, "tags": {"deep": 1}}
    for at in range(1, count):
        made[str(at)] = {key: value() for key in KEYS if rng.random() < 0.7}
        if rng.random() < 0.7:
            made[str(at)]["author"] = rng.choice([value(), {"name": value(), "born": value()}])
    return made


# ---- random trees

fields = st.sampled_from([Field((key,)) for key in KEYS] + [Field(path) for path in NESTED])
values = st.sampled_from([atom for atom in ATOMS if atom is not None])
orderable = st.sampled_from([atom for atom in ATOMS if atom is not None and not isinstance(atom, bool)])
patterns = st.text(alphabet="eEnN%_\\é2", min_size=1, max_size=4)
leaves = st.one_of(
    st.builds(Compare, fields, st.just("="), values),
    st.builds(Compare, fields, st.sampled_from(["<", "<=", ">", ">="]), orderable),
    st.builds(In, fields, st.lists(values, min_size=1, max_size=4).map(tuple)),
    st.builds(Like, fields, patterns),
    st.builds(Contains, fields, values),
    st.builds(Exists, fields),
)


def _branches(inner: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(inner.filter(lambda tree: not isinstance(tree, Not)).map(Not), parts.map(And), parts.map(Or))


trees: st.SearchStrategy[Filter] = st.recursive(leaves, _branches, max_leaves=8)


# ---- meaning


def holds(tree: Filter, row: Row) -> bool:
    """Whether a passage passes the filter."""
    match tree:
        case And(parts):
            return all(holds(part, row) for part in parts)
        case Or(parts):
            return any(holds(part, row) for part in parts)
        case Not(part):
            return not holds(part, row)
        case PathGlob(pattern):
            within = row.path is not None and globs.matches(pattern, row.path, row.root)
            return globs.matches(pattern, row.document) or within
    if tree.field.builtin and BUILTINS[tree.field.names[0]] == "date":
        own = value_of(Field(("date",)), row)
        if tree.field.names == ("date",) and own is not None:
            return passes(tree, own)
        return file_time(tree, row.builtins.get("mtime"))
    return passes(tree, value_of(tree.field, row))


def value_of(field: Field, row: Row) -> Any:
    """The value of a field; None where it is missing."""
    if field.builtin:
        return row.builtins.get(field.names[0])
    value: Any = row.metadata
    for name in field.names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def passes(tree: Filter, value: Any) -> bool:
    """Whether a test of one field holds for a value of it."""
    match tree:
        case Exists():
            return value is not None
        case In(_, choices):
            there = value if isinstance(value, list) else [value]
            return any(same_type(one, choice) and one == choice for one in there for choice in choices)
        case Like(_, pattern):
            return isinstance(value, str) and like(value.translate(LOWER), pattern.translate(LOWER))
        case Contains(_, part):
            if isinstance(value, list):
                return any(same_type(item, part) and item == part for item in value)
            return isinstance(value, str) and isinstance(part, str) and part.translate(LOWER) in value.translate(LOWER)
        case Compare(_, op, Date(day)):
            dated = isinstance(value, str) and value[:4].isdigit() and value[4:5] == "-" and value[5:7].isdigit()
            return dated and len(value) >= 7 and ORDER[op](value[: len(day)].replace(" ", "T"), day)
        case Compare(_, "=", other) if isinstance(value, list):
            return any(same_type(item, other) and item == other for item in value)
        case Compare(_, op, other):
            return same_type(value, other) and ORDER[op](value, other)
    raise AssertionError(tree)


ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: left == right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def same_type(left: Any, right: Any) -> bool:
    """Whether two JSON values may be compared: 5 is not '5', and true is not 1."""
    return json_type(left) == json_type(right)


def json_type(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return type(value).__name__
    return "number"


def like(text: str, pattern: str) -> bool:
    """Whether all of `text` fits an SQL pattern."""
    if not pattern:
        return not text
    first, rest = pattern[0], pattern[1:]
    if first == "%":
        return any(like(text[at:], rest) for at in range(len(text) + 1))
    if first == "\\":
        return bool(rest) and text[:1] == rest[0] and like(text[1:], rest[1:])
    return bool(text) and first in ("_", text[0]) and like(text[1:], rest)


def file_time(tree: Filter, mtime_ns: int | None) -> bool:
    """Whether a test of a date holds for the time of a file, on this computer's clock."""
    if mtime_ns is None:
        return False
    if isinstance(tree, Exists):
        return True
    assert isinstance(tree, Compare) and isinstance(tree.value, Date)
    first, after = days(tree.value.text)
    tests = {"=": first <= mtime_ns < after, "<": mtime_ns < first, "<=": mtime_ns < after}
    return (tests | {">": mtime_ns >= after, ">=": mtime_ns >= first})[tree.op]


def days(text: str) -> tuple[int, int]:
    """First nanosecond of a year, month, day, minute or second, and the first after it."""
    first = datetime.fromisoformat(text + "2024-01-01T00:00:00"[len(text) :])
    steps = {10: timedelta(days=1), 16: timedelta(minutes=1), 19: timedelta(seconds=1)}
    months = timedelta(days=31 * (12 if len(text) == 4 else 1))
    after = first + steps[len(text)] if len(text) in steps else (first + months).replace(day=1)
    return int(first.timestamp()) * 10**9, int(after.timestamp()) * 10**9
