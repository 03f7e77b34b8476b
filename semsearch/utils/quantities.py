"""Numbers for display."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor


def count(number: int, noun: str, plural: str = "") -> str:
    """A number of things; without `plural` it ends with an s.

    >>> count(1, "document"), count(1200, "document"), count(2, "copy", "copies")
    ('1 document', '1,200 documents', '2 copies')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def letters_by_kind(numbers: Mapping[str, int], most: int | None = None) -> str:
    """What was left out: kinds with their letters, those with the most first; beyond the first `most` their number.

    >>> letters_by_kind({"picture": 0, "script": 4100, "navigation": 12300})
    'navigation (12,300 letters), script (4,100 letters), picture'
    >>> letters_by_kind({"picture": 0, "script": 4100, "navigation": 12300}, most=1)
    'navigation (12,300 letters), 2 other kinds'
    """
    kinds = sorted(numbers.items(), key=lambda kind: -kind[1])
    shown = [f"{kind} ({count(letters, 'letter')})" if letters else kind for kind, letters in kinds[:most]]
    more = [count(len(kinds) - len(shown), "other kind")] if len(kinds) > len(shown) else []
    return ", ".join(shown + more)


def rounded_down(strength: float, digits: int = 2) -> float:
    """A strength for display, rounded down: what looks like 0.90 is a likely match."""
    return floor(strength * 10.0**digits + 1e-9) / 10.0**digits
