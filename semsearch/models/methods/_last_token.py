"""Shared by the methods that read a decoder's last token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from semsearch.models.methods import BaseMethod, Batch, chosen
from semsearch.models.networks import pooling
from semsearch.models.networks.causal import CausalNetwork
from semsearch.models.networks.masked import Inputs


@dataclass(frozen=True, slots=True)
class LastToken(BaseMethod):
    """`norm`: whether the final norm is applied: "yes", "no", or "" for after the last layer only."""

    layer: int = -1
    norm: str = ""

    kind: ClassVar[str] = "causal"

    def __post_init__(self) -> None:
        chosen("norm", self.norm, ("", "yes", "no"))

    def embed(self, network: CausalNetwork, batch: Batch) -> Tensor:
        """(n, h)."""
        inputs, last = Inputs(batch.ids, batch.mask), pooling.last(batch.mask)
        return network.read(inputs, last, self.layer, norm=self.norm, past=batch.past)[:, 0]
