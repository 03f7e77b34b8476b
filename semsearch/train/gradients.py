"""One step's gradients: all at once, or in parts whose size does not change what the loss sees.

Source: gradient caching, Gao et al. 2021, https://arxiv.org/abs/2101.06983. Vectors are computed part by part without
a graph, the loss gives their gradients, and each part is computed again with a graph that these are handed down. The
random numbers of the second time are those of the first, so that dropout drops the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from semsearch.objectives import Base, View
from semsearch.train.learner import Learner

Rows = Sequence[Sequence[int]]


def add_gradients(
    learner: Learner, objective: Base, rows: Sequence[Rows], labels: Tensor | None, micro: int = 0
) -> float:
    """Add the gradients of the loss to the parameters; the loss. `micro`: texts that memory has to hold at once."""
    if micro:
        return _cached(learner, objective, rows, labels, micro)
    vectors = [_together(learner, view, each, 0) for view, each in zip(objective.views, rows, strict=True)]
    loss = _with_penalty(learner, objective, objective.loss(vectors, labels))
    if loss.requires_grad:
        loss.backward()  # type: ignore[no-untyped-call]
    return float(loss.detach())


def _cached(learner: Learner, objective: Base, rows: Sequence[Rows], labels: Tensor | None, micro: int) -> float:
    states: list[Tensor] = []
    with torch.no_grad():
        first = [
            _together(learner, view, each, micro, states) for view, each in zip(objective.views, rows, strict=True)
        ]
    leaves = [each.requires_grad_(view.of == "tuned") for view, each in zip(objective.views, first, strict=True)]
    loss = _with_penalty(learner, objective, objective.loss(leaves, labels))
    if not loss.requires_grad:
        return float(loss)
    loss.backward()  # type: ignore[no-untyped-call]
    remembered = iter(states)
    for view, each, leaf in zip(objective.views, rows, leaves, strict=True):
        for places in learner.parts(view, each, micro):
            state = next(remembered)
            if view.of == "tuned" and leaf.grad is not None:
                with _random(learner.device, state):
                    vectors = learner.vectors(view, [each[at] for at in places])
                vectors.backward(leaf.grad[torch.from_numpy(places).to(leaf.device)])  # type: ignore[no-untyped-call]
    return float(loss.detach())


def _together(learner: Learner, view: View, rows: Rows, micro: int, states: list[Tensor] | None = None) -> Tensor:
    """The vectors of all rows in their order; the state of chance before each part goes to `states`."""
    found, order = [], []
    for places in learner.parts(view, rows, micro):
        if states is not None:
            states.append(chance(learner.device))
        found.append(learner.vectors(view, [rows[at] for at in places]))
        order.append(torch.from_numpy(places))
    back = torch.argsort(torch.cat(order)).to(found[0].device)
    return torch.cat(found)[back]


def _with_penalty(learner: Learner, objective: Base, loss: Tensor) -> Tensor:
    more = objective.penalty(learner.network, learner.frozen)
    return loss if more is None else loss + more


def chance(device: str) -> Tensor:
    """The state of torch's random numbers on `device`."""
    return torch.cuda.get_rng_state(device) if device != "cpu" else torch.get_rng_state()


@contextmanager
def _random(device: str, state: Tensor) -> Iterator[None]:
    """With the random numbers that follow `state`; what comes after the block is as if nothing was drawn."""
    with torch.random.fork_rng([] if device == "cpu" else [device]):
        if device == "cpu":
            torch.set_rng_state(state)
        else:
            torch.cuda.set_rng_state(state, device)
        yield
