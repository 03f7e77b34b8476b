"""Whether two passages are copies of each other, judged by their words alone.

Vectors cannot tell: two invoices that differ in their number lie closer together than two wordings of one
thought. So nearly all runs of five words have to be shared (shingles, Broder 1997).
"""

from __future__ import annotations

import re
from functools import lru_cache

SHINGLE = 5
SHARED = 0.9  # one word changed in a passage of 100 leaves 91 of 96 shingles
_WORD = re.compile(r"\w+")


def same_words(first: str, second: str) -> bool:
    """True for texts that differ in case, spacing and punctuation only, or in a word here and there.

    >>> same_words("Stop the engine first.", "stop the ENGINE, first")
    True
    >>> same_words("Invoice 12 is due in May.", "Invoice 13 is due in May.")
    False
    """
    if not 0.8 < (len(first) + 1) / (len(second) + 1) < 1.25:
        return False
    (these, ours), (those, theirs) = _read(first), _read(second)
    if these == those:
        return True
    if not (ours and theirs):
        return False
    common = len(ours & theirs)
    return common >= SHARED * (len(ours) + len(theirs) - common)


@lru_cache(maxsize=1024)  # a search for 100 documents compares each of them with all before it
def _read(text: str) -> tuple[tuple[str, ...], frozenset[tuple[str, ...]]]:
    """The words of `text`, and its runs of five of them."""
    words = tuple(_WORD.findall(text.casefold()))
    return words, frozenset(words[at : at + SHINGLE] for at in range(len(words) - SHINGLE + 1))
