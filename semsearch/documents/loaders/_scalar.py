"""Plain words of a CSV cell or a front matter as JSON values."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")  # "007" and a 20-digit number are names, not quantities
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,17})\.\d{1,17}(?:[eE][+-]?\d{1,2})?")


def number_or_text(text: str) -> str | int | float:
    """`text` as the number it plainly is, else unchanged: "12" is 12, "007", "1e5" and "2024-05-01" are text."""
    word = text.strip()
    if _INTEGER.fullmatch(word):
        return int(word)
    return float(word) if _DECIMAL.fullmatch(word) else text
