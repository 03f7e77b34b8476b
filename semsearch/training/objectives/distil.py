"""Distillation: the vectors of a teacher, and how alike they are to each other, in another reading or network.

Sources: FitNets' regression to a teacher's representation, Romero et al. 2015, https://arxiv.org/abs/1412.6550; the
relations within a batch, Park et al. 2019 (RKD), https://arxiv.org/abs/1904.05068. Here with cosines in place of
distances: 1 − cos(student, teacher), plus `similarity` times the mean square of the difference of all cosines between
two texts of the batch. A teacher of another width teaches the similarities alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn import functional

from semsearch.errors import UsageError
from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import BaseObjective, Labels, Shape, View
from semsearch.training.objectives._contrastive import cosines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Options:
    vectors: float = 1.0
    similarity: float = 10.0


class Objective(BaseObjective):
    hyperparameters = Hyperparameters(
        batch_size=64,
        learning_rate=2e-4,
        max_length=192,
        warmup=0.1,
        eval_every=100,
        frozen=("embeddings",),
        dropout=False,
    )
    labels: ClassVar[Labels] = "teacher"

    def __init__(self, shape: Shape, options: Options) -> None:
        super().__init__(shape)
        self.options = options

    @property
    def views(self) -> tuple[View, ...]:
        """Every column: a question and its answer teach how alike they are."""
        return tuple(View(column) for column in self.shape.columns)

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """One (n, d) a column, and the teacher's vectors (n · columns, d') in the same order."""
        if labels is None:
            raise UsageError("distillation needs the vectors of a teacher.", "Name one: --teacher MODEL")
        student, teacher = torch.cat(list(vectors)), labels.to(vectors[0].dtype)
        off = ~torch.eye(len(student), dtype=torch.bool, device=student.device)
        alike = (cosines(student, student) - cosines(teacher, teacher))[off].square()
        loss = self.options.similarity * (alike.mean() if len(student) > 1 else alike.sum())
        if self.options.vectors and student.shape == teacher.shape:
            loss = loss + self.options.vectors * (1 - functional.cosine_similarity(student, teacher, dim=-1)).mean()
        return loss
