"""Whether two passages are copies of each other, judged by their words alone.

Vectors cannot tell: two invoices that differ in their number lie closer together than two wordings of one
thought. So nearly all runs of five words have to be shared (shingles, Broder 1997).
"""

from __future__ import annotations

import re

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
    these, those = _WORD.findall(first.casefold()), _WORD.findall(second.casefold())
    if these == those:
        return True
    ours, theirs = _shingles(these), _shingles(those)
    if not (ours and theirs):
        return False
    return len(ours & theirs) >= SHARED * len(ours | theirs)


def _shingles(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1)}
