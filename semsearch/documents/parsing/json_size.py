"""Limits on the structure of a JSON value: ten megabytes of "[[],[],…" would need a gigabyte of memory as objects."""

from __future__ import annotations

import re

MOST_VALUES = 500_000
MOST_NESTED = 100
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # one without an end goes on to the end: linear


def has_too_many_values(raw: bytes) -> bool:
    """Whether the JSON in `raw`, valid or not, has more than MOST_VALUES values. Most texts are only counted through.

    >>> has_too_many_values(b'["a, b"]'), has_too_many_values(b"[" + b"1," * 500_001 + b"1]")
    (False, True)
    """
    return _separators(raw) > MOST_VALUES and _separators(_STRING.sub(b"", raw)) > MOST_VALUES


def _separators(raw: bytes) -> int:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")
