"""Numbers for display."""

from __future__ import annotations

from math import floor


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "document"), count(1200, "document")
    ('1 document', '1,200 documents')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def rounded_down(strength: float, digits: int = 2) -> float:
    """A strength for display, rounded down: what looks like 0.90 is a likely match."""
    return floor(strength * 10.0**digits + 1e-9) / 10.0**digits
