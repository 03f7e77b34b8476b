"""Gradients of one batch: computed at once, or in parts, with the same loss on the whole batch.

Source: gradient caching, Gao et al. 2021, https://arxiv.org/abs/2101.06983. The vectors are computed part by part
without a graph, then the gradients of the loss on them, and each part is computed again with a graph to backpropagate
these. The second pass uses the random numbers of the first, so that dropout is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from semsearch.training.model import Rows, TrainableModel
from semsearch.training.objectives._base import BaseObjective, View
from semsearch.training.optimisation import rng


def add_gradients(
    model: TrainableModel,
    objective: BaseObjective,
    rows: Sequence[Rows],
    labels: Tensor | None,
    grad_cache_size: int = 0,
) -> float:
    """Add the gradients of the loss to the parameters; return the loss.

    `rows` are token ids, one sequence of texts per view. `grad_cache_size`: texts encoded at once; 0: all of them.
    """
    states: list[rng.State] = []
    with torch.set_grad_enabled(not grad_cache_size):
        vectors = [
            _vectors(model, view, each, grad_cache_size, states)
            for view, each in zip(objective.views, rows, strict=True)
        ]
    if grad_cache_size:
        vectors = [
            each.requires_grad_(view.of != "layers") for view, each in zip(objective.views, vectors, strict=True)
        ]
    loss = objective.loss(vectors, labels)
    if (penalty := objective.penalty(model.network, model.frozen)) is not None:
        loss = loss + penalty
    if loss.requires_grad:
        loss.backward()
    if grad_cache_size:
        _backpropagate(model, objective, rows, vectors, states, grad_cache_size)
    return float(loss.detach())


def _backpropagate(
    model: TrainableModel,
    objective: BaseObjective,
    rows: Sequence[Rows],
    leaves: Sequence[Tensor],
    states: Sequence[rng.State],
    size: int,
) -> None:
    """Backpropagate the gradients of `leaves`, the vectors, computing each part again with its random state."""
    replay = iter(states)
    for view, each, leaf in zip(objective.views, rows, leaves, strict=True):
        for places in model.parts(view, each, size):
            state = next(replay)
            if leaf.grad is not None:
                with rng.replayed(model.device, state):
                    vectors = model.vectors(view, [each[at] for at in places])
                if vectors.requires_grad:  # not where only the objective's head is trained
                    vectors.backward(leaf.grad[torch.from_numpy(places).to(leaf.device)])


def _vectors(model: TrainableModel, view: View, rows: Rows, size: int, states: list[rng.State]) -> Tensor:
    """The vectors of all rows, in order; the random state before each part is appended to `states`."""
    parts, order = [], []
    for places in model.parts(view, rows, size):
        states.append(rng.state(model.device))
        parts.append(model.vectors(view, [rows[at] for at in places]))
        order.append(torch.from_numpy(places))
    back = torch.argsort(torch.cat(order)).to(parts[0].device)
    return torch.cat(parts)[back]
