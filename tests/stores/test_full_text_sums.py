"""Scores added up over words: the best, as if all were sorted, and bm25 to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from semsearch.stores.local.full_text.sums import best_sums
from semsearch.stores.sql import bm25


@pytest.mark.parametrize("seed", range(30))
def test_the_best_sums_are_those_of_all_places_sorted(seed: int) -> None:
    random = np.random.default_rng(seed)
    size, k = int(random.integers(1, 400)), int(random.integers(1, 60))
    parts = []
    for _ in range(random.integers(0, 5)):
        places = np.flatnonzero(random.random(size) < random.choice([0.02, 0.3, 0.9] if seed % 2 else [0.01, 0.03]))
        parts.append((places, random.integers(1, 5, len(places)) / 7))  # many equal scores
    sums, right = np.zeros(size), np.zeros(size)
    for places, scores in parts:
        right[places] += scores
    best = sorted(np.flatnonzero(right).tolist(), key=lambda place: (-right[place], place))[:k]
    found = best_sums(parts, k, sums)
    assert found.keys.tolist() == sorted(best)
    assert found.scores.tolist() == right[sorted(best)].tolist()
    assert not sums.any()


@pytest.mark.parametrize("dtype", [np.uint16, np.int64])
def test_scores_of_many_passages_are_those_of_each_alone(dtype: type[np.integer]) -> None:
    random = np.random.default_rng(3)
    lengths, counts = random.integers(0, 60, 3_000).astype(dtype), random.integers(1, 4, 3_000)
    many = bm25.scores(2.5, counts, lengths, 17.25)
    each = [bm25.scores(2.5, counts[n : n + 1], lengths[n : n + 1], 17.25)[0] for n in range(len(counts))]
    assert many.tolist() == each
