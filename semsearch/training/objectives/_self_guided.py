"""What SG and SG-OPT share: a vector that is tuned, beside what every layer of a frozen copy says of the text.

Source: Kim et al. 2021, https://arxiv.org/abs/2106.07345, section 3; numbers are its equations' names. Letters: b
texts, l layers, c the tuned vectors (b, d), h one view of each text (b, d), all views (b, l + 1, d), each behind the
projection head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from semsearch.errors import UsageError
from semsearch.models.methods import chosen
from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import BaseObjective, Shape, View
from semsearch.training.objectives._contrastive import cosines, linear, own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

TEMPERATURE, STRENGTH = 0.01, 0.1  # τ and λ of table 8
HIDDEN = 4096  # footnote 4
POOLS = ("max", "mean")
TEMPLATES = {"bert": "sg", "roberta": "sg"}


@dataclass(frozen=True, slots=True)
class Options:
    temperature: float = TEMPERATURE
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
        training_templates=TEMPLATES,
        frozen=("embeddings",),
    )
    frozen_copy = True

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape)
        chosen("pool", options.pool, POOLS)
        if not 0 <= options.lowest <= shape.depth:
            raise UsageError(
                f"lowest cannot be {options.lowest}.", f"Choose a layer from 0 (embeddings) to {shape.depth}."
            )
        if shape.dim != shape.width:
            raise UsageError(
                f"the vectors have {shape.dim} numbers, and the network's layers {shape.width}.",
                "Name a template that reads a hidden state: BASE#sg",
            )
        self.options = options
        self.head = projection(shape.width, options.hidden, shape.spread) if options.hidden else nn.Identity()

    @property
    def views(self) -> tuple[View, ...]:
        return View(), View(of="layers", pool=self.options.pool)

    def projected(self, vectors: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """c and the views of the layers from `lowest` on, behind the head that they share."""
        tuned, layers = vectors
        return self.head(tuned), self.head(layers[:, self.options.lowest :])

    def penalty(self, tuned: nn.Module, frozen: nn.Module | None) -> Tensor | None:
        """λ · L^reg: the squared distance of all parameters from where they began, a sum."""
        if not self.options.strength or frozen is None:
            return None
        begun = dict(frozen.named_parameters())
        moved = [(name, now) for name, now in tuned.named_parameters() if now.requires_grad]
        return self.options.strength * torch.stack([(now - begun[name]).square().sum() for name, now in moved]).sum()


def projection(width: int, hidden: int, spread: float) -> nn.Module:
    """f: two layers, each with a GELU behind it (footnote 4)."""
    return nn.Sequential(linear(width, hidden, spread), nn.GELU(), linear(hidden, hidden, spread), nn.GELU())


def sampled(views: Tensor) -> Tensor:
    """σ: one layer's view for each text, drawn evenly: (b, l + 1, d) -> (b, d)."""
    drawn = torch.randint(views.shape[1], (len(views),), device=views.device)
    return views[torch.arange(len(views), device=views.device), drawn]


def base(c: Tensor, h: Tensor, temperature: float) -> Tensor:
    """L^base: every vector finds its other one among all 2b − 1, the mean of 2b (NT-Xent)."""
    both = torch.cat([c, h])
    n = len(both)
    scores = _without_self(cosines(both, both) / temperature)
    partners = (torch.arange(n, device=c.device) + n // 2) % n
    return functional.cross_entropy(scores, partners)


def opt1(c: Tensor, h: Tensor, temperature: float) -> Tensor:
    """L^opt1: every c finds its own h among the h, and the other c."""
    return own(torch.cat([cosines(c, h) / temperature, _without_self(cosines(c, c) / temperature)], dim=1))


def opt2(c: Tensor, h: Tensor, temperature: float) -> Tensor:
    """L^opt2: every c finds its own h among the h."""
    return own(cosines(c, h) / temperature)


def opt2_released(c: Tensor, h: Tensor, temperature: float) -> Tensor:
    """opt2 as the released code has it, which leaves out the first of the other texts' h."""
    others = torch.arange(len(c), device=c.device)
    left_out = functional.one_hot((others == 0).long(), len(c)).bool()  # h_1 for the first text, else h_0
    return own((cosines(c, h) / temperature).masked_fill(left_out, -torch.inf))


def opt3(c: Tensor, views: Tensor, temperature: float) -> Tensor:
    """L^opt3: every c finds each of its own views, one at a time, among all views of the other texts; the mean."""
    b, count, _ = views.shape
    scores = (cosines(c, views.flatten(0, 1)) / temperature).reshape(b, b, count)
    same = torch.eye(b, dtype=torch.bool, device=c.device)
    others = scores.masked_fill(same[:, :, None], -torch.inf).flatten(1).logsumexp(1, keepdim=True)
    mine = scores[same]
    return (torch.logaddexp(mine, others) - mine).mean()


def _without_self(scores: Tensor) -> Tensor:
    return scores.masked_fill(torch.eye(len(scores), dtype=torch.bool, device=scores.device), -torch.inf)
