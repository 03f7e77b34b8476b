"""Checks of the arguments of public functions: a value of another type is a UsageError that says what is wanted."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import TypeVar

from semsearch.errors import UsageError

T = TypeVar("T")


def whole_number(name: str, value: object, least: int = 1, command: str = "") -> None:
    """Raise UsageError unless `value` is a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        fix = f"For example: {name}={max(10, least)}."
        raise UsageError(f"{name} must be a whole number of at least {least}, not {value!r}.", fix, command)


def between(name: str, value: object, low: float, high: float, fix: str) -> None:
    """Raise UsageError unless `value` is a number between `low` and `high`."""
    if not isinstance(value, Real) or isinstance(value, bool) or not low <= float(value) <= high:
        raise UsageError(f"{name} must be a number between {low} and {high}, not {value!r}.", fix)


def several(values: Iterable[T], method: str, name: str, kind: type = object) -> list[T]:
    """The values, of type `kind`, as a list. Raises UsageError for a single one: a string is also its letters."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise UsageError(f"{method}() takes several {name}, not {values!r}.", f"Write {name}=[{values!r}].")
    listed = list(values)
    for value in listed:
        if not isinstance(value, kind):
            expected = "texts" if kind is str else "whole numbers"
            raise UsageError(f"the {name} of {method}() are {expected}, not {value!r}.", "Use those of the index.")
    return listed
