"""Gradients of one batch: computed at once, or in parts whose size does not change what the loss sees.

Source: gradient caching, Gao et al. 2021, https://arxiv.org/abs/2101.06983. The vectors are computed part by part
without a graph, the loss gives their gradients, and each part is computed again with a graph to backpropagate them. The
second pass uses the random numbers of the first, so that dropout is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from semsearch.training import rng
from semsearch.training.model import Rows, TrainableModel
from semsearch.training.objectives._base import BaseObjective, View


def add_gradients(
    model: TrainableModel,
    objective: BaseObjective,
    rows: Sequence[Rows],
    labels: Tensor | None,
    grad_cache_size: int = 0,
) -> float:
    """Add the gradients of the loss to the parameters; the loss.

    `rows` are token ids, one sequence of texts per view. `grad_cache_size`: texts encoded at once; 0: all of them.
    """
    if grad_cache_size:
        return _cached(model, objective, rows, labels, grad_cache_size)
    vectors = [_vectors(model, view, each, 0) for view, each in zip(objective.views, rows, strict=True)]
    return _backward(model, objective, vectors, labels)


def _cached(
    model: TrainableModel, objective: BaseObjective, rows: Sequence[Rows], labels: Tensor | None, size: int
) -> float:
    states: list[rng.State] = []
    with torch.no_grad():
        first = [_vectors(model, view, each, size, states) for view, each in zip(objective.views, rows, strict=True)]
    leaves = [each.requires_grad_(view.of == "tuned") for view, each in zip(objective.views, first, strict=True)]
    loss = _backward(model, objective, leaves, labels)
    replay = iter(states)
    for view, each, leaf in zip(objective.views, rows, leaves, strict=True):
        for places in model.parts(view, each, size):
            state = next(replay)
            if leaf.grad is not None:
                with rng.replayed(model.device, state):
                    vectors = model.vectors(view, [each[at] for at in places])
                if vectors.requires_grad:  # not where only the objective's head is trained
                    vectors.backward(leaf.grad[torch.from_numpy(places).to(leaf.device)])  # type: ignore[no-untyped-call]
    return loss


def _backward(
    model: TrainableModel, objective: BaseObjective, vectors: Sequence[Tensor], labels: Tensor | None
) -> float:
    """The loss of these vectors, backpropagated as far as gradients are required."""
    loss = objective.loss(vectors, labels)
    if (penalty := objective.penalty(model.network, model.frozen)) is not None:
        loss = loss + penalty
    if loss.requires_grad:
        loss.backward()  # type: ignore[no-untyped-call]
    return float(loss.detach())


def _vectors(model: TrainableModel, view: View, rows: Rows, size: int, states: list[rng.State] | None = None) -> Tensor:
    """The vectors of all rows, in order; the random state before each part is appended to `states`."""
    found, order = [], []
    for places in model.parts(view, rows, size):
        if states is not None:
            states.append(rng.state(model.device))
        found.append(model.vectors(view, [rows[at] for at in places]))
        order.append(torch.from_numpy(places))
    back = torch.argsort(torch.cat(order)).to(found[0].device)
    return torch.cat(found)[back]
