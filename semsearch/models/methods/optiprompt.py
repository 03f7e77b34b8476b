"""OptiPrompt for sentences: the template's words are learned vectors, the network stays unchanged.

Sources: OptiPrompt, Zhong et al. 2021, https://arxiv.org/abs/2104.05240; PromptBERT, Jiang et al. 2022,
https://arxiv.org/abs/2201.04337, section 4.2. Every token of the template but [MASK] has a learned vector,
put in its place. `place="released"` follows the released code: it looks for the last token with the same spelling,
so a word of the template is replaced in the sentence instead, and the opening quote has its own vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from semsearch.errors import UsageError
from semsearch.models.methods import BaseMethod, Batch, chosen
from semsearch.models.methods._masks import read_mask
from semsearch.models.networks import pooling
from semsearch.models.networks.masked import Inputs, MaskedNetwork
from semsearch.models.tokenization import PromptTokens


@dataclass(frozen=True, slots=True)
class Method(BaseMethod):
    place: str = "template"
    layer: int = -1

    kind: ClassVar[str] = "masked"

    def __post_init__(self) -> None:
        chosen("place", self.place, ("template", "released"))

    @property
    def masks(self) -> int | None:
        return 1

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"prompt"})

    def embed(self, network: MaskedNetwork, batch: Batch) -> Tensor:
        """(n, h). Raises UsageError unless the template has one token for every learned vector."""
        return read_mask(network, self.inputs(network, batch), batch.frame, self.layer)

    def inputs(self, network: MaskedNetwork, batch: Batch) -> Inputs:
        """The network's inputs, with learned vectors in place of the template's words. Raises as embed() does."""
        words, learned = network.words(batch.ids), network.prompt
        tokens = [token for token, _ in slots(batch.frame)]
        if learned is None or len(learned) != len(tokens):
            raise UsageError(
                f"the learned prompt has {0 if learned is None else len(learned)} vectors, and the template has "
                f"{len(tokens)} tokens beside [MASK].",
                "Use the template that it was learned with.",
            )
        for vector, positions in zip(learned, self._positions(batch), strict=True):
            there = positions.view(-1, 1, 1).expand(-1, 1, words.shape[-1])
            words = words.scatter(1, there, vector.expand_as(there))
        return Inputs(batch.ids, batch.mask, words=words)

    def _positions(self, batch: Batch) -> list[Tensor]:
        """The position of every learned vector in each text: (n,)."""
        if self.place == "released":
            return [pooling.positions_of(batch.ids, token, 1)[:, 0].clamp(0) for token, _ in slots(batch.frame)]
        ends = batch.mask.sum(1)
        return [torch.full_like(ends, at) if at >= 0 else ends + at for _, at in slots(batch.frame)]


def slots(frame: PromptTokens) -> list[tuple[int, int]]:
    """Tokens of the template except [MASK] and special tokens around every text: (token, place from start or end)."""
    before = list(enumerate(frame.before))[frame.lead :]
    after = [(at - len(frame.after), token) for at, token in enumerate(frame.after)]
    after = after[: len(after) - frame.trail]
    return [(token, at) for at, token in (*before, *after) if token != frame.mask]
