"""SG and SG-OPT: losses, gradients and the whole of a step are those of the authors' code, in float64.

The released class of SG raises, so its figures are those of the paper's formula; that of OPT2 loses a negative, which
the ablation "opt2-released" does too.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from semsearch.models.networks import loading, pooling  # noqa: E402  (needs torch)
from semsearch.models.networks.masked import Inputs  # noqa: E402
from semsearch.training.hyperparameters import Shape  # noqa: E402
from semsearch.training.objectives import _self_guided, make  # noqa: E402
from semsearch.training.objectives._contrastive import info_nce  # noqa: E402

EQUAL = {"rtol": 1e-6, "atol": 1e-10}
ONE_LAYER: Mapping[str, Callable[..., Any]] = {
    "opt1": _self_guided.opt1,
    "opt2": _self_guided.opt2_released,
    "opt2_paper": info_nce,
    "sg_base": _self_guided.base,
}
OBJECTIVES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "opt1": ("sg_opt", {"ablation": "opt1"}),
    "opt2": ("sg_opt", {"ablation": "opt2-released"}),
    "opt2_paper": ("sg_opt", {"ablation": "opt2"}),
    "sg_base": ("sg", {}),
    "sg_opt3": ("sg_opt", {}),
}
SHAPE = Shape(dim=16, width=16, depth=3)


@pytest.fixture(scope="module")
def arrays(golden: Path) -> Mapping[str, Any]:
    return dict(np.load(golden / "sg.npz"))


@pytest.fixture(scope="module")
def told(golden: Path) -> Mapping[str, Any]:
    found: dict[str, Any] = json.loads((golden / "sg_meta.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("temperature", [0.01, 0.1])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_losses_and_gradients_are_those_of_the_authors_code(
    name: str, temperature: float, arrays: Mapping[str, Any], told: Mapping[str, Any]
) -> None:
    method, options = OBJECTIVES[name]
    key = f"{name}_t{temperature}"
    views = arrays["H"]
    if name in ONE_LAYER:  # whichever layer is drawn, it is the one that was drawn there
        views = views[np.arange(len(views)), arrays["layer_idx"]][:, None]
    leaves = [torch.tensor(each, requires_grad=True) for each in (arrays["C"], views)]
    loss = make(method, SHAPE, {**options, "temperature": temperature, "hidden": 0}).loss(leaves)
    loss.backward()
    np.testing.assert_allclose(loss.detach(), told[key]["loss"], **EQUAL)
    for letter, leaf in zip("CH", leaves, strict=True):
        if (wanted := arrays.get(f"{key}.grad{letter}")) is not None:
            np.testing.assert_allclose(leaf.grad.reshape(wanted.shape), wanted, **EQUAL)


def test_the_mean_of_sg_is_over_both_vectors_of_every_text(arrays: Mapping[str, Any]) -> None:
    """The released class, its labels mended, divides by half as many."""
    assert arrays["sg_base_t0.1.per_m"].mean() == pytest.approx(arrays["sg_base_t0.1.loss"])
    assert arrays["sg_base_t0.1.loss_sum_over_b"] == pytest.approx(2 * arrays["sg_base_t0.1.loss"])


@pytest.mark.parametrize("state", ["init", "perturbed"])
@pytest.mark.parametrize("pool", ["mean", "max"])
def test_a_whole_step_is_that_of_the_authors_code(
    pool: str, state: str, golden: Path, arrays: Mapping[str, Any], told: Mapping[str, Any]
) -> None:
    network = loading.masked(golden / "models" / "tiny-bert", needs=("pooler",)).double()
    frozen = copy.deepcopy(network)
    if state == "perturbed":
        moved(network)
    ids, mask = (torch.tensor(arrays[f"full.{name}"]).long() for name in ("input_ids", "attention_mask"))
    inputs = Inputs(ids, mask)
    tuned = network.read(inputs, pooling.first(ids))[:, 0]
    pooled = {"mean": pooling.mean_pool, "max": pooling.max_pool}[pool]
    with torch.no_grad():
        views = torch.stack([pooled(hidden, mask) for hidden in frozen.states(inputs, range(4))], dim=1)
    np.testing.assert_allclose(tuned.detach(), arrays[f"full.c.{state}"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(views, arrays[f"full.views.{pool}"], rtol=1e-6, atol=1e-9)

    objective = make("sg_opt", Shape(dim=32, width=32, depth=3), {"pool": pool, "hidden": 48}).double()
    assert objective.views[1].pool == pool
    head = {"0.weight": "W1", "0.bias": "b1", "2.weight": "W2", "2.bias": "b2"}
    objective.head.load_state_dict({name: torch.tensor(arrays[f"proj.{array}"]) for name, array in head.items()})
    penalty = objective.penalty(network, frozen)
    assert penalty is not None
    loss = objective.loss([tuned, views]) + penalty
    wanted = told[f"full.SG-OPT.{pool}.{state}"]
    np.testing.assert_allclose(penalty.detach(), 0.1 * wanted["reg"], **EQUAL)
    np.testing.assert_allclose(loss.detach(), wanted["loss"], **EQUAL)


def moved(network: Any) -> None:
    """Noise on every parameter but the embeddings', in the order of the names that transformers gives them."""
    chance = np.random.default_rng(66)
    pooler = {f"pooler.dense.{part}": getattr(network.pooler[0], part) for part in ("weight", "bias")}
    own = dict(network.model.named_parameters()) | pooler
    with torch.no_grad():
        for name in sorted(own):
            if not name.startswith("embeddings."):
                own[name] += 0.01 * torch.tensor(chance.standard_normal(tuple(own[name].shape)))


def test_no_golden_array_is_left_out(arrays: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    compared = {f"{name}_t{temperature}" for name in OBJECTIVES for temperature in (0.01, 0.1)}
    whole = {f"full.SG-OPT.{pool}.{state}" for pool in ("mean", "max") for state in ("init", "perturbed")}
    said = {"official_base_error", "bert_f_training_flag_after_loss_model.train()", "num_trainable_embeddings"}
    assert set(told) - said == compared | whole
    inputs = {"C", "H", "layer_idx", "full.input_ids", "full.attention_mask"}
    used = {name for name in arrays if name.startswith(("proj.", "full.views.", "full.c."))}
    assert {name.rpartition(".")[0] for name in set(arrays) - inputs - used} <= compared | whole
