"""Numbers as people read them."""

from __future__ import annotations

from math import log10

UNITS = ("B", "kB", "MB", "GB", "TB")


def size(number: float) -> str:
    """A number of bytes.

    >>> size(0), size(999), size(1_500_000)
    ('0 B', '999 B', '1.5 MB')
    """
    power = min(int(log10(max(number, 1))) // 3, len(UNITS) - 1)
    return f"{number / 1000**power:.{min(power, 1)}f} {UNITS[power]}"


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "document"), count(1200, "document")
    ('1 document', '1,200 documents')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
