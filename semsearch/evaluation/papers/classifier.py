"""Classifiers for transfer tasks, in PyTorch: logistic regression, or one hidden layer of sigmoids.

Source: SentEval, Conneau and Kiela 2018, https://arxiv.org/abs/1803.05449, and its defaults: mini-batches, weight decay
as the L2 penalty, early stopping on the accuracy on held-out rows. Classifiers with several penalties are trained side
by side, on the same batches, each as if it were alone. Gradients are written out: autograd and torch.optim take five
times as long for products this small. A test compares them with both.

Letters: n rows, b of a batch, d features including a final 1, h hidden units, c classes, r penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

ROWS = 8192  # classified at once
Step = Callable[[Sequence[Tensor]], None]  # updates the weights, from their gradients


@dataclass(frozen=True, slots=True)
class ClassifierSettings:
    """How classifiers are trained; the defaults are SentEval's own settings.

    The held-out rows are scored after every `passes` over the training rows. Training stops at a score no better than
    the best after `tenacity` such scores, or after `most_passes`. `hidden` is the number of hidden units; 0 is logistic
    regression. The penalty is chosen from `penalties`, by cross-validation with `folds`.
    """

    hidden: int = 0
    optimiser: Literal["adam", "rmsprop"] = "adam"
    batch: int = 64
    tenacity: int = 5
    passes: int = 4
    most_passes: int = 200
    seed: int = 1111
    folds: int = 10
    penalties: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2)


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Features (n, d), the last of them 1, and classes (n,) 0, 1, …, on the device that trains."""

    features: Tensor
    classes: Tensor

    @classmethod
    def of(cls, features: NDArray[np.floating], classes: Sequence[int], device: str = "cpu") -> LabelledRows:
        """Rows of features (n, d - 1)."""
        values = torch.from_numpy(np.asarray(features, dtype=np.float32)).to(device)
        labels = torch.from_numpy(np.asarray(classes, dtype=np.int64)).to(device)
        return cls(torch.cat([values, torch.ones_like(values[:, :1])], dim=1), labels)

    def __len__(self) -> int:
        return len(self.features)

    def at(self, places: NDArray[np.int64]) -> LabelledRows:
        """The rows with these indices."""
        chosen = torch.from_numpy(places).to(self.features.device)
        return LabelledRows(self.features[chosen], self.classes[chosen])


class Classifiers:
    """One classifier per penalty, all with the same initial weights: those of torch's Linear under SentEval's seed.

    Their weights lie side by side, (d, r c), or (d, r h) and (r, h + 1, c), so that one product serves all.
    """

    def __init__(
        self, features: int, classes: int, penalties: Sequence[float], settings: ClassifierSettings, device: str
    ) -> None:
        sizes = [features, *([settings.hidden] if settings.hidden else []), classes]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            layers = [nn.Linear(*size) for size in pairwise(sizes)]
        first, *rest = (torch.cat([layer.weight.T, layer.bias[None]]).detach().to(device) for layer in layers)
        self.count = len(penalties)
        self.weights = [first.repeat(1, self.count), *(each.repeat(self.count, 1, 1) for each in rest)]
        l2 = torch.tensor(penalties, dtype=torch.float32, device=device)
        self._penalties = [l2.repeat_interleave(first.shape[1]), l2.view(-1, 1, 1)][: len(self.weights)]

    def scores(self, rows: Tensor) -> Tensor:
        """(b, d) -> (b, r, c)."""
        return self._forward(rows)[-1]

    def gradients(self, rows: Tensor, targets: Tensor) -> list[Tensor]:
        """The gradients of the mean cross-entropy of rows (b, d) and targets (b, c) plus the penalty, as `weights`."""
        *hidden, scores = self._forward(rows)
        wrong = (scores.softmax(-1) - targets.unsqueeze(1)) / len(rows)
        gradients = []
        for units in hidden:
            gradients.append(torch.einsum("brh,brc->rhc", units, wrong))
            inner = units[..., :-1]
            wrong = torch.einsum("brc,rhc->brh", wrong, self.weights[1][:, :-1]) * inner * (1 - inner)
        gradients.insert(0, rows.T @ wrong.flatten(1))
        for gradient, weights, penalty in zip(gradients, self.weights, self._penalties, strict=True):
            gradient.addcmul_(weights, penalty)
        return gradients

    def of_each(self, weights: Tensor) -> Tensor:
        """A view of one of `weights` with the penalties first: (r, …)."""
        return weights if weights.ndim == 3 else weights.view(len(weights), self.count, -1).transpose(0, 1)

    def choices(self, rows: LabelledRows) -> Tensor:
        """The class with the highest score by each classifier: (n, r)."""
        return torch.cat([self.scores(some).argmax(-1) for some in torch.split(rows.features, ROWS)])

    def accuracy(self, rows: LabelledRows) -> Tensor:
        """(r,), in 0 … 1."""
        return (self.choices(rows) == rows.classes[:, None]).double().mean(0)

    def _forward(self, rows: Tensor) -> list[Tensor]:
        """The output of every layer, the scores last: (b, r, h + 1) if there is a hidden layer, and (b, r, c)."""
        outputs = (rows @ self.weights[0]).view(len(rows), self.count, -1)
        if len(self.weights) == 1:
            return [outputs]
        units = torch.cat([outputs.sigmoid(), torch.ones_like(outputs[..., :1])], dim=-1)
        return [units, torch.einsum("brh,rhc->brc", units, self.weights[1])]


@torch.inference_mode()
def fit(
    rows: LabelledRows,
    held_out: LabelledRows | float,
    classes: int,
    penalties: Sequence[float],
    settings: ClassifierSettings,
) -> tuple[Classifiers, list[float]]:
    """Classifiers of `rows`, each at its best pass, and its accuracy on `held_out`: rows, or a share of them."""
    rng = np.random.RandomState(settings.seed)  # used as in SentEval: the held-out share, then one order per pass
    if isinstance(held_out, float):
        drawn, size = rng.permutation(len(rows)), int(held_out * len(rows))
        rows, held_out = rows.at(drawn[size:]), rows.at(drawn[:size])
    device = str(rows.features.device)
    model = Classifiers(rows.features.shape[1] - 1, classes, penalties, settings, device)
    step = (_adam if settings.optimiser == "adam" else _rmsprop)(model.weights)
    targets = nn.functional.one_hot(rows.classes, classes).float()
    best = [weights.clone() for weights in model.weights]
    best_accuracy = torch.full((model.count,), -1.0, dtype=torch.float64, device=device)
    misses, training = torch.zeros_like(best_accuracy), torch.ones_like(best_accuracy, dtype=torch.bool)
    done = 0
    while bool(training.any()) and done <= settings.most_passes:
        for _ in range(settings.passes):
            order = torch.from_numpy(rng.permutation(len(rows))).to(device)
            for places in torch.split(order, settings.batch):
                step(model.gradients(rows.features.index_select(0, places), targets.index_select(0, places)))
        done += settings.passes
        accuracy = model.accuracy(held_out)
        better = training & (accuracy > best_accuracy)
        for saved, weights in zip(best, model.weights, strict=True):
            model.of_each(saved)[better] = model.of_each(weights)[better]
        best_accuracy = torch.where(better, accuracy, best_accuracy)
        training &= better | (misses < settings.tenacity)
        misses += ~better
    model.weights = best
    return model, best_accuracy.tolist()


def _adam(weights: Sequence[Tensor]) -> Step:
    """torch.optim.Adam with its defaults."""
    means, squares = ([torch.zeros_like(each) for each in weights] for _ in range(2))
    steps = count(1)

    def step(gradients: Sequence[Tensor]) -> None:
        done = next(steps)
        first, second = 1 - 0.9**done, 1 - 0.999**done
        for each, gradient, mean, square in zip(weights, gradients, means, squares, strict=True):
            mean.lerp_(gradient, 0.1)
            square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
            each.addcdiv_(mean, (square / second).sqrt_().add_(1e-8), value=-1e-3 / first)

    return step


def _rmsprop(weights: Sequence[Tensor]) -> Step:
    """torch.optim.RMSprop with its defaults."""
    squares = [torch.zeros_like(each) for each in weights]

    def step(gradients: Sequence[Tensor]) -> None:
        for each, gradient, square in zip(weights, gradients, squares, strict=True):
            square.mul_(0.99).addcmul_(gradient, gradient, value=0.01)
            each.addcdiv_(gradient, square.sqrt().add_(1e-8), value=-1e-2)

    return step
