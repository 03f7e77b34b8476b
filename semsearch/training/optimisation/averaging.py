"""Weight averaging: an exponential moving average (EMA) of the weights, often better than the last weights.

Source: Polyak and Juditsky 1992, https://doi.org/10.1137/0330046, as an exponential mean: after step t, counted from 0,
the decay is min(decay, (1 + t) / (10 + t)), so that the initial weights fade quickly (as in
tf.train.ExponentialMovingAverage with num_updates). With a decay of 0 there is no average.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """The moving average of `parameters`; `values` by name, of their shapes, empty for a decay of 0."""

    def __init__(self, parameters: Mapping[str, nn.Parameter], decay: float) -> None:
        self.parameters, self.decay = parameters, decay
        self.values: dict[str, Tensor] = {}
        if decay:
            self.values = {name: value.detach().clone() for name, value in parameters.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Add the weights after `step`, counted from 0."""
        decay = min(self.decay, (1 + step) / (10 + step))
        for name, mean in self.values.items():
            mean.lerp_(self.parameters[name], 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Use the average as the network's weights inside the block."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for name in self.values:
            self.values[name], self.parameters[name].data = self.parameters[name].data, self.values[name]
