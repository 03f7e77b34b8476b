"""One step's gradients: all at once, or in parts whose size does not change what the loss sees.

Source: gradient caching, Gao et al. 2021, https://arxiv.org/abs/2101.06983. Vectors are computed part by part without
a graph, the loss gives their gradients, and each part is computed again with a graph that these are handed down. The
random numbers of the second time are those of the first, so that dropout drops the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from semsearch.training import rng
from semsearch.training.model import Learner
from semsearch.training.objectives import Base, View

Rows = Sequence[Sequence[int]]


def add_gradients(
    learner: Learner, objective: Base, rows: Sequence[Rows], labels: Tensor | None, micro: int = 0
) -> float:
    """Add the gradients of the loss to the parameters; the loss. `micro`: texts that memory has to hold at once.

    `rows` are token ids, one sequence of texts a view.
    """
    if micro:
        return _cached(learner, objective, rows, labels, micro)
    vectors = [_together(learner, view, each, 0) for view, each in zip(objective.views, rows, strict=True)]
    return _descended(learner, objective, vectors, labels)


def _cached(learner: Learner, objective: Base, rows: Sequence[Rows], labels: Tensor | None, micro: int) -> float:
    begun: list[rng.State] = []
    with torch.no_grad():
        first = [_together(learner, view, each, micro, begun) for view, each in zip(objective.views, rows, strict=True)]
    leaves = [each.requires_grad_(view.of == "tuned") for view, each in zip(objective.views, first, strict=True)]
    loss = _descended(learner, objective, leaves, labels)
    remembered = iter(begun)
    for view, each, leaf in zip(objective.views, rows, leaves, strict=True):
        for places in learner.parts(view, each, micro):
            state = next(remembered)
            if leaf.grad is not None:
                with rng.following(learner.device, state):
                    vectors = learner.vectors(view, [each[at] for at in places])
                if vectors.requires_grad:  # it does not where the objective's head alone learns
                    vectors.backward(leaf.grad[torch.from_numpy(places).to(leaf.device)])  # type: ignore[no-untyped-call]
    return loss


def _descended(learner: Learner, objective: Base, vectors: Sequence[Tensor], labels: Tensor | None) -> float:
    """The loss of these vectors, its gradients handed down as far as they go. What needs none gets none."""
    loss = objective.loss(vectors, labels)
    if (more := objective.penalty(learner.network, learner.frozen)) is not None:
        loss = loss + more
    if loss.requires_grad:
        loss.backward()  # type: ignore[no-untyped-call]
    return float(loss.detach())


def _together(learner: Learner, view: View, rows: Rows, micro: int, begun: list[rng.State] | None = None) -> Tensor:
    """The vectors of all rows in their order; the state of chance before each part goes to `begun`."""
    found, order = [], []
    for places in learner.parts(view, rows, micro):
        if begun is not None:
            begun.append(rng.state(learner.device))
        found.append(learner.vectors(view, [rows[at] for at in places]))
        order.append(torch.from_numpy(places))
    back = torch.argsort(torch.cat(order)).to(found[0].device)
    return torch.cat(found)[back]
