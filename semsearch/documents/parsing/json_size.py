"""Limits on the structure of a JSON value: ten megabytes of "[[],[],…" would need a gigabyte of memory as objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate

MOST_VALUES = 100_000  # in a record
MOST_NESTED = 100
MOST_DIGITS = 400  # of a whole number: to read one takes time that grows with their square


def has_too_many_values(raw: bytes, most: int = MOST_VALUES) -> bool:
    """Whether the JSON in `raw`, valid or not, has more than `most` values. Most texts are only counted through.

    >>> has_too_many_values(b'["a, b, c"]', 2), has_too_many_values(b"[1, 2, 3]", 2)
    (False, True)
    """
    if _separators(raw) <= most:
        return False
    return any(counted > most for counted in accumulate(map(_separators, _outside_strings(raw))))


def has_longer_number(value: object) -> bool:
    """Whether there is a whole number of more than MOST_DIGITS digits. Raises RecursionError for very deep nesting.

    >>> has_longer_number([{"a": 10**399}]), has_longer_number([{"a": -(10**400)}])
    (False, True)
    """
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return any(map(has_longer_number, value))
    return isinstance(value, int) and abs(value) >= 10**MOST_DIGITS


def is_nested_deeper(value: object, depth: int = MOST_NESTED) -> bool:
    """Whether there are more than `depth` lists and mappings in each other.

    >>> is_nested_deeper([{"a": []}], 3), is_nested_deeper([{"a": []}], 2)
    (False, True)
    """
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return False
    return depth == 0 or any(is_nested_deeper(inner, depth - 1) for inner in value)


def _separators(raw: bytes) -> int:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")


def _outside_strings(raw: bytes) -> Iterator[bytes]:
    """The parts of JSON between its strings. A string without an end goes on to the end.

    In short steps: one regular expression over ten megabytes would keep all other threads waiting meanwhile.
    """
    at = 0
    while (begin := raw.find(b'"', at)) >= 0:
        yield raw[at:begin]
        at = begin + 1
        while (end := raw.find(b'"', at)) >= 0:
            inside, at = raw[at:end], end + 1
            if (len(inside) - len(inside.rstrip(b"\\"))) % 2 == 0:  # the quotation mark is not escaped
                break
        if end < 0:
            return
    yield raw[at:]
