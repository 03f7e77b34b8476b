"""The classifier that transfer tasks are solved with, in Torch: logistic regression, or one hidden layer of sigmoids.

Source: SentEval, Conneau and Kiela 2018, https://arxiv.org/abs/1803.05449, and its defaults: mini-batches, weight decay
as the L2 penalty, early stopping on the accuracy on held-out rows. Which penalty is best is not known beforehand, so
classifiers of several are learned side by side, on the same batches, each as if it were alone. Gradients are written
out: autograd and torch.optim take five times as long for products this small. A test holds them against both.

Letters: n rows, b of a batch, d features with a 1 behind them, h hidden units, c classes, r penalties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 8192  # that are classified at once


@dataclass(frozen=True, slots=True)
class Learning:
    """How a classifier learns. `passes` over the rows lie between two looks at the held-out ones.

    It stops at a look that is no better than the best, where `tenacity` such looks were before it, or past
    `most_passes`. `hidden` 0 is logistic regression.
    """

    hidden: int = 0
    optimiser: Literal["adam", "rmsprop"] = "adam"
    batch: int = 64
    tenacity: int = 5
    passes: int = 4
    most_passes: int = 200
    seed: int = 1111


@dataclass(frozen=True, slots=True)
class Rows:
    """Features (n, d), the last of them 1, and classes (n,) 0, 1, …, on the device that learns."""

    features: Tensor
    classes: Tensor

    @classmethod
    def of(cls, features: NDArray[Any], classes: Sequence[int], device: str = "cpu") -> Rows:
        """Rows of features (n, d - 1)."""
        given = torch.from_numpy(np.asarray(features, dtype=np.float32)).to(device)
        labels = torch.from_numpy(np.asarray(classes, dtype=np.int64)).to(device)
        return cls(torch.cat([given, torch.ones_like(given[:, :1])], dim=1), labels)

    def __len__(self) -> int:
        return len(self.features)

    def at(self, places: NDArray[np.int64]) -> Rows:
        """The rows at these places."""
        chosen = torch.from_numpy(places).to(self.features.device)
        return Rows(self.features[chosen], self.classes[chosen])


class Classifiers:
    """One classifier a penalty, all of one beginning: that of torch's Linear under SentEval's seed.

    The weights of all lie side by side, (d, r c), or (d, r h) and (r, h + 1, c): one product serves all.
    """

    def __init__(
        self, features: int, classes: int, penalties: Sequence[float], learning: Learning, device: str
    ) -> None:
        sizes = [features, *([learning.hidden] if learning.hidden else []), classes]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(learning.seed)
            layers = [nn.Linear(*size) for size in pairwise(sizes)]
        first, *rest = (torch.cat([layer.weight.T, layer.bias[None]]).detach().to(device) for layer in layers)
        self.count = len(penalties)
        self.weights = [first.repeat(1, self.count), *(each.repeat(self.count, 1, 1) for each in rest)]
        given = torch.tensor(penalties, dtype=torch.float32, device=device)
        self._penalties = [given.repeat_interleave(first.shape[1]), given.view(-1, 1, 1)][: len(self.weights)]

    def scores(self, rows: Tensor) -> Tensor:
        """(b, d) -> (b, r, c)."""
        return self._forward(rows)[-1]

    def gradients(self, rows: Tensor, targets: Tensor) -> list[Tensor]:
        """Of the mean cross-entropy of rows (b, d) with targets (b, c), and of the penalty, for each of `weights`."""
        *hidden, scores = self._forward(rows)
        wrong = (scores.softmax(-1) - targets.unsqueeze(1)) / len(rows)
        found = []
        if hidden:
            (units,) = hidden
            found.append(torch.einsum("brh,brc->rhc", units, wrong))
            inner = units[..., :-1]
            wrong = torch.einsum("brc,rhc->brh", wrong, self.weights[1][:, :-1]) * inner * (1 - inner)
        found.insert(0, rows.T @ wrong.flatten(1))
        for gradient, weights, penalty in zip(found, self.weights, self._penalties, strict=True):
            gradient.addcmul_(weights, penalty)
        return found

    def of_each(self, weights: Tensor) -> Tensor:
        """One of `weights`, seen with the penalties first: (r, …)."""
        return weights if weights.ndim == 3 else weights.view(len(weights), self.count, -1).transpose(0, 1)

    def choices(self, rows: Rows) -> Tensor:
        """The class that each classifier finds likeliest: (n, r)."""
        return torch.cat([self.scores(some).argmax(-1) for some in torch.split(rows.features, ROWS)])

    def accuracy(self, rows: Rows) -> Tensor:
        """(r,), in 0 … 1."""
        return (self.choices(rows) == rows.classes[:, None]).double().mean(0)

    def _forward(self, rows: Tensor) -> list[Tensor]:
        """What every layer gives, the scores last: (b, r, h + 1) where there is one in between, and (b, r, c)."""
        found = (rows @ self.weights[0]).view(len(rows), self.count, -1)
        if len(self.weights) == 1:
            return [found]
        units = torch.cat([found.sigmoid(), torch.ones_like(found[..., :1])], dim=-1)
        return [units, torch.einsum("brh,rhc->brc", units, self.weights[1])]


@torch.inference_mode()
def fit(
    rows: Rows, held_out: Rows | float, classes: int, penalties: Sequence[float], learning: Learning
) -> tuple[Classifiers, list[float]]:
    """Classifiers of `rows`, each as it was when it did best on `held_out`, and how good they were there, in 0 … 1.

    `held_out` as a share draws that many of `rows`.
    """
    draw = np.random.RandomState(learning.seed)  # SentEval's own stream: the held-out share, then one order a pass
    if isinstance(held_out, float):
        drawn, count = draw.permutation(len(rows)), int(held_out * len(rows))
        rows, held_out = rows.at(drawn[count:]), rows.at(drawn[:count])
    device = str(rows.features.device)
    made = Classifiers(rows.features.shape[1] - 1, classes, penalties, learning, device)
    step = _Adam(made.weights) if learning.optimiser == "adam" else _RmsProp(made.weights)
    targets = nn.functional.one_hot(rows.classes, classes).float()
    best = [weights.clone() for weights in made.weights]
    reached = torch.full((made.count,), -1.0, dtype=torch.float64, device=device)
    misses, learns = torch.zeros_like(reached), torch.ones_like(reached, dtype=torch.bool)
    done = 0
    while bool(learns.any()) and done <= learning.most_passes:
        for _ in range(learning.passes):
            order = torch.from_numpy(draw.permutation(len(rows))).to(device)
            for places in torch.split(order, learning.batch):
                step(made.gradients(rows.features.index_select(0, places), targets.index_select(0, places)))
        done += learning.passes
        found = made.accuracy(held_out)
        better = learns & (found > reached)
        for kept, weights in zip(best, made.weights, strict=True):
            made.of_each(kept)[better] = made.of_each(weights)[better]
        reached = torch.where(better, found, reached)
        learns &= better | (misses < learning.tenacity)
        misses += ~better
    made.weights = best
    return made, reached.tolist()


class _Adam:
    """torch.optim.Adam with its defaults."""

    def __init__(self, weights: Sequence[Tensor], rate: float = 1e-3) -> None:
        self._weights, self._rate, self._steps = weights, rate, 0
        self._means, self._squares = ([torch.zeros_like(each) for each in weights] for _ in range(2))

    def __call__(self, gradients: Sequence[Tensor]) -> None:
        self._steps += 1
        first, second = 1 - 0.9**self._steps, 1 - 0.999**self._steps
        for weights, gradient, mean, square in zip(self._weights, gradients, self._means, self._squares, strict=True):
            mean.lerp_(gradient, 0.1)
            square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            weights.addcdiv_(mean, (square / second).sqrt_().add_(1e-8), value=-self._rate / first)


class _RmsProp:
    """torch.optim.RMSprop with its defaults."""

    def __init__(self, weights: Sequence[Tensor], rate: float = 1e-2) -> None:
        self._weights, self._rate = weights, rate
        self._squares = [torch.zeros_like(each) for each in weights]

    def __call__(self, gradients: Sequence[Tensor]) -> None:
        for weights, gradient, square in zip(self._weights, gradients, self._squares, strict=True):
            square.mul_(0.99).addcmul_(gradient, gradient, value=0.01)
            weights.addcdiv_(gradient, square.sqrt().add_(1e-8), value=-self._rate)
