"""Numbers with what they count."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "document"), count(1200, "document")
    ('1 document', '1,200 documents')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
