"""Several [MASK]s: their last hidden states averaged, or concatenated.

Source: Zhang et al. 2024, Pretended CoT, https://arxiv.org/abs/2404.03921, table 1, on the effect of the
number of [MASK]s and of the last character of template and sentence (. ! ? [SEP] or none, in the prompt's rules).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from semsearch.errors import UsageError
from semsearch.models.methods import BaseMethod, Batch, chosen
from semsearch.models.networks import pooling
from semsearch.models.networks.masked import Inputs, MaskedNetwork


@dataclass(frozen=True, slots=True)
class Method(BaseMethod):
    """`count` [MASK]s in the prompt; `combine` is "avg" or "cat"."""

    count: int = 1
    combine: str = "avg"
    layer: int = -1

    kind: ClassVar[str] = "masked"

    def __post_init__(self) -> None:
        chosen("combine", self.combine, ("avg", "cat"))
        if self.count < 1:
            raise UsageError(f"count cannot be {self.count}.", "A template has at least one [MASK].")

    @property
    def masks(self) -> int | None:
        return self.count

    def embed(self, network: MaskedNetwork, batch: Batch) -> Tensor:
        """(n, h), or (n, count * h) if they are concatenated."""
        read = pooling.positions_of(batch.ids, batch.frame.mask, self.count)
        hidden = network.read(Inputs(batch.ids, batch.mask), read, self.layer)
        return hidden.mean(1) if self.combine == "avg" else hidden.flatten(1)
