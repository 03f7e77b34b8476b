"""Alignment, uniformity and anisotropy as the authors' code computes them: eval.npz."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semsearch.evaluation import geometry

Space = tuple[Any, Any, Any, dict[str, float]]


@pytest.fixture(scope="module")
def space(golden: Path) -> Space:
    """Vectors of either side (30, 12), gold scores (30,), and what was measured of them."""
    arrays = np.load(golden / "eval.npz")
    wanted = json.loads((golden / "eval_meta.json").read_text(encoding="utf-8"))["align_uniform"]
    return arrays["au.A"], arrays["au.B"], arrays["au.scores"], wanted


@pytest.mark.parametrize(("key", "ours"), [("gt_4", "> 4.0"), ("ge_4", ">= 4.0"), ("gt_4.5", "> 4.5"),
                                           ("ge_4.5", ">= 4.5")])  # fmt: skip
def test_alignment_is_that_of_wang_and_isola_on_rows_of_length_1(space: Space, key: str, ours: str) -> None:
    a, b, gold, wanted = space
    value, pairs = geometry.alignments(a, b, gold)[ours]
    assert value == pytest.approx(wanted[f"align_{key}"], rel=1e-9)
    assert pairs == (gold > float(ours.split()[1])).sum() + ("=" in ours) * (gold == float(ours.split()[1])).sum()


@pytest.mark.parametrize("threshold", [4, 4.5])
def test_alignment_of_rows_as_they_are_is_there_too(space: Space, threshold: float) -> None:
    a, b, gold, wanted = space
    chosen = gold > threshold
    assert geometry.alignment(a[chosen], b[chosen]) == pytest.approx(
        wanted[f"align_gt_{threshold}_unnormalised"], rel=1e-9
    )


def test_uniformity_is_that_of_wang_and_isola(space: Space) -> None:
    a, b, _, wanted = space
    left, right = geometry.unit(a), geometry.unit(b)
    both = geometry.uniformity(np.concatenate([left, right]))
    assert both == pytest.approx(wanted["uniform_all_2n_sentences"], rel=1e-9)
    assert geometry.uniformity(left) == pytest.approx(wanted["uniform_A_only"], rel=1e-9)
    assert geometry.uniformity(right) == pytest.approx(wanted["uniform_B_only"], rel=1e-9)
    assert (geometry.uniformity(left) + geometry.uniformity(right)) / 2 == pytest.approx(
        wanted["uniform_mean_of_A_and_B"], rel=1e-9
    )


def test_anisotropy_is_equation_1_and_what_the_released_code_makes_of_it(space: Space) -> None:
    rows, wanted = geometry.unit(space[0]), space[3]
    assert geometry.anisotropy(rows) == pytest.approx(wanted["anisotropy_eq1"], rel=1e-9)
    released = geometry.anisotropy(rows, with_self=True)
    assert released == pytest.approx(wanted["anisotropy_released_code_incl_self"], rel=1e-9)
