"""Matryoshka: the beginning of a vector, at several lengths, has to serve as well as all of it.

Source: Kusupati et al. 2022, https://arxiv.org/abs/2205.13147, eq. 1 with weights of 1. It wraps any objective; a
head of an objective exists once for each length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from semsearch.errors import UsageError
from semsearch.objectives import Base, Labels, Shape, View

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor


class Nested(Base):
    """The sum of an objective's loss at each length; `inner` by length."""

    def __init__(self, shape: Shape, inner: Mapping[int, Base]) -> None:
        super().__init__(shape)
        for dim, each in inner.items():
            if not 1 <= dim <= shape.dim:
                raise UsageError(f"a vector of {shape.dim} numbers has no beginning of {dim}.", "Choose fewer.")
            if any(view.of != "tuned" for view in each.views):
                raise UsageError("an objective that compares layers cannot be nested.", "Leave out --dims.")
        self.inner = nn.ModuleDict({str(dim): each for dim, each in inner.items()})
        self._first = next(iter(inner.values()))

    @property
    def labels(self) -> Labels:  # type: ignore[override]
        return self._first.labels

    @property
    def views(self) -> tuple[View, ...]:
        return self._first.views

    def loss(self, vectors: Sequence[Tensor], labels: Tensor | None = None) -> Tensor:
        """One (n, d) a view, and the labels of the objective."""
        parts = [
            each.loss([vector[:, : int(dim)] for vector in vectors], labels)  # type: ignore[operator]
            for dim, each in self.inner.items()
        ]
        total: Tensor = sum(parts[1:], parts[0])
        return total

    def teaches(self, labels: Sequence[float]) -> bool:
        return self._first.teaches(labels)
