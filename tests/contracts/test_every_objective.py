"""Every objective of objectives/ keeps the promises of _base.BaseObjective; new files are found by themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semsearch.utils import plugins

torch = pytest.importorskip("torch")
from semsearch.encoders.encoder import Encoder  # noqa: E402
from semsearch.errors import UnknownName, UsageError  # noqa: E402
from semsearch.models import methods  # noqa: E402
from semsearch.prompts import library  # noqa: E402
from semsearch.training import (  # noqa: E402
    Dataset,
    TrainingConfig,
    TrainingOptions,
    objectives,
    train,
)
from semsearch.training.hyperparameters import Hyperparameters, Shape  # noqa: E402

COLUMNS = ("anchor", "positive", "negative")
ROWS, DIM, DEPTH = 6, 16, 3
SMALL: Mapping[str, Mapping[str, Any]] = {"sg": {"hidden": 24}, "sg_opt": {"hidden": 24}}  # 4096 in the paper
LABELS = [0.0, 2.0, 1.0, 1.0, 0.0, 2.0]


@dataclass(frozen=True)
class Given:
    """What an objective's loss takes: a tensor a view, the rows of each in one order; labels in that order too."""

    vectors: Sequence[Any]
    labels: Any

    def ordered(self, order: Any) -> Given:
        labels = self.labels
        if labels is not None and labels.ndim == 2:  # the teacher's: one block of rows a view
            labels = torch.cat([block[order] for block in labels.chunk(len(self.vectors))])
        elif labels is not None:
            labels = labels[order]
        return Given([each[order] for each in self.vectors], labels)


@pytest.fixture(scope="module", params=plugins.names(objectives))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def objective(name: str) -> Any:
    torch.manual_seed(0)
    return made(name)


def made(name: str, dim: int = DIM) -> Any:
    kinds = objectives.load(name).hyperparameters.training_templates
    shape = Shape(
        kind=next(iter(kinds), "bert"), width=DIM, depth=DEPTH, dim=dim, columns=COLUMNS, classes=3, spread=0.5
    )
    return objectives.make(name, shape, SMALL.get(name))


def given(objective: Any) -> Given:
    """Random vectors for every view; all layers of a text are alike, so that it does not matter which is drawn."""
    chance = torch.Generator().manual_seed(5)

    def some(rows: int) -> Any:
        return torch.randn(rows, DIM, generator=chance)

    views = objective.views
    vectors = [some(ROWS) if view.of == "tuned" else some(ROWS)[:, None].repeat(1, DEPTH + 1, 1) for view in views]
    labels = {"none": None, "teacher": some(ROWS * len(views))}.get(objective.labels, torch.tensor(LABELS))
    return Given(vectors, labels)


def value(objective: Any, some: Given) -> float:
    return float(objective.loss(some.vectors, some.labels).detach())


def test_its_file_says_where_it_comes_from(name: str) -> None:
    told = plugins.load(objectives, name).__doc__ or ""
    assert "https://" in told and len(told.splitlines()) >= 3


def test_its_hyperparameters_are_valid(name: str) -> None:
    paper = objectives.load(name).hyperparameters
    assert isinstance(paper, Hyperparameters)
    assert (
        paper.batch_size >= 2
        and paper.learning_rate > 0
        and paper.epochs > 0
        and paper.max_length > 0
        and paper.eval_every > 0
    )
    assert set(paper.new_parts) <= {"pooler", "prompt"}
    assert set(paper.inference_templates) <= set(paper.training_templates)


def test_its_templates_are_there_and_for_the_kind_of_model_that_it_names_them_for(name: str) -> None:
    paper = objectives.load(name).hyperparameters
    for kind, trained in paper.training_templates.items():
        template, served = library.find(trained), library.find(paper.inference_templates.get(kind, trained))
        assert {kind, "any"} & set(template.kinds) and {kind, "any"} & set(served.kinds)
        assert (template.text, template.method) == (served.text, served.method)


def test_every_view_is_read_as_the_anchor_is(name: str) -> None:
    """A prompt has the [MASK]s that the method of the template reads, for every kind of network."""
    paper = objectives.load(name).hyperparameters
    for kind, trained in paper.training_templates.items():
        template = library.find(trained)
        shape = Shape(kind=kind, width=DIM, depth=DEPTH, dim=DIM, columns=COLUMNS, classes=2)
        views = objectives.make(name, shape, SMALL.get(name)).views
        reads = methods.make(template.method, template.options).masks
        assert {view.prompt.masks for view in views if view.prompt is not None} <= {reads}


def test_its_views_are_of_columns_that_there_are(objective: Any) -> None:
    assert {view.column for view in objective.views} <= set(COLUMNS)
    assert objective.views[0].column == "anchor"
    assert {view.of for view in objective.views} <= {"tuned", "layers"}
    assert any(view.of == "layers" for view in objective.views) == objective.frozen_copy


def test_its_options_are_the_same_after_they_were_written_down(name: str, objective: Any) -> None:
    options = {**objectives.default_options(name), **SMALL.get(name, {})}
    told = json.loads(json.dumps(options))
    assert told == options
    torch.manual_seed(0)
    again = objectives.make(name, objective.shape, told)
    once = given(objective)
    torch.manual_seed(1)
    expected = objective.loss(once.vectors, once.labels)
    torch.manual_seed(1)
    assert torch.equal(again.loss(once.vectors, once.labels), expected)


def test_what_it_cannot_be_told_is_refused(name: str, objective: Any) -> None:
    with pytest.raises(UnknownName, match="nothing"):
        objectives.make(name, objective.shape, {"nothing": 1})
    for option, value in objectives.default_options(name).items():
        with pytest.raises(UsageError, match=option):
            objectives.make(name, objective.shape, {option: 1 if isinstance(value, str) else "a word"})


def test_its_loss_is_a_number_whose_gradients_reach_every_tuned_vector(objective: Any) -> None:
    some = given(objective)
    leaves = [each.requires_grad_() for each in some.vectors]
    loss = objective.loss(leaves, some.labels)
    assert loss.shape == () and torch.isfinite(loss) and loss > 0
    loss.backward()
    for view, leaf in zip(objective.views, leaves, strict=True):
        if view.of == "tuned":
            assert leaf.grad.abs().sum(1).min() > 0
    assert all(value.grad is not None for value in objective.parameters())


def test_its_loss_does_not_depend_on_the_order_of_the_batch(objective: Any) -> None:
    some = given(objective)
    order = torch.tensor([3, 5, 0, 2, 4, 1])
    assert value(objective, some.ordered(order)) == pytest.approx(value(objective, some), rel=1e-5)


def test_its_loss_tells_whose_vector_is_whose(objective: Any) -> None:
    """One side in another order than the rest is another batch."""
    some = given(objective)
    mixed = Given([some.vectors[0][torch.tensor([3, 5, 0, 2, 4, 1])], *some.vectors[1:]], some.labels)
    assert value(objective, mixed) != pytest.approx(value(objective, some), rel=1e-3)


def test_vectors_of_zeros_do_no_harm(objective: Any) -> None:
    some = given(objective)
    leaves = [torch.zeros_like(each).requires_grad_() for each in some.vectors]
    loss = objective.loss(leaves, some.labels)
    assert torch.isfinite(loss)
    if loss.requires_grad:
        loss.backward()
    assert all(torch.isfinite(each.grad).all() for each in leaves if each.grad is not None)


def test_it_trains_an_encoder_that_can_be_loaded(name: str, golden: Path, tmp_path: Path) -> None:
    kind = next(iter(objectives.load(name).hyperparameters.training_templates), "bert")
    base = golden / "models" / ("tiny-opt" if kind == "causal" else "tiny-bert")
    texts = [f"a {word} guitar in the {place}" for word in ("man", "dog", "cat") for place in ("park", "house")]
    columns = {column: texts[at:] + texts[:at] for at, column in enumerate(COLUMNS)}
    examples = Dataset(columns, labels=LABELS)
    settings = TrainingConfig(
        name, str(base), options=SMALL.get(name, {}), steps=2, batch_size=3, learning_rate=0.01, warmup=0, device="cpu"
    )
    teacher = np.random.default_rng(0).normal(size=(3, DIM))
    result = train(
        settings,
        examples,
        tmp_path / "out",
        TrainingOptions(teacher=lambda texts: np.resize(teacher, (len(texts), DIM))),
    )
    assert result.steps == 2
    template = library.find(objectives.load(name).hyperparameters.training_templates.get(kind, "mean")).name
    if "prompt" in methods.make(library.find(template).method).needs:
        return  # before, there was no prompt
    before = Encoder.load(f"{base}#{template}", device="cpu").encode(texts)
    after = Encoder.load(tmp_path / "out", device="cpu").encode(texts)
    assert np.isfinite(after).all() and np.abs(after - before).max() > 1e-3
