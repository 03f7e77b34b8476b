"""The first token: [CLS] as SimCSE, SG and SG-OPT read it, or the checkpoint's pooler (Linear, Tanh) on top of it.

Sources: SimCSE, Gao et al. 2021, https://arxiv.org/abs/2104.08821: unsupervised checkpoints are read before the
pooler, supervised ones after it. SG-OPT, Kim et al. 2021, https://arxiv.org/abs/2106.07345: no pooler.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from semsearch.models.methods import BaseMethod, Batch, chosen
from semsearch.models.methods._masks import part
from semsearch.models.networks import pooling
from semsearch.models.networks.masked import Inputs, MaskedNetwork


@dataclass(frozen=True, slots=True)
class Method(BaseMethod):
    """`layer` counts from the embeddings, 0; -1 is the last. `head` is "" or "pooler"."""

    layer: int = -1
    head: str = ""

    def __post_init__(self) -> None:
        chosen("head", self.head, ("", "pooler"))

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({self.head} - {""})

    def embed(self, network: MaskedNetwork, batch: Batch) -> Tensor:
        """(n, h)."""
        read = network.read(Inputs(batch.ids, batch.mask), pooling.first(batch.ids), self.layer)[:, 0]
        return part(network, "pooler")(read) if self.head else read
