"""Matryoshka: vectors truncated to several lengths are trained like the whole vector.

Source: Kusupati et al. 2022, https://arxiv.org/abs/2205.13147, eq. 1 with weights of 1. It wraps any objective that
compares vectors of one kind; a head of an objective exists once for each length. A teacher's vectors are not truncated:
from longer ones, a truncated vector learns only the similarities between texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from torch import Tensor, nn

from semsearch.errors import UsageError
from semsearch.training.datasets.dataset import Labels
from semsearch.training.hyperparameters import Shape
from semsearch.training.objectives._base import BaseObjective, View


class MatryoshkaObjective(BaseObjective):
    """The sum of an objective's loss at each length of `dims` and at the full one; `make` creates it for a shape.

    Raises UsageError for a length beyond the vector's, and for objectives that compare layers of the network.
    """

    def __init__(self, shape: Shape, dims: Sequence[int], make: Callable[[Shape], BaseObjective]) -> None:
        super().__init__(shape)
        for dim in dims:
            if not 1 <= dim <= shape.dim:
                raise UsageError(
                    f"a vector of {shape.dim} numbers cannot be shortened to {dim}.",
                    f"Choose lengths from 1 to {shape.dim}.",
                )
        whole = make(shape)
        if any(view.of != "tuned" for view in whole.views):
            raise UsageError(
                "an objective that compares layers cannot be trained at several lengths.",
                "Leave out the shorter lengths.",
                "Leave out --matryoshka-dims.",
            )
        shorter = sorted({*dims} - {shape.dim}, reverse=True)
        truncated = {str(dim): make(replace(shape, dim=dim)) for dim in shorter}
        self.inner = nn.ModuleDict({str(shape.dim): whole, **truncated})
        self._whole = whole

    @property
    def labels(self) -> Labels:  # type: ignore[override]
        return self._whole.labels

    @property
    def views(self) -> tuple[View, ...]:
        return self._whole.views

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """One (n, d) per view, and the labels of the objective."""
        parts = [
            cast(BaseObjective, each).loss([vector[:, : int(dim)] for vector in vectors], labels)
            for dim, each in self.inner.items()
        ]
        total: Tensor = sum(parts[1:], parts[0])
        return total

    def penalty(self, tuned: nn.Module, frozen: nn.Module | None) -> Tensor | None:
        """Counted once, since it does not depend on the length."""
        return self._whole.penalty(tuned, frozen)

    def teaches(self, labels: Sequence[float]) -> bool:
        return self._whole.teaches(labels)
