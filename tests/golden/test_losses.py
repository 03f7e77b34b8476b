"""Losses, logits and gradients are those of the authors' code on the same vectors, in float64.

The weight of 0.7 is a float32 there, so what depends on it agrees to nine digits and not to all. The labels of
cosent.nli are not among the arrays; of all 3 ** 10 labels in 0, 1, 2 these are the only ones that give its loss.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from semsearch.training.hyperparameters import Shape  # noqa: E402
from semsearch.training.objectives import make  # noqa: E402  (needs torch)
from semsearch.training.objectives._contrastive import logits  # noqa: E402

EQUAL = {"rtol": 1e-6, "atol": 1e-10}
SHAPE = Shape(dim=16, width=16, columns=("anchor", "positive", "negative"))
PLAIN = {"head": False}
CASES = {  # array, with its temperature as {}: (objective, options, how many of Z1, Z2, Z3 it takes)
    "infonce_t{}": ("simcse", PLAIN, 2),
    "sup_hardneg_t{}_w0": ("supervised", {}, 3),
    "sup_hardneg_t{}_w0.7": ("supervised", {"hard_weight": 0.7}, 3),
    "ext_infonce_t{}": ("cotbert", PLAIN, 3),
    "ext_infonce_without_aipjm_t{}": ("cotbert", {**PLAIN, "third": False}, 3),
}
ALIKE = ("cot_4way_t0.05", "st_mnrl_triplet")  # whose loss is that of sup_hardneg_t0.05_w0
NLI = np.array([2, 1, 0, 2, 1, 0, 2, 2, 0, 1])
COSENT = ("binary", "nli", "graded", "all_equal", "single")


@pytest.fixture(scope="module")
def arrays(golden: Path) -> Mapping[str, Any]:
    return dict(np.load(golden / "losses.npz"))


@pytest.fixture(scope="module")
def told(golden: Path) -> Mapping[str, Any]:
    found: dict[str, Any] = json.loads((golden / "losses_meta.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("temperature", [0.05, 0.1])
@pytest.mark.parametrize("name", CASES)
def test_contrasts_are_those_of_the_authors_code(
    name: str, temperature: float, arrays: Mapping[str, Any], told: Mapping[str, Any]
) -> None:
    method, options, count = CASES[name]
    key = name.format(temperature)
    objective = make(method, SHAPE, {**options, "temperature": temperature})
    leaves = [torch.tensor(arrays[f"Z{at}"], requires_grad=True) for at in range(1, count + 1)]
    loss = objective.loss(leaves)
    loss.backward()
    np.testing.assert_allclose(loss.detach(), told[key]["loss"], **EQUAL)
    for at, leaf in enumerate(leaves, start=1):
        if (wanted := arrays.get(f"{key}.grad{at}")) is not None:
            np.testing.assert_allclose(leaf.grad, wanted, **EQUAL)


@pytest.mark.parametrize("name", ALIKE)
def test_what_is_the_same_loss_by_another_name_is(
    name: str, arrays: Mapping[str, Any], told: Mapping[str, Any]
) -> None:
    """Sentence-transformers' triplets; and CoT-BERT's fourth view, which has no part in its loss, and no gradient."""
    leaves = [torch.tensor(arrays[f"Z{at}"], requires_grad=True) for at in (1, 2, 3)]
    loss = make("supervised", SHAPE).loss(leaves)
    loss.backward()
    np.testing.assert_allclose(loss.detach(), told[name]["loss"], **EQUAL)
    for at, leaf in enumerate(leaves, start=1):
        if (wanted := arrays.get(f"{name}.grad{at}")) is not None:
            np.testing.assert_allclose(leaf.grad, wanted, **EQUAL)
    assert np.abs(arrays.get(f"{name}.grad4", np.zeros(1))).max() == 0


def test_logits_are_those_of_the_authors_code(arrays: Mapping[str, Any]) -> None:
    first, second, third = (torch.tensor(arrays[f"Z{at}"]) for at in (1, 2, 3))
    pair, hard, denied = (first, second), (first, third), (second, third)
    heavier = np.concatenate([np.zeros((8, 8)), 0.7 * np.eye(8)], axis=1)
    wanted = {
        "infonce_t0.05": logits([pair], 0.05),
        "sup_hardneg_t0.05_w0": logits([pair, hard], 0.05),
        "sup_hardneg_t0.05_w0.7": logits([pair, hard], 0.05) + heavier,
        "sup_hardneg_t0.1_w0": logits([pair, hard], 0.1),
        "sup_hardneg_t0.1_w0.7": logits([pair, hard], 0.1) + heavier,
        "ext_infonce_t0.05": logits([pair, hard, denied], 0.05),
        "cot_4way_t0.05": logits([pair, hard], 0.05),
    }
    assert {f"{name}.logits" for name in wanted} == {name for name in arrays if name.endswith(".logits")}
    for name, found in wanted.items():
        np.testing.assert_allclose(found, arrays[f"{name}.logits"], rtol=1e-6, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("name", COSENT)
def test_cosent_is_that_of_the_authors_code(name: str, arrays: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    labels = torch.tensor(arrays.get(f"cosent.{name}.labels", NLI))
    sides = [torch.tensor(arrays[f"cosent.{side}"][: len(labels)], requires_grad=True) for side in "UV"]
    loss = make("cosent", SHAPE).loss(sides, labels)
    loss.backward()
    np.testing.assert_allclose(loss.detach(), told[f"cosent.{name}"]["loss"], **EQUAL)
    for side, leaf in zip("UV", sides, strict=True):
        if (wanted := arrays.get(f"cosent.{name}.grad{side}")) is not None:
            np.testing.assert_allclose(leaf.grad, wanted, **EQUAL)
    if (gentle := arrays.get(f"cosent.{name}.loss_lambda1")) is not None:
        np.testing.assert_allclose(make("cosent", SHAPE, {"scale": 1.0}).loss(sides, labels).detach(), gentle, **EQUAL)


def test_no_golden_array_is_left_out(arrays: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    compared = {name.format(t) for name in CASES for t in (0.05, 0.1)} | set(ALIKE)
    compared |= {f"cosent.{name}" for name in COSENT}
    assert set(told) == compared
    vectors = {"Z1", "Z2", "Z3", "Z4", "cosent.U", "cosent.V"}
    assert {name.rpartition(".")[0] for name in arrays if name not in vectors} <= compared
