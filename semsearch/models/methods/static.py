"""Static token embeddings: the mean of the word vectors, without position, type, normalisation or any layer.

Source: PromptBERT, Jiang et al. 2022, https://arxiv.org/abs/2201.04337, tables 1 and 3. `specials` leaves [CLS] and
[SEP] in, as its table 1 does; the rows of table 3 leave them out, and their prompt removes biases from the text.
`table="head"` takes the rows of the masked-language-model head in place of the word vectors, which most models tie to
them (table 12).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from semsearch.models.methods import BaseMethod, Batch, chosen
from semsearch.models.methods._masks import part
from semsearch.models.networks.masked import MaskedNetwork
from semsearch.models.networks.pooling import mean_pool


@dataclass(frozen=True, slots=True)
class Method(BaseMethod):
    specials: bool = True
    table: str = "words"

    def __post_init__(self) -> None:
        chosen("table", self.table, ("words", "head"))

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"decoder"} if self.table == "head" else ())

    def embed(self, network: MaskedNetwork, batch: Batch) -> Tensor:
        """(n, h)."""
        if self.table == "head":
            rows = part(network, "decoder").get_parameter("weight")[batch.ids]
        else:
            rows = network.words(batch.ids)
        return mean_pool(rows, batch.mask if self.specials else _content(batch))


def _content(batch: Batch) -> Tensor:
    """The mask without the tokens of the prompt's frame. Without any token left, it has the first one."""
    places = torch.arange(batch.ids.shape[1], device=batch.ids.device)
    start, end = len(batch.frame.before), batch.mask.sum(1, keepdim=True) - len(batch.frame.after)
    inside = (places >= start) & (places < end)
    return torch.where(inside.any(1, keepdim=True), inside.long(), (places == 0).long())
