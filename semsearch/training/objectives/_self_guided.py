"""The parts that SG and SG-OPT share: a tuned vector, contrasted with the layers of a frozen copy.

Source: Kim et al. 2021, https://arxiv.org/abs/2106.07345, section 3; functions are named after its equations. Letters:
b texts, l layers, c the tuned vectors (b, d), h one view of each text (b, d), all views (b, l + 1, d), each after the
projection head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from semsearch.errors import UsageError
from semsearch.models.methods import chosen
from semsearch.training.hyperparameters import Hyperparameters, Shape
from semsearch.training.objectives._base import ABOVE_ZERO, BaseObjective, View
from semsearch.training.objectives._contrastive import cosines, linear, own

TEMPERATURE, STRENGTH = 0.01, 0.1  # τ and λ of table 8
HIDDEN = 4096  # footnote 4


@dataclass(frozen=True, slots=True)
class Options:
    """The temperature τ, the pooling of a view (max, mean), its lowest layer, the width of the head, the weight λ."""

    temperature: float = field(default=TEMPERATURE, metadata=ABOVE_ZERO)
    pool: str = "max"
    lowest: int = 0
    hidden: int = HIDDEN
    strength: float = STRENGTH


class SelfGuidedObjective(BaseObjective):
    """The views, the projection head and the regulariser that SG and SG-OPT share."""

    # Table 8; epsilon, warm-up, decay and clipping as in the released code, whose second weight decay, 0.01, counts.
    hyperparameters = Hyperparameters(
        batch_size=16,
        learning_rate=5e-5,
        max_length=126,
        warmup=0.1,
        weight_decay=0.01,
        betas=(0.9, 0.9),
        epsilon=1e-6,
        eval_every=50,
        training_templates={"bert": "sg", "roberta": "sg"},
        frozen=("embeddings",),
    )
    frozen_copy = True

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape, options)
        chosen("pool", options.pool, ("max", "mean"))
        if not 0 <= options.lowest <= shape.depth:
            raise UsageError(
                f"lowest cannot be {options.lowest}.", f"Choose a layer from 0 (embeddings) to {shape.depth}."
            )
        if shape.dim != shape.width:
            raise UsageError(
                f"the vectors have {shape.dim} numbers, and the network's layers {shape.width}.",
                "Name a template that reads a hidden state: BASE#sg",
            )
        self.head: nn.Module = nn.Identity()
        if options.hidden:  # f: two layers, each followed by a GELU (footnote 4)
            first, second = (linear(size, options.hidden, shape.spread) for size in (shape.width, options.hidden))
            self.head = nn.Sequential(first, nn.GELU(), second, nn.GELU())

    @property
    def views(self) -> tuple[View, ...]:
        return View(), View(of="layers", pool=self.options.pool)

    def projected(self, vectors: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """c and the views of the layers from `lowest` on, after the head that they share."""
        tuned, layers = vectors
        return self.head(tuned), self.head(layers[:, self.options.lowest :])

    def penalty(self, tuned: nn.Module, frozen: nn.Module | None) -> Tensor | None:
        """λ · L^reg: the squared distance of all trained parameters from their initial values, as a sum."""
        if not self.options.strength or frozen is None:
            return None
        initial = dict(frozen.named_parameters())
        trained = [(name, value) for name, value in tuned.named_parameters() if value.requires_grad]
        distance = torch.stack([(value - initial[name]).square().sum() for name, value in trained]).sum()
        return distance * float(self.options.strength)


def sampled(views: Tensor) -> Tensor:
    """σ: a random layer's view of each text, uniformly: (b, l + 1, d) -> (b, d)."""
    drawn = torch.randint(views.shape[1], (len(views),), device=views.device)
    return views[torch.arange(len(views), device=views.device), drawn]


def base(c: Tensor, h: Tensor, temperature: float) -> Tensor:
    """L^base: each vector against the other 2b − 1, its partner as the class, the mean of 2b (NT-Xent)."""
    both = torch.cat([c, h])
    n = len(both)
    scores = _without_self(cosines(both, both) / temperature)
    partners = (torch.arange(n, device=c.device) + n // 2) % n
    return functional.cross_entropy(scores, partners)


def opt1(c: Tensor, h: Tensor, temperature: float) -> Tensor:
    """L^opt1: each c against all h and the other c, its own h as the class."""
    return own(torch.cat([cosines(c, h) / temperature, _without_self(cosines(c, c) / temperature)], dim=1))


def opt2_released(c: Tensor, h: Tensor, temperature: float) -> Tensor:
    """L^opt2 as in the released code, which leaves out the first of the other texts' h."""
    others = torch.arange(len(c), device=c.device)
    left_out = functional.one_hot((others == 0).long(), len(c)).bool()  # h_1 for the first text, else h_0
    return own((cosines(c, h) / temperature).masked_fill(left_out, -torch.inf))


def opt3(c: Tensor, views: Tensor, temperature: float) -> Tensor:
    """L^opt3: each c against all views of the other texts, each of its own views as the class in turn; the mean."""
    b, count, _ = views.shape
    scores = (cosines(c, views.flatten(0, 1)) / temperature).reshape(b, b, count)
    same = torch.eye(b, dtype=torch.bool, device=c.device)
    others = scores.masked_fill(same[:, :, None], -torch.inf).flatten(1).logsumexp(1, keepdim=True)
    mine = scores[same]
    return (torch.logaddexp(mine, others) - mine).mean()


def _without_self(scores: Tensor) -> Tensor:
    return scores.masked_fill(torch.eye(len(scores), dtype=torch.bool, device=scores.device), -torch.inf)
