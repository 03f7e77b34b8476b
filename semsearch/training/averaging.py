"""Weight averaging: an encoder whose weights are the mean of those along the way is often better than the last one.

Source: Polyak and Juditsky 1992, https://doi.org/10.1137/0330046, as an exponential mean: after step t, counted from 0,
the mean keeps min(decay, (1 + t) / (10 + t)) of itself, so that the weights it began with are soon forgotten
(tf.train.ExponentialMovingAverage has this rule for its num_updates). A decay of 0 is the last weights alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """The mean of `learned` so far. `values` by name, of the shapes of the parameters."""

    def __init__(self, learned: Mapping[str, nn.Parameter], decay: float) -> None:
        self.learned, self.decay = learned, decay
        self.values: dict[str, Tensor] = {}
        if decay:
            self.values = {name: value.detach().clone() for name, value in learned.items()}

    @torch.no_grad()
    def add(self, step: int) -> None:
        """Take in the weights as they are after `step`, counted from 0."""
        kept = min(self.decay, (1 + step) / (10 + step))
        for name, mean in self.values.items():
            mean.lerp_(self.learned[name], 1 - kept)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """With the mean as the weights of the network."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for name in self.values:
            self.values[name], self.learned[name].data = self.learned[name].data, self.values[name]
