"""Whitening gives the cosines of the authors' code: golden/eval.npz, wh.*"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from semsearch.errors import UsageError
from semsearch.evaluation.papers import whitening


@pytest.fixture(scope="module")
def arrays(golden: Path) -> Any:
    return np.load(golden / "eval.npz")


@pytest.mark.parametrize("dim", [10, 4])
@pytest.mark.parametrize("parts", [1, 7])
def test_cosines_are_those_of_the_authors_code(arrays: Any, dim: int, parts: int) -> None:
    a, b = arrays["wh.A"], arrays["wh.B"]
    found = whitening.fit(iter(np.array_split(np.concatenate([a, b]), parts)), dim)
    left, right = _unit(found(a)), _unit(found(b))
    assert np.abs((left * right).sum(axis=1) - arrays[f"wh.cos_dim{dim}"]).max() < 1e-6
    assert np.abs(left @ right.T - arrays[f"wh.full_cos_dim{dim}"]).max() < 1e-6
    assert np.abs(found.mean + arrays["wh.bias"][0]).max() < 1e-6


@pytest.mark.parametrize("power", [0.2, 0.5, 1.0])
def test_a_power_below_one_evens_the_directions_out_in_part(arrays: Any, power: float) -> None:
    a = arrays["wh.A"]
    variances = np.linalg.eigvalsh(np.cov(a.T))[::-1]
    found = whitening.fit([a], power=power)(a)
    assert np.allclose(np.cov(found.T), np.diag(variances ** (1 - power)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("power", [0.0, -1.0, 1.5])
def test_a_power_that_cannot_be_is_refused(arrays: Any, power: float) -> None:
    with pytest.raises(UsageError, match="above 0 and at most 1"):
        whitening.fit([arrays["wh.A"]], power=power)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
