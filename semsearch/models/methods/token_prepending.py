"""Token Prepending: a decoder's last token, which every token of the sentence sees from the second block on.

Source: Fu et al. 2025, https://arxiv.org/abs/2412.11556, section 4. A placeholder [PST] stands before the sentence.
Between the first blocks its state is replaced by that of the last token (4.2.2), so that under causal attention the
sentence is read again with its own embedding in front. Defaults are those of the released code: blocks 1 to 6 from 0
(the paper ends "after the 8-th layer"), and the layer below the last; for PromptEOL the paper reads the 27th of
LLaMA2 7b's 32, chosen on STS-B dev. The placeholder's vector is random (4.2.1): standard normal, as in the code, but
drawn from `seed`, since the code draws another one in every process.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from semsearch.errors import UsageError
from semsearch.models.methods import Batch
from semsearch.models.methods._last_token import LastToken
from semsearch.models.networks import pooling
from semsearch.models.networks.causal import CausalNetwork, Edits
from semsearch.models.networks.masked import Inputs
from semsearch.models.tokenization import PromptTokens


@dataclass(frozen=True, slots=True)
class Method(LastToken):
    """`start` and `end`: the first block, from 0, that reads the last token in place of [PST], and the one after."""

    layer: int = -2
    start: int = 1
    end: int = 7
    seed: int = 0

    placeholder: ClassVar[bool] = True

    def __post_init__(self) -> None:
        LastToken.__post_init__(self)
        if not 0 < self.start < self.end:
            raise UsageError(
                f"start and end cannot be {self.start} and {self.end}.", "Choose 0 < start < end, such as 1 and 7."
            )

    def shared(self, frame: PromptTokens) -> int:
        return frame.place

    def embed(self, network: CausalNetwork, batch: Batch) -> Tensor:
        """(n, h). Raises UsageError for a model that runs as a whole."""
        place, last = batch.frame.place - (batch.past.length if batch.past else 0), pooling.last(batch.mask)

        def prepend(hidden: Tensor) -> Tensor:
            return _replaced(hidden, place, pooling.at(hidden, last))

        words = network.words(batch.ids)
        chance = torch.randn(words.shape[-1], generator=torch.Generator().manual_seed(self.seed))
        words = _replaced(words, place, chance.to(words).expand_as(words[:, :1]))
        inputs = replace(Inputs(batch.ids, batch.mask), words=words)
        edits = Edits(inputs=dict.fromkeys(range(self.start, min(self.end, network.level(self.layer))), prepend))
        return network.read(inputs, last, self.layer, norm=self.norm, past=batch.past, edits=edits)[:, 0]


def _replaced(hidden: Tensor, place: int, vectors: Tensor) -> Tensor:
    """`hidden` (n, t, h) with `vectors` (n, 1, h) at one place of every row."""
    return torch.cat([hidden[:, :place], vectors, hidden[:, place + 1 :]], dim=1)
