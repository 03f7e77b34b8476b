"""Distillation: the vectors of a teacher and the similarities between them, for another method or network.

Sources: FitNets' regression to a teacher's representation, Romero et al. 2015, https://arxiv.org/abs/1412.6550; the
relations within a batch, Park et al. 2019 (RKD), https://arxiv.org/abs/1904.05068. Here with cosines instead of
distances: 1 − cos(student, teacher), plus `similarity` times the mean squared difference of all cosines between two
texts of the batch. From a teacher of another width, only the similarities are learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from semsearch.errors import UsageError
from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.objectives._base import BaseObjective, View
from semsearch.training.objectives._contrastive import cosines


@dataclass(frozen=True, slots=True)
class Options:
    """The weights of the two parts of the loss: `vectors` of the cosine to the teacher's vector."""

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
    labels = "teacher"

    @property
    def views(self) -> tuple[View, ...]:
        """Every column: the similarity of a question and its answer is learned too."""
        return tuple(View(column) for column in self.shape.columns)

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """One (n, d) per column, and the teacher's vectors (n · columns, d') in the same order."""
        if labels is None:
            raise UsageError(
                "distillation needs the vectors of a teacher.", "Name one: teacher=.", "Name one: --teacher MODEL"
            )
        student, teacher = torch.cat(list(vectors)), labels.to(vectors[0].dtype)
        off = ~torch.eye(len(student), dtype=torch.bool, device=student.device)
        squares = (cosines(student, student) - cosines(teacher, teacher))[off].square()
        loss: Tensor = self.options.similarity * (squares.mean() if len(student) > 1 else squares.sum())
        if self.options.vectors and student.shape == teacher.shape:
            loss = loss + self.options.vectors * (1 - functional.cosine_similarity(student, teacher, dim=-1)).mean()
        return loss
