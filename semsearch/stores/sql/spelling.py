"""Which known word was meant by one that no passage has: only slips of typing that a real word seldom looks like.

The rules were chosen on 5,600 words beside collections in English, German, French, Spanish and Italian: misspellings
(of codespell, and made ones), and real words that a collection does not have, such as "smells" where there is "sell".
Of 4,900 others they replace 1.0 % of the real words (0.6 to 1.7 by collection), and find 40 % of the words meant (31 to
55); 0.8 % find another. The most similar word by difflib's ratio replaced 8 to 35 %, and found 61 to 86 %.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

Slip: TypeAlias = Literal["swapped", "doubled", "missing", "extra", "other"]

# Letters that a stem has at least, by what happened to one of its letters. Below, "smell" is as likely as "sell"
LEAST_LETTERS: Mapping[Slip, int] = {"swapped": 5, "doubled": 5, "missing": 6, "extra": 8, "other": 8}
SHORTEST = min(LEAST_LETTERS.values())
SURE = ("swapped", "doubled")  # where a word of one passage may be meant
MANY = 1_000  # passages; in fewer, many words stand in one alone
LEAST_ALIKE = 0.8  # difflib's ratio: two letters swapped in a word of five
MOST_ALIKE = 3  # known words that are compared
ENDING = 2  # letters; what differs there alone is another form of a word


def meant(
    stem: str, known: Sequence[str], counts: Callable[[Sequence[str]], Mapping[str, int]], size: int
) -> str | None:
    """The stem among `known` that was meant by a stem that no passage has, if that is likely.

    `known` has the stems with the same first letter and about the same length; `counts` gives the passages with a stem,
    of `size` in all.
    """
    near = [word for word in known if abs(len(word) - len(stem)) < 2]
    if not near:
        return None
    from difflib import get_close_matches  # 3 ms that most queries do not need

    alike = get_close_matches(stem, near, n=MOST_ALIKE, cutoff=LEAST_ALIKE)
    slips = {word: slip for word in alike if (slip := _slip(stem, word)) and len(stem) >= LEAST_LETTERS[slip]}
    root = stem[: max(SHORTEST, len(stem) - ENDING)]
    if not slips or (root != stem and any(word.startswith(root) for word in known if word not in slips)):
        return None  # the last: the word is there in another form
    having = counts(list(slips))
    likely = [word for word, n in having.items() if n > (slips[word] not in SURE and size >= MANY)]
    return max(likely, key=having.__getitem__, default=None)


def _slip(typed: str, word: str) -> Slip | None:
    """What makes `typed` of a word, if it is one slip before its last letter."""
    start = _common(typed, word)
    end = _common(typed[start:][::-1], word[start:][::-1])
    has, had = typed[start : len(typed) - end], word[start : len(word) - end]
    if len(has) == len(had) == 2 and has == had[::-1]:
        return "swapped"
    if len(has) + len(had) == 1 and (has or had) == typed[start - 1]:
        return "doubled"
    if not end or max(len(has), len(had)) > 1:
        return None
    return "other" if has and had else "extra" if has else "missing"


def _common(one: str, other: str) -> int:
    """The number of letters with which both begin."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
