"""Whitening gives the cosines of the authors' code: golden/eval.npz, wh.*"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from semsearch.evaluation import whitening


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


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
