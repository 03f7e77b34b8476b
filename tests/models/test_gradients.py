"""Gradients in parts are those of the whole batch, whatever the objective, and leave chance as they found it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.arithmetic import ROUNDING
from helpers.training import LABELS, TEXTS, learner

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from semsearch.training.hyperparameters import Shape  # noqa: E402
from semsearch.training.objectives._base import BaseObjective, View  # noqa: E402
from semsearch.training.optimisation import gradients, rng  # noqa: E402

COLUMNS: Mapping[str, tuple[str, ...]] = {"cosent": ("anchor", "positive"), "supervised": ("anchor", "positive")}
BASES = {"cosent": "#mean", "supervised": "#promptbert-sup", "distil": "#cot-bert"}
SMALL = {"sg": {"hidden": 16}, "sg-opt": {"hidden": 16}}


def given(made: Any, objective: Any, count: int = 7) -> tuple[list[Any], Any]:
    """Token ids for each view of `count` texts of all lengths, and what the objective is told of them."""
    columns = {"anchor": TEXTS[:count], "positive": TEXTS[5 : 5 + count]}
    rows = [made.rows(view, columns[view.column]) for view in objective.views]
    if objective.labels == "teacher":
        return rows, torch.randn(count, made.backend.dim, generator=torch.Generator().manual_seed(3))
    return rows, torch.tensor(LABELS[:count]) if objective.labels == "score" else None


def found(made: Any, objective: Any, micro: int) -> tuple[float, dict[str, Any]]:
    """The loss, and the gradient of every parameter that has one."""
    parameters = {**made.parameters, **dict(objective.named_parameters())}
    for each in parameters.values():
        each.grad = None
    torch.manual_seed(1)  # SG draws the layers that it compares with
    rows, labels = given(made, objective)
    loss = gradients.add_gradients(made, objective, rows, labels, micro)
    return loss, {name: each.grad.clone() for name, each in parameters.items() if each.grad is not None}


def far(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """How far two gradients are from each other, relative to their length."""
    assert one.keys() == other.keys()
    away = torch.stack([(one[name] - other[name]).norm() for name in one]).norm()
    return float(away / torch.stack([each.norm() for each in one.values()]).norm())


METHODS = ("cotbert", "promptbert", "sg", "sg-opt", "cosent", "supervised", "distil")
LONG = ("promptbert", "sg-opt", "supervised", "distil")  # in fp32, whose objectives share their sums with the others


def _cases() -> Iterator[Any]:
    for method in METHODS:
        yield pytest.param(method, True, id=f"{method}-fp64")
        yield pytest.param(method, False, id=f"{method}-fp32", marks=pytest.mark.long if method in LONG else ())


@pytest.mark.parametrize(("method", "double"), _cases())
def test_parts_have_the_gradients_of_the_whole_batch(golden: Path, method: str, double: bool) -> None:
    base = f"{golden / 'models' / 'tiny-bert'}{BASES.get(method, '')}"
    told = {"columns": COLUMNS.get(method, ("anchor",)), "options": SMALL.get(method, {})}
    made, objective = learner(base, method, double=double, **told)
    made.network.train(False)
    with torch.no_grad():
        for each in made.parameters.values():
            each.add_(0.01 * torch.randn_like(each))  # what SG's penalty is taken of
    loss, whole = found(made, objective, 0)
    assert sum(float(each.abs().sum()) for each in whole.values()) > 0
    for micro in (1, 2, 5):
        again, parts = found(made, objective, micro)
        assert again == pytest.approx(loss, rel=1e-12 if double else 4 * ROUNDING)
        assert far(whole, parts) < (1e-10 if double else 4 * ROUNDING)  # denoising subtracts vectors that are near


def test_dropout_drops_the_same_when_a_part_is_computed_again(golden: Path) -> None:
    """The gradients are those of one pass with a graph, over the same parts and from the same random numbers."""
    made, objective = learner(golden / "models" / "tiny-bert", "cotbert", double=True)
    made.network.train()
    rows, labels = given(made, objective)
    torch.manual_seed(4)
    gradients.add_gradients(made, objective, rows, labels, grad_cache_size=3)
    cached = {name: each.grad for name, each in made.parameters.items() if each.grad is not None}
    for each in made.parameters.values():
        each.grad = None
    torch.manual_seed(4)
    vectors = [gradients._vectors(made, view, each, 3, []) for view, each in zip(objective.views, rows, strict=True)]
    objective.loss(vectors, labels).backward()
    assert far({name: made.parameters[name].grad for name in cached}, cached) < 1e-10
    first, again = (gradients._vectors(made, objective.views[0], rows[0], 3, []) for _ in range(2))
    assert not torch.equal(first, again)  # dropout was on


@pytest.mark.parametrize("micro", [0, 3])
def test_the_random_numbers_behind_a_step_do_not_depend_on_the_second_pass(golden: Path, micro: int) -> None:
    made, objective = learner(golden / "models" / "tiny-bert", "simcse")
    made.network.train()
    rows, labels = given(made, objective)
    torch.manual_seed(4)
    gradients.add_gradients(made, objective, rows, labels, micro)
    after = torch.rand(3)
    torch.manual_seed(4)
    with torch.no_grad():
        for view, each in zip(objective.views, rows, strict=True):
            gradients._vectors(made, view, each, micro, [])
    assert torch.equal(after, torch.rand(3))


def test_a_block_with_chance_of_its_own_leaves_the_callers_alone() -> None:
    torch.manual_seed(7)
    begun = rng.state("cpu")
    want = torch.rand(4)
    torch.manual_seed(7)
    with rng.replayed("cpu", rng.state("cpu")):
        torch.rand(9)
    with pytest.raises(ZeroDivisionError), rng.seeded("cpu", 1):
        torch.rand(9)
        raise ZeroDivisionError
    assert torch.equal(torch.rand(4), want)
    with rng.replayed("cpu", begun):
        assert torch.equal(torch.rand(4), want)


class Stand(BaseObjective):
    """An objective made of the functions that a test gives it."""

    def __init__(self, loss: Callable[[Sequence[Any]], Any], penalty: Callable[[Any], Any] | None = None) -> None:
        super().__init__(Shape())
        self._loss, self._penalty = loss, penalty

    @property
    def views(self) -> tuple[View, ...]:
        return (View(),)

    def loss(self, vectors: Sequence[Any], labels: Any = None) -> Any:
        return self._loss(vectors)

    def penalty(self, tuned: Any, frozen: Any) -> Any:
        return self._penalty(tuned) if self._penalty else None


@pytest.mark.parametrize("micro", [0, 1, 4])
def test_a_penalty_counts_once_however_many_parts_there_are(golden: Path, micro: int) -> None:
    made, _ = learner(f"{golden / 'models' / 'tiny-bert'}#mean", "cosent", columns=("anchor", "positive"))
    made.network.train(False)
    objective = Stand(lambda vectors: vectors[0].sum() * 0, lambda tuned: tuned.model.embeddings.LayerNorm.bias.sum())
    rows, _ = given(made, objective)
    gradients.add_gradients(made, objective, rows, None, micro)
    assert torch.equal(made.network.model.embeddings.LayerNorm.bias.grad, torch.ones(32))


@pytest.mark.parametrize("micro", [0, 2])
def test_a_batch_that_can_teach_nothing_leaves_no_gradients(golden: Path, micro: int) -> None:
    made, _ = learner(f"{golden / 'models' / 'tiny-bert'}#mean", "cosent", columns=("anchor", "positive"))
    objective = Stand(lambda vectors: vectors[0].detach().sum())
    rows, _ = given(made, objective)
    gradients.add_gradients(made, objective, rows, None, micro)
    assert all(each.grad is None for each in made.parameters.values())


def test_a_network_that_sees_its_padding_gets_texts_of_one_length_together(golden: Path) -> None:
    made, objective = learner(golden / "models" / "tiny-bert", "cotbert")
    rows, _ = given(made, objective)
    made.network.pads = False
    for micro in (0, 2):
        parts = list(made.parts(objective.views[0], rows[0], micro))
        assert all(len({len(rows[0][at]) for at in part}) == 1 for part in parts)
        assert sorted(at for part in parts for at in part) == list(range(len(rows[0])))
        assert all(len(part) <= (micro or len(rows[0])) for part in parts)
