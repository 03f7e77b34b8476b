"""Geometry: measures with known values, or computed in another way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from semsearch.errors import UsageError
from semsearch.evaluation import geometry

RNG = np.random.default_rng(5)
ROWS = geometry.unit(RNG.normal(size=(60, 8)) + 0.3)


def test_pairwise_measures_are_those_of_a_plain_double_loop() -> None:
    pairs = [(a, b) for at, a in enumerate(ROWS) for b in ROWS[:at]]
    distances = [float(((a - b) ** 2).sum()) for a, b in pairs]
    assert geometry.uniformity(ROWS) == pytest.approx(np.log(np.mean(np.exp(-2 * np.array(distances)))), rel=1e-9)
    assert geometry.anisotropy(ROWS) == pytest.approx(np.mean([a @ b for a, b in pairs]), rel=1e-9)
    counts = np.zeros(len(ROWS), dtype=int)
    for at, row in enumerate(ROWS):
        nearest = [other for other in np.argsort(-(ROWS @ row)) if other != at][:10]
        counts[nearest] += 1
    assert geometry.occurrences(ROWS).tolist() == counts.tolist()


def test_pairwise_measures_of_several_blocks_are_those_of_the_whole_matrix() -> None:
    rows = geometry.unit(RNG.normal(size=(2100, 8)) + 0.3)
    assert len(rows) < geometry.BLOCK < len(rows) ** 2  # two blocks, the last one short
    cosines = rows @ rows.T
    below = cosines[np.tril_indices(len(rows), k=-1)]
    assert geometry.uniformity(rows) == pytest.approx(np.log(np.mean(np.exp(-2 * (2 - 2 * below)))), rel=1e-9)
    assert geometry.anisotropy(rows) == pytest.approx(below.mean(), rel=1e-9)
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argpartition(-cosines, 10, axis=1)[:, :10]
    assert geometry.occurrences(rows).tolist() == np.bincount(nearest.ravel(), minlength=len(rows)).tolist()


def test_hubness_is_the_skewness_that_scipy_computes() -> None:
    stats = pytest.importorskip("scipy.stats")
    assert geometry.hubness(ROWS) == pytest.approx(stats.skew(geometry.occurrences(ROWS)), rel=1e-9)


def test_effective_rank_counts_directions_of_equal_weight() -> None:
    assert geometry.effective_rank(np.eye(5)) == pytest.approx(5)
    assert geometry.effective_rank(np.ones((7, 3))) == pytest.approx(1)
    values = np.linalg.svd(ROWS, compute_uv=False)
    shares = values / values.sum()
    assert geometry.effective_rank(ROWS) == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-6)
    assert geometry.effective_rank(ROWS[:3]) == pytest.approx(geometry.effective_rank(np.vstack([ROWS[:3], 0 * ROWS])))


def test_equal_vectors_score_worst_in_every_measure() -> None:
    cone, spread = geometry.unit(RNG.normal(size=(60, 8)) * 0.01 + 1), geometry.unit(RNG.normal(size=(60, 8)))
    narrow, wide = geometry.describe(cone), geometry.describe(spread)
    assert narrow["uniformity"] > wide["uniformity"] and narrow["anisotropy"] > 0.99 > wide["anisotropy"]
    assert narrow["effective_rank"] < wide["effective_rank"]


def test_measures_do_not_depend_on_the_length_of_the_rows() -> None:
    stretched = ROWS * RNG.uniform(0.1, 9, size=(len(ROWS), 1))
    assert geometry.describe(stretched) == pytest.approx(geometry.describe(ROWS))
    assert geometry.alignments(stretched, ROWS, [5] * len(ROWS))["> 4.5"] == (pytest.approx(0, abs=1e-12), len(ROWS))


def test_vectors_that_only_encode_length_have_maximal_length_bias() -> None:
    lengths = RNG.integers(1, 40, size=200)
    angle = np.log1p(lengths)
    by_length = np.stack([np.cos(angle / 3), np.sin(angle / 3)], axis=1)
    assert geometry.length_bias(by_length, lengths.tolist()) > 0.999
    assert abs(geometry.length_bias(geometry.unit(RNG.normal(size=(200, 8))), lengths.tolist())) < 0.05


def test_alignment_without_pairs_is_nan() -> None:
    value, pairs = geometry.alignments(ROWS, ROWS, [0] * len(ROWS))["> 4.0"]
    assert np.isnan(value) and pairs == 0


@pytest.mark.parametrize("rows", [np.empty((0, 4)), np.ones((2, 4))])
def test_too_few_rows_have_no_geometry(rows: Any) -> None:
    with pytest.raises(UsageError, match="have no geometry"):
        geometry.describe(rows)
