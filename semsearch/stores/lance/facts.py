"""What a filter may ask of metadata, in the two forms that the library has indexes and functions for.

`facts` are texts, one for each value, so that an index of labels finds equal values, items of lists, and fields that
exist. `typed_fields` are the texts and numbers by field and type, so that they are compared as what they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

LONGEST = 200  # letters of a value in a fact; of a longer one it has the hash
LARGEST = 1.7e308


def facts(metadata: dict[str, Any]) -> list[str]:
    """The facts of metadata."""
    return [fact for names, value in _fields(metadata, ()) for fact in _of(names, value)]


def typed_fields(metadata: dict[str, Any]) -> dict[str, str | float]:
    """The texts and numbers, by `typed_field`."""
    return {
        typed_field(names, value): value if isinstance(value, str) else _number(value)
        for names, value in _fields(metadata, ())
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }


def exists(names: Sequence[str]) -> str:
    """The fact that a field exists and is not null."""
    return f"{_path(names)}!"


def equals(names: Sequence[str], value: object) -> str:
    """The fact that a field has this value."""
    return f"{_path(names)}={_value(value)}"


def has_item(names: Sequence[str], value: object) -> str:
    """The fact that a field is a list with this value."""
    return f"{_path(names)}[{_value(value)}"


def typed_field(names: Sequence[str], value: object) -> str:
    """The name of a field with values of this type."""
    return f"{'text' if isinstance(value, str) else 'number'}{_path(names)}"


def _fields(metadata: dict[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in metadata.items():
        yield (*above, name), value
        if isinstance(value, dict):
            yield from _fields(value, (*above, name))


def _of(names: Sequence[str], value: Any) -> Iterator[str]:
    if value is None:
        return
    yield exists(names)
    if isinstance(value, list):
        yield from {has_item(names, item): None for item in value if isinstance(item, str | int | float)}
    elif not isinstance(value, dict):
        yield equals(names, value)


def _path(names: Sequence[str]) -> str:
    return json.dumps(list(names), ensure_ascii=False)


def _value(value: Any) -> str:
    """A value by its type: 1 and 1.0 are equal, 1 and true and "1" are not."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    written = json.dumps(value, ensure_ascii=False)
    return written if len(written) <= LONGEST else f"sha256 {hashlib.sha256(written.encode()).hexdigest()}"


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return LARGEST if value > 0 else -LARGEST
