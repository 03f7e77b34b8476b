"""Clusters of passages by k-means, the words that distinguish each, and near-duplicates; all deterministic."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from semsearch.utils.stop_words import MULTILINGUAL
from semsearch.utils.writing_systems import UNSPACED

Floats: TypeAlias = NDArray[np.float32]
Codes: TypeAlias = NDArray[np.int64]
ROUNDS = 30
NAMED = 3  # words of a name
UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
WORD = re.compile(r"[^\W\d_]{3,24}")
READ = 20_000  # texts whose words name the groups: as good as 100,000, in a fifth of the time
PAIRS = 200
CELLS = 8_000_000  # cosines at a time


def clusters(vectors: Floats, k: int) -> Codes:
    """(n, d) unit rows -> (n,) the cluster of each, the largest is 0. Spherical k-means (Dhillon, Modha 2001).

    Starts are spread by k-means++ (Arthur, Vassilvitskii 2007), with a fixed seed. At most k clusters, none empty.
    """
    if not len(vectors):
        return np.empty(0, np.int64)
    centres, codes = _spread(vectors, k), np.full(len(vectors), -1, np.int64)
    for _ in range(ROUNDS):
        found = np.argmax(vectors @ centres.T, axis=1)
        if np.array_equal(found, codes):
            break
        codes = found
        for one in np.unique(codes):
            mean = vectors[codes == one].sum(axis=0)
            centres[one] = mean / (np.linalg.norm(mean) or 1)
    _, places, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    ranks = np.argsort(np.argsort(-sizes, kind="stable"))
    return ranks[places].astype(np.int64)


def _spread(vectors: Floats, k: int) -> Floats:
    random = np.random.default_rng(0)
    chosen = [int(random.integers(len(vectors)))]
    away = 1 - vectors @ vectors[chosen[0]]
    while len(chosen) < k:
        weight = np.clip(away, 0, None).astype(np.float64) ** 2
        if weight.sum() < 1e-9:  # all that is left equals a centre
            break
        chosen.append(int(random.choice(len(vectors), p=weight / weight.sum())))
        away = np.minimum(away, 1 - vectors @ vectors[chosen[-1]])
    return vectors[chosen].copy()


def names(texts: Sequence[str], codes: Codes) -> list[str]:
    """For each group the words that are in many of its passages and in few others; no two names are equal.

    Of more than READ texts every second, third, … is used.
    """
    every, groups = -(-len(texts) // READ) or 1, len(np.bincount(codes))
    texts, codes = texts[::every], codes[::every]
    sizes = np.bincount(codes, minlength=groups)
    counts = [Counter[str]() for _ in sizes]
    for text, code in zip(texts, codes.tolist(), strict=True):
        counts[code].update(set(words(text)))
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
    found = sorted((word for word in inside if inside[word] >= least), key=lambda word: (-score(word), word))
    best: list[str] = []
    for word in found:
        if score(word) <= 0 or len(best) == NAMED:
            break
        if not any(word[:4] == other[:4] for other in best if len(word) > 3):  # engine, engines
            best.append(word)
    return best


def words(text: str) -> Iterator[str]:
    """The words of a text without function words; of unspaced scripts every two letters.

    >>> list(words("The engine of a diesel car"))
    ['engine', 'diesel', 'car']
    """
    for run in UNSPACED_RUN.findall(text):
        yield from (run[at : at + 2] for at in range(len(run) - 1))
    for word in WORD.findall(UNSPACED_RUN.sub(" ", text).casefold()):
        if word not in MULTILINGUAL:
            yield word


def near(vectors: Floats, owners: Sequence[str], least: float = 0.95) -> tuple[list[tuple[int, int, float]], bool]:
    """Pairs of rows of different owners with a cosine above `least`, the closest first; whether there are more.

    Blocks of rows against all that follow: the memory is that of one block.
    """
    _, owner = np.unique(np.array(owners, dtype=object), return_inverse=True)
    best: list[tuple[float, int, int]] = []
    more, block = False, max(1, CELLS // max(1, len(vectors)))
    for at in range(0, len(vectors), block):
        rest = vectors[at:]
        cosines = (rest[:block] @ rest.T).ravel()
        found = np.flatnonzero(cosines > least)
        first, second = np.divmod(found, len(rest))
        apart = (second > first) & (owner[first + at] != owner[second + at])
        found, first, second = found[apart], first[apart] + at, second[apart] + at
        closest = np.argsort(-cosines[found], kind="stable")[:PAIRS]
        more, found = more or len(found) > PAIRS, found[closest]
        best += zip((-cosines[found]).tolist(), first[closest].tolist(), second[closest].tolist(), strict=True)
        best.sort()
        more, best = more or len(best) > PAIRS, best[:PAIRS]
    return [(first, second, min(1.0, -minus)) for minus, first, second in best], more
