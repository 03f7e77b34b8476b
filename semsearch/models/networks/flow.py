"""Flow: an invertible network between the vectors of texts and a standard Gaussian.

Source: Li et al. 2020, BERT-flow, https://arxiv.org/abs/2011.05864, which is Glow (Kingma and Dhariwal 2018,
https://arxiv.org/abs/1807.03039) without an image's height and width: levels of steps, each of which scales and shifts
every number, reverses their order, and adds to the second half the output of a small network for the first. Each level
works on half the numbers of the one before. Left out: affine couplings and 1x1 convolutions, which the authors disable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from semsearch.errors import UsageError

LEVELS, DEPTH, WIDTH = 3, 3, 32  # config_l3_d3_w32, as in all runs of the authors
STILL = 1e-5  # of the largest spread: a number that varies less is not scaled, else every step would blow it up
RAISED = 3.0  # scales are stored as a third of their logarithm, so that they learn faster (Glow)
SPREAD = 0.05  # of fresh weights


class Flow(nn.Module):
    """Vectors u (n, d) to z (n, d) and back. `log_det` is log |det dz/du|, the same for every u."""

    kind = "flow"

    def __init__(self, dim: int, levels: int = LEVELS, depth: int = DEPTH, width: int = WIDTH) -> None:
        super().__init__()
        self.dim, self.config = dim, {"dim": dim, "levels": levels, "depth": depth, "width": width}
        sizes = list(_sizes(dim, levels))
        if sizes[-1] < 2:
            raise UsageError(
                f"a flow halves a vector {levels - 1} times, and {dim} numbers are too few.", "Use whitening."
            )
        self.levels = nn.ModuleList(nn.ModuleList(_Step(size, width) for _ in range(depth)) for size in sizes)

    def forward(self, vectors: Tensor) -> Tensor:
        """u -> z."""
        done: list[Tensor] = []
        for at, level in enumerate(self._levels()):
            if at:
                vectors, rest = _halves(vectors)
                done.append(rest)
            for step in level:
                vectors = step(vectors)
        return torch.cat([*done, vectors], dim=1)

    def inverse(self, latent: Tensor) -> Tensor:
        """z -> u."""
        sizes = list(_sizes(self.dim, len(self.levels)))
        *rests, vectors = torch.split(latent, [*(size // 2 for size in sizes[:-1]), sizes[-1]], dim=1)
        for level in reversed(self._levels()):
            for step in reversed(level):
                vectors = step.inverse(vectors)
            if rests:
                vectors = torch.cat([vectors, rests.pop()], dim=1)
        return vectors

    @property
    def log_det(self) -> Tensor:
        scales = [step.norm.logs.sum() for level in self._levels() for step in level]
        total: Tensor = RAISED * torch.stack(scales).sum()
        return total

    def log_likelihood(self, vectors: Tensor) -> Tensor:
        """log p(u) of each row, in nats: (n,)."""
        latent: Tensor = self(vectors)
        return -0.5 * (latent.square() + math.log(2 * math.pi)).sum(1) + self.log_det

    @torch.no_grad()
    def start(self, vectors: Tensor, generator: torch.Generator) -> None:
        """Fresh weights, and scales and shifts that give every number of these vectors mean 0 and variance 1."""
        for name, value in self.named_parameters():
            if name.endswith("kernel"):
                nn.init.normal_(value, std=0.0 if ".last_kernel" in name else SPREAD, generator=generator)
        for module in self.modules():
            if isinstance(module, _Norm):
                module.fresh = True
        self(vectors)

    def _levels(self) -> list[list[Any]]:
        return [list(level) for level in self.levels]  # type: ignore[call-overload]


class _Norm(nn.Module):
    """(x + bias) exp(3 logs), for every number by itself. A `fresh` one is fitted to the next vectors."""

    fresh = False

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.bias, self.logs = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, vectors: Tensor) -> Tensor:
        if self.fresh:
            self._fit(vectors)
        return (vectors + self.bias) * torch.exp(RAISED * self.logs)

    def inverse(self, vectors: Tensor) -> Tensor:
        return vectors * torch.exp(-RAISED * self.logs) - self.bias

    def _fit(self, vectors: Tensor) -> None:
        self.bias.copy_(-vectors.mean(0))
        spread = (vectors + self.bias).square().mean(0).sqrt()
        self.logs.copy_(torch.where(spread > STILL * spread.max(), -torch.log(spread + 1e-6) / RAISED, 0.0))
        self.fresh = False


class _Shift(nn.Module):
    """The summand of the second half of a vector: two hidden layers on its first. Zero before training."""

    def __init__(self, inputs: int, outputs: int, width: int) -> None:
        super().__init__()
        self.first_kernel = nn.Parameter(torch.zeros(inputs, width))
        self.second_kernel = nn.Parameter(torch.zeros(width, width))
        self.last_kernel = nn.Parameter(torch.zeros(width, outputs))
        self.first, self.second, self.last = _Norm(width), _Norm(width), _Norm(outputs)

    def forward(self, half: Tensor) -> Tensor:
        hidden = torch.relu(self.first(half @ self.first_kernel))
        hidden = torch.relu(self.second(hidden @ self.second_kernel))
        shift: Tensor = self.last(hidden @ self.last_kernel)
        return shift


class _Step(nn.Module):
    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self.norm = _Norm(dim)
        self.shift = _Shift(dim - dim // 2, dim // 2, width)

    def forward(self, vectors: Tensor) -> Tensor:
        first, second = _halves(self.norm(vectors).flip(1))
        return torch.cat([first, second + self.shift(first)], dim=1)

    def inverse(self, vectors: Tensor) -> Tensor:
        first, second = _halves(vectors)
        return self.norm.inverse(torch.cat([first, second - self.shift(first)], dim=1).flip(1))


def _halves(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the second half; of an odd length, the first has one more."""
    middle = vectors.shape[1] - vectors.shape[1] // 2
    return vectors[:, :middle], vectors[:, middle:]


def _sizes(dim: int, levels: int) -> Iterator[int]:
    """The number of components of every level."""
    for _ in range(levels):
        yield dim
        dim -= dim // 2
