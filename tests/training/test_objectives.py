"""What each objective promises beyond what all of them do; see contracts/test_every_objective.py for that."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.arithmetic import ROUNDING, error
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from helpers import training  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

from semsearch.encoders.encoder import Encoder  # noqa: E402
from semsearch.errors import MissingExtra, UsageError  # noqa: E402
from semsearch.models.networks import (  # noqa: E402
    adapters,
    loading,
    pooling,
)
from semsearch.models.networks.masked import Inputs  # noqa: E402
from semsearch.training import (  # noqa: E402
    Dataset,
    TrainingConfig,
    objectives,
    train,
)
from semsearch.training.hyperparameters import Shape  # noqa: E402
from semsearch.training.objectives import _matryoshka, _self_guided, make  # noqa: E402
from semsearch.training.objectives._base import View  # noqa: E402
from semsearch.training.objectives._contrastive import cosines, info_nce, logits, with_negatives  # noqa: E402
from semsearch.training.objectives.cosent import ordered  # noqa: E402

SHAPE = Shape(width=12, depth=3, dim=12, columns=("anchor", "positive", "negative"), classes=3)
PAIRS = ("anchor", "positive")


def some(rows: int = 5, seed: int = 0, width: int = 12) -> Any:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def settings(golden: Path, method: str, model: str = "tiny-bert", **more: Any) -> TrainingConfig:
    base = f"{golden / 'models' / model}{more.pop('template', '')}"
    return TrainingConfig(
        method, base, **{"steps": 2, "batch_size": 4, "learning_rate": 0.01, "warmup": 0, "device": "cpu", **more}
    )


def test_half_the_temperature_doubles_every_logit() -> None:
    blocks = [(some(), some(seed=1))]
    assert torch.allclose(logits(blocks, 0.05), 2 * logits(blocks, 0.1))


def test_the_length_of_a_vector_has_no_part_in_a_contrast() -> None:
    a, b = some(), some(seed=1)
    assert torch.allclose(info_nce(a, b), info_nce(7 * a, b / 9))


def test_a_zero_vector_has_cosine_zero_with_everything() -> None:
    assert cosines(torch.zeros(2, 4), torch.ones(3, 4)).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_pair_alone_in_its_batch_has_nothing_to_learn() -> None:
    assert info_nce(some(1), some(1, seed=1)) == 0


def test_the_weight_of_an_own_negative_is_the_logarithm_of_the_papers() -> None:
    """SimCSE's eq. 5 multiplies the term of the own hard negative by α."""
    a, p, n = (some(seed=seed) for seed in range(3))
    alpha = 3.0
    terms = [(cosines(a, each) / 0.05).exp() for each in (p, n)]
    weights = torch.ones(5, 5) + (alpha - 1) * torch.eye(5)
    wanted = -(terms[0].diagonal() / (terms[0] + weights * terms[1]).sum(1)).log().mean()
    assert with_negatives(a, p, n, 0.05, float(np.log(alpha))) == pytest.approx(float(wanted))


def test_supervision_without_negatives_is_contrast_within_the_batch() -> None:
    objective = make("supervised", replace(SHAPE, columns=PAIRS))
    assert [view.column for view in objective.views] == list(PAIRS)
    a, b = some(), some(seed=1)
    assert objective.loss([a, b]) == info_nce(a, b)
    assert [view.column for view in make("supervised", SHAPE).views] == ["anchor", "positive", "negative"]


@pytest.mark.parametrize(("method", "count"), [("promptbert", 2), ("cotbert", 3)])
def test_a_positive_may_be_the_anchors_own_template_or_any_other(method: str, count: int) -> None:
    usual = make(method, SHAPE).views
    assert usual[0] == View() and len({view.prompt for view in usual}) == count
    assert make(method, SHAPE, {"positive": "same"}).views[1] == View()
    other = make(method, SHAPE, {"positive": 'It says "[X]": [MASK] .'}).views[1]
    assert other.prompt is not None and other.prompt.text == 'It says "[X]": [MASK] .'


@given(
    scores=st.lists(st.floats(-1, 1), min_size=1, max_size=12),
    labels=st.lists(st.integers(0, 4), min_size=12, max_size=12),
)
def test_cosent_is_its_formula_for_any_labels(scores: list[float], labels: list[int]) -> None:
    told = labels[: len(scores)]
    pairs = [
        (a, b) for a, low in zip(scores, told, strict=True) for b, high in zip(scores, told, strict=True) if low < high
    ]
    wanted = np.log1p(sum(np.exp(20 * (a - b)) for a, b in pairs))
    assert ordered(torch.tensor(scores, dtype=torch.float64), torch.tensor(told)) == pytest.approx(wanted)


def test_cosent_asks_for_the_order_of_labels_alone() -> None:
    scores = some(6)[:, 0]
    graded, ranks = torch.tensor([0.1, 4.0, 4.0, 2.5, 0.1, 5.0]), torch.tensor([0, 2, 2, 1, 0, 3])
    assert ordered(scores, graded) == ordered(scores, ranks)


def test_cosent_has_neither_loss_nor_gradient_where_all_labels_are_one(
    golden: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    objective = make("cosent", SHAPE)
    sides = [some().requires_grad_(), some(seed=1).requires_grad_()]
    loss = objective.loss(sides, torch.ones(5))
    loss.backward()
    assert loss == 0 and all(side.grad.abs().sum() == 0 for side in sides)
    assert not objective.teaches([1.0, 1.0]) and objective.teaches([1.0, 2.0])
    examples = replace(training.examples(8, columns=PAIRS), labels=[3.0] * 8)
    with caplog.at_level(logging.WARNING):
        train(settings(golden, "cosent"), examples, tmp_path / "out")
    assert "2 of 2 batches had a single label" in caplog.text


def test_cosent_keeps_the_order_of_cosines_that_bf16_holds_for_one() -> None:
    """Two pairs whose cosines differ by 0.0002, in vectors of bf16."""
    one = torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=torch.bfloat16)
    other = torch.tensor([[1.0, 0.0], [1.0, 0.02]], dtype=torch.bfloat16)
    objective = make("cosent", SHAPE, {"scale": 1000.0})
    right, wrong = (float(objective.loss([one, other], torch.tensor(labels))) for labels in ([1.0, 0.0], [0.0, 1.0]))
    assert wrong - right == pytest.approx(0.2, rel=0.01)


def test_a_classifier_sees_both_vectors_and_how_they_differ_without_a_bias() -> None:
    objective = make("softmax", replace(SHAPE, classes=4)).double()
    assert {name: tuple(value.shape) for name, value in objective.named_parameters()} == {"classifier.weight": (4, 36)}
    one, other, labels = some(), some(seed=1), torch.tensor([0, 3, 1, 2, 2])
    scores = torch.cat([one, other, (one - other).abs()], dim=1) @ objective.classifier.weight.T
    wanted = -scores.log_softmax(1)[torch.arange(5), labels].mean()
    assert float(objective.loss([one, other], labels).detach()) == pytest.approx(float(wanted.detach()))


def test_classes_are_counted_and_what_is_none_is_refused() -> None:
    assert Dataset({"anchor": list("abc")}, [0, 3.0, 1]).class_count() == 4
    for labels in ([0, 0.5], [-1, 1]):
        with pytest.raises(UsageError, match=r"a class is 0, 1, 2"):
            Dataset({"anchor": list("ab")}, labels).class_count()
    with pytest.raises(UsageError, match="needs two"):
        make("softmax", replace(SHAPE, classes=1))


def test_every_layer_is_drawn_for_some_texts() -> None:
    """Each text has its own draw, every layer the same chance."""
    torch.manual_seed(0)
    layers = torch.arange(4.0)[None, :, None].repeat(4000, 1, 1)
    drawn = torch.bincount(_self_guided.sampled(layers)[:, 0].long(), minlength=4)
    assert (drawn - 1000).abs().max() < 120


def test_layers_below_the_lowest_have_no_part() -> None:
    vectors = [some(), some(20, seed=1).view(5, 4, 12)]
    objective = make("sg-opt", SHAPE, {"lowest": 2, "hidden": 0})
    assert objective.loss(vectors) == pytest.approx(float(_self_guided.opt3(vectors[0], vectors[1][:, 2:], 0.01)))
    with pytest.raises(UsageError, match="lowest"):
        make("sg", SHAPE, {"lowest": 4})


def test_guidance_needs_vectors_as_wide_as_the_layers_and_words_that_it_knows() -> None:
    with pytest.raises(UsageError, match="12"):
        make("sg", replace(SHAPE, dim=8))
    with pytest.raises(UsageError, match="pool"):
        make("sg", SHAPE, {"pool": "median"})
    with pytest.raises(UsageError, match="ablation"):
        make("sg-opt", SHAPE, {"ablation": "opt3"})


def test_the_regulariser_is_the_squared_distance_of_what_learns() -> None:
    tuned, frozen = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    frozen.load_state_dict(tuned.state_dict())
    objective = make("sg", SHAPE, {"hidden": 0})
    assert objective.penalty(tuned, frozen) == 0
    with torch.no_grad():
        tuned.weight += 0.5
        tuned.bias += 3.0
    assert float(objective.penalty(tuned, frozen).detach()) == pytest.approx(0.1 * (6 * 0.25 + 2 * 9))
    tuned.bias.requires_grad_(False)
    assert float(objective.penalty(tuned, frozen).detach()) == pytest.approx(0.1 * 6 * 0.25)
    assert make("sg", SHAPE, {"hidden": 0, "strength": 0.0}).penalty(tuned, frozen) is None


def test_the_frozen_copy_says_what_it_said_before_and_the_embeddings_stay(golden: Path) -> None:
    """Views are those of the untuned network without dropout, however much is learned; the words are held."""
    learner, objective = training.learner(
        golden / "models" / "tiny-bert", "sg_opt", options={"hidden": 24, "pool": "mean"}
    )
    view = objective.views[1]
    rows = learner.rows(view, training.TEXTS[:3])
    learner.train()
    before = learner.vectors(view, rows)
    plain = loading.masked(golden / "models" / "tiny-bert")
    ids = torch.tensor(rows[2])[None]
    states = plain.states(Inputs(ids, torch.ones_like(ids)), range(4))
    wanted = torch.stack([pooling.mean_pool(each, torch.ones_like(ids)) for each in states], dim=1)[0]
    assert torch.allclose(before[2], wanted, atol=ROUNDING) and not before.requires_grad
    with torch.no_grad():
        for value in learner.network.parameters():
            value += 0.1
    assert torch.equal(learner.vectors(view, rows), before)
    held = {name for name, value in learner.network.named_parameters() if not value.requires_grad}
    assert held == {name for name in dict(learner.network.named_parameters()) if name.startswith("model.embeddings.")}


def nested(method: str, dims: tuple[int, ...], shape: Shape = SHAPE, **options: Any) -> _matryoshka.MatryoshkaObjective:
    return _matryoshka.MatryoshkaObjective(shape, dims, lambda each: make(method, each, options))


def test_a_nested_loss_is_that_of_every_beginning_and_of_the_whole() -> None:
    vectors = [some(seed=seed) for seed in range(3)]
    objective = nested("cotbert", (4, 8), head=False)
    plain = make("cotbert", SHAPE, {"head": False})
    wanted = sum(float(plain.loss([each[:, :dim] for each in vectors])) for dim in (4, 8, 12))
    assert objective.loss(vectors) == pytest.approx(wanted)
    assert objective.views == plain.views and objective.labels == plain.labels


def test_a_nested_objective_has_a_head_for_every_length() -> None:
    shapes = {name: tuple(value.shape) for name, value in nested("simcse", (4, 8)).named_parameters()}
    assert {name: shape for name, shape in shapes.items() if name.endswith("weight")} == {
        f"inner.{dim}.head.0.weight": (dim, dim) for dim in (4, 8, 12)
    }
    objective = nested("cosent", (4,))
    assert objective.labels == "score" and not objective.teaches([1.0, 1.0])


def test_a_teacher_teaches_beginnings_how_alike_texts_are() -> None:
    """It has vectors of the whole width alone; at that width it teaches them too."""
    vectors, teacher = [some()], some(seed=1)
    shape = replace(SHAPE, columns=("anchor",))
    whole, alike = (make("distil", shape, {"vectors": weight}) for weight in (1.0, 0.0))
    wanted = float(whole.loss(vectors, teacher)) + float(alike.loss([vectors[0][:, :4]], teacher))
    assert nested("distil", (4,), shape).loss(vectors, teacher) == pytest.approx(wanted)


@pytest.mark.parametrize("dim", [0, 13])
def test_a_beginning_that_is_none_is_refused(dim: int) -> None:
    with pytest.raises(UsageError, match=f"cannot be shortened to {dim}"):
        nested("simcse", (4, dim))


def test_what_compares_layers_cannot_be_nested() -> None:
    with pytest.raises(UsageError, match=r"compares layers cannot be trained.*shorter lengths"):
        nested("sg", (4,))


def weights_of(folder: Path) -> Mapping[str, Any]:
    found: dict[str, Any] = load_file(folder / "model.safetensors")
    return found


def test_only_the_words_of_the_prompt_learn(golden: Path, tmp_path: Path) -> None:
    """The weights that are saved are the base's, the vectors are not the words that they began as."""
    train(settings(golden, "optiprompt"), training.examples(), tmp_path / "out")
    before, after = weights_of(golden / "models" / "tiny-bert"), weights_of(tmp_path / "out")
    words = before["bert.embeddings.word_embeddings.weight"]
    for name, value in after.items():
        assert torch.equal(value, before[f"bert.{name.removeprefix('bert.')}"]), name
    learned = load_file(tmp_path / "out" / "prompt.safetensors")["vectors"]
    distances = torch.cdist(learned, words).min(1).values
    assert len(learned) == 7 and distances.min() > 0 and distances.max() < 1
    assert Encoder.load(tmp_path / "out", device="cpu").encode(training.TEXTS[:2]).shape == (2, 32)


def test_a_pooler_begins_at_random_and_goes_on_where_it_was_trained(golden: Path, tmp_path: Path) -> None:
    """The supervised PromptRoBERTa has one, which its checkpoint need not have; what was learned is kept."""
    triplets = training.examples(columns=("anchor", "positive", "negative"))
    told = settings(golden, "supervised", "tiny-roberta", template="#promptroberta-sup")
    train(told, triplets, tmp_path / "once")
    name = "pooler.dense.weight"
    learned = next(value for key, value in weights_of(tmp_path / "once").items() if key.endswith(name))
    again, _ = training.learner(tmp_path / "once", "supervised", columns=PAIRS)
    assert torch.equal(again.network.pooler[0].weight, learned)
    anew, _ = training.learner(f"{golden / 'models' / 'tiny-roberta'}#promptroberta-sup", "supervised", columns=PAIRS)
    assert not torch.allclose(anew.network.pooler[0].weight, learned, atol=1e-3)
    assert Encoder.load(tmp_path / "once", device="cpu").encode(["a cat"]).shape == (1, 32)


def test_a_pooler_that_is_not_read_is_not_made(golden: Path, tmp_path: Path) -> None:
    train(settings(golden, "supervised", template="#mean"), training.examples(columns=PAIRS), tmp_path / "out")
    assert not [name for name in weights_of(tmp_path / "out") if "pooler" in name]


def test_templates_that_do_not_go_with_the_base_are_refused(golden: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"1 \[MASK\]s"):
        train(settings(golden, "cotbert", template="#promptbert"), training.examples(), tmp_path / "out")
    assert not (tmp_path / "out" / "encoder.json").exists()


@pytest.mark.parametrize("model", ["tiny-opt", "tiny-llama"])
def test_adapters_are_saved_in_the_weights_and_beside_them(golden: Path, tmp_path: Path, model: str) -> None:
    """Loaded as an ordinary encoder, or as adapters on the base by peft, it is the network that was trained."""
    peft = pytest.importorskip("peft")
    import transformers

    learner, _ = training.learner(golden / "models" / model, "qlora", columns=PAIRS)
    with torch.no_grad():
        for value in learner.parameters.values():
            value += 0.02 * torch.randn(value.shape, generator=torch.Generator().manual_seed(1))
    texts = training.TEXTS[:4]
    wanted = learner.encode(texts)
    plain = Encoder.load(f"{golden / 'models' / model}#prompteol", device="cpu").encode(texts)
    assert np.abs(wanted - plain).max() > 0.01
    (tmp_path / "out").mkdir()
    learner.save(tmp_path / "out", {})
    found = Encoder.load(tmp_path / "out", device="cpu").encode(texts)
    assert error(found, wanted) < ROUNDING
    assert not [name for name in weights_of(tmp_path / "out") if "lora" in name or "base_layer" in name]

    base = transformers.AutoModel.from_pretrained(golden / "models" / model, dtype=torch.float32)
    alone = peft.PeftModel.from_pretrained(base, tmp_path / "out" / "adapter").eval()
    merged = transformers.AutoModel.from_pretrained(tmp_path / "out", dtype=torch.float32).eval()
    ids = torch.arange(5, 15)[None]
    with torch.no_grad():
        states = [each(input_ids=ids).last_hidden_state for each in (alone, merged)]
    assert torch.allclose(*states, atol=1e-4)


def test_every_linear_layer_has_an_adapter_and_nothing_else_learns(golden: Path) -> None:
    pytest.importorskip("peft")
    learner, _ = training.learner(golden / "models" / "tiny-llama", "qlora", columns=PAIRS, options={"rank": 3})
    layers = [name for name, each in learner.network.model.named_modules() if hasattr(each, "lora_A")]
    assert len(layers) == 3 * 7  # of each block: query, key, value, output, gate, up, down
    assert set(learner.parameters) == {f"model.{name}.lora_{part}.default.weight" for name in layers for part in "AB"}
    sizes = {value.shape[0] for name, value in learner.parameters.items() if ".lora_A." in name}
    assert sizes == {3}


def test_weights_are_held_in_four_bits_only_where_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = objectives.load("qlora")
    options, rounded, unknown = (
        objectives.parse_options("qlora", values) for values in ({}, {"weights": "bf16"}, {"weights": "int3"})
    )
    for installed, wanted in ((True, "nf4"), (False, "bf16")):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, there=installed: there or None)
        assert kind.base_precision("cuda:0", options) == wanted
        assert kind.base_precision("cpu", options) == "fp32"
    assert kind.base_precision("cpu", rounded) == "bf16"
    with pytest.raises(UsageError, match="weights"):
        kind.base_precision("cpu", unknown)
    with pytest.raises(MissingExtra, match="adapters"):
        kind.prepare(None, options)


def test_adapters_learn_in_fp32_beside_weights_that_do_not(golden: Path) -> None:
    pytest.importorskip("peft")
    network = loading.causal(golden / "models" / "tiny-opt", precision="bf16")
    adapters.add(network, rank=2, alpha=4, dropout=0.0)
    kinds = {value.requires_grad: value.dtype for value in network.parameters()}
    assert kinds == {True: torch.float32, False: torch.bfloat16}
    fresh = adapters.added(network, golden / "models" / "tiny-opt")
    assert {value.dtype for value in fresh.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize("model", ["tiny-opt", "tiny-llama"])
def test_adapters_beside_four_bits_are_added_to_the_weights_of_the_files(
    golden: Path, tmp_path: Path, model: str
) -> None:
    pytest.importorskip("peft")
    pytest.importorskip("bitsandbytes", reason="4-bit weights need bitsandbytes, which is not installed")
    learner, _ = training.learner(golden / "models" / model, "qlora", columns=PAIRS, options={"weights": "nf4"})
    assert {value.dtype for value in learner.network.parameters()} == {torch.float32, torch.uint8}
    before = weights_of(golden / "models" / model)
    (tmp_path / "out").mkdir()
    learner.save(tmp_path / "out", {})
    after = weights_of(tmp_path / "out")
    assert len(after) > 20
    for name, value in after.items():  # B begins at zero: nothing is added yet, and nothing was rounded to 4 bits
        assert torch.equal(value, before[f"model.{name}"]), name
    with torch.no_grad():
        for value in learner.parameters.values():
            value += 0.05
    again = tmp_path / "again"
    again.mkdir()
    learner.save(again, {})
    moved = {name for name, value in weights_of(again).items() if not torch.equal(value, after[name])}
    assert len(moved) == sum(
        name.endswith(".weight") and value.dim() == 2 and "embed" not in name for name, value in after.items()
    )
