"""How many words two texts share: exactly, and for many texts at once by a bound on it.

A text is also kept as the counts of its words in BUCKETS by hash. Words that fall into one bucket look alike there, so
the share of these counts that two texts have in common is never below that of their words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from zlib import crc32

from semsearch.utils.late_numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUCKETS = 128
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The words of a text in order, without case and punctuation.

    >>> words("It's 10 o'clock.")
    ['it', 's', '10', 'o', 'clock']
    """
    return _WORD.findall(text.casefold())


def shared(first: Sequence[str], second: Sequence[str]) -> float:
    """The share of words in common, each as often as it is in both (Jaccard index of multisets).

    >>> shared("a b b c".split(), "a b d".split())
    0.4
    """
    one, other = Counter(first), Counter(second)
    union = (one | other).total()
    return (one & other).total() / union if union else 1.0


def counts(text: str) -> NDArray[np.uint32]:
    """The words of a text by bucket (BUCKETS,)."""
    codes = np.array([crc32(word.encode()) % BUCKETS for word in words(text)], np.int64)
    return np.bincount(codes, minlength=BUCKETS).astype(np.uint32)


def bound(counted: NDArray[np.uint32], least: float) -> Callable[[int, NDArray[np.int64]], NDArray[np.bool_]]:
    """Of texts by bucket (n, BUCKETS): which of some others may share at least `least` of their words with one."""

    def alike(one: int, others: NDArray[np.int64]) -> NDArray[np.bool_]:
        first, second = counted[one].astype(np.int64), counted[others].astype(np.int64)
        common = np.minimum(first, second).sum(axis=1)
        return np.asarray(common >= least * np.maximum(first, second).sum(axis=1))

    return alike
