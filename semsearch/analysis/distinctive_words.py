"""The words that distinguish groups of texts, as names of the groups; deterministic."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from semsearch.utils.languages.stop_words import MULTILINGUAL
from semsearch.utils.languages.writing_systems import UNSPACED

NAMED = 3  # words of a name
READ = 20_000  # texts whose words name the groups: as good as 100,000, in a fifth of the time
UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
WORD = re.compile(r"[^\W\d_]{3,24}")


def group_names(texts: Sequence[str], codes: NDArray[np.int64]) -> list[str]:
    """Names of groups by words that are in many of their texts and in few others; no two names are equal.

    `codes` (n,) are the groups of the texts, from 0 on. Of more than READ texts every second, third, … is used.
    """
    every, groups = -(-len(texts) // READ) or 1, len(np.bincount(codes))
    texts, codes = texts[::every], codes[::every]
    sizes = np.bincount(codes, minlength=groups)
    counts = [Counter[str]() for _ in sizes]
    for text, code in zip(texts, codes.tolist(), strict=True):
        counts[code].update(set(_words(text)))
    everywhere = sum(counts, Counter[str]())
    made: list[str] = []
    for code, size in enumerate(sizes.tolist()):
        best = _distinctive(counts[code], everywhere, size, len(texts))
        name = " · ".join(best) or "no distinctive word"
        made.append(f"{name} ({code + 1})" if name in made else name)
    return made


def _distinctive(inside: Counter[str], everywhere: Counter[str], size: int, total: int) -> list[str]:
    """Words by their share of the group times the log of how much larger that is than their share of the rest."""

    def score(word: str) -> float:
        share, rest = inside[word] / size, (everywhere[word] - inside[word]) / max(1, total - size)
        return share * log(share / (rest + 1 / total))

    least = 2 if size > 3 else 1
    words = sorted((word for word in inside if inside[word] >= least), key=lambda word: (-score(word), word))
    best: list[str] = []
    for word in words:
        if score(word) <= 0 or len(best) == NAMED:
            break
        if not any(word[:4] == other[:4] for other in best if len(word) > 3):  # engine, engines
            best.append(word)
    return best


def _words(text: str) -> Iterator[str]:
    """The words of a text without function words; of unspaced scripts every two letters.

    >>> list(_words("The engine of a diesel car"))
    ['engine', 'diesel', 'car']
    """
    for run in UNSPACED_RUN.findall(text):
        yield from (run[at : at + 2] for at in range(len(run) - 1))
    for word in WORD.findall(UNSPACED_RUN.sub(" ", text).casefold()):
        if word not in MULTILINGUAL:
            yield word
