"""Chips: texts and passages that pull a query towards their meaning or push it away, as a person writes them.

slow cooking          a text
slow cooking ^0.5     with a weight; without one it is 1
#42                   a passage, by the number shown with every hit
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from semsearch import SemsearchError

PASSAGE = re.compile(r"#(?:(.+)/)?([0-9]{1,18})")
WEIGHT = re.compile(r"^(.*\S)\s*\^\s*([0-9]*\.?[0-9]+)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Chip:
    """A text or a passage, and its weight."""

    text: str = ""
    passage: int | None = None
    weight: float = 1.0
    index: str = ""


def chip(written: str) -> Chip:
    """Parse a chip. Raises SemsearchError for one without a text or with a weight that is not above 0.

    >>> chip("slow cooking ^0.5"), chip("#42")
    (Chip(text='slow cooking', passage=None, weight=0.5, index=''), Chip(text='', passage=42, weight=1.0, index=''))
    """
    found = WEIGHT.match(written.strip())
    text, weight = (found[1], float(found[2])) if found else (written.strip(), 1.0)
    if not text or not 0 < weight < 1000:
        raise SemsearchError(f"The chip {written!r} needs a text and a weight above 0.", "Write: slow cooking ^0.5")
    if passage := PASSAGE.fullmatch(text):
        return Chip(passage=int(passage[2]), weight=weight, index=passage[1] or "")
    return Chip(text, weight=weight)
