"""Mean pooling: the average of a layer's hidden states over all real tokens, [CLS] and [SEP] among them.

Source: Sentence-BERT, Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from semsearch.models.methods import BaseMethod, Batch
from semsearch.models.networks.masked import Inputs, MaskedNetwork
from semsearch.models.networks.pooling import mean_pool


@dataclass(frozen=True, slots=True)
class Method(BaseMethod):
    layer: int = -1

    def embed(self, network: MaskedNetwork, batch: Batch) -> Tensor:
        """(n, h)."""
        (hidden,) = network.states(Inputs(batch.ids, batch.mask), (self.layer,))
        return mean_pool(hidden, batch.mask)
