"""Options of plug-ins (methods, training objectives), checked against the defaults that each declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semsearch.errors import UnknownName, UsageError

EXPECTED = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


def check_options(owner: str, options: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """`options` in the types of their `defaults`: a list becomes a tuple, and a whole number a float where one is due.

    Raises UnknownName for an option that `owner` does not have, UsageError for a value of another type.
    """
    checked = {}
    for option, value in options.items():
        if option not in defaults:
            raise UnknownName(f"option of {owner}", option, defaults)
        wanted = type(defaults[option])
        if isinstance(value, list):
            value = tuple(value)
        elif wanted is float and type(value) is int:
            value = float(value)
        if type(value) is not wanted:
            expected = EXPECTED.get(wanted, f"like {defaults[option]!r}")
            raise UsageError(f"option {option} of {owner} cannot be {value!r}.", f"It has to be {expected}.")
        checked[option] = value
    return checked
