"""Limits on the structure of a JSON value: ten megabytes of "[[],[],…" would need a gigabyte of memory as objects."""

from __future__ import annotations

import re

MOST_VALUES = 100_000  # in a record
MOST_NESTED = 100
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # one without an end goes on to the end: linear


def has_too_many_values(raw: bytes, most: int = MOST_VALUES) -> bool:
    """Whether the JSON in `raw`, valid or not, has more than `most` values. Most texts are only counted through.

    >>> has_too_many_values(b'["a, b, c"]', 2), has_too_many_values(b"[1, 2, 3]", 2)
    (False, True)
    """
    return _separators(raw) > most and _separators(_STRING.sub(b"", raw)) > most


def _separators(raw: bytes) -> int:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")
