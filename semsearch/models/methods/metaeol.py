"""MetaEOL: the mean of a decoder's last tokens under several prompts, each of which gives it another task.

Source: Lei et al. 2024, https://arxiv.org/abs/2402.18458, and its code, whose eight prompts (two for each of four kinds
of task) and last layer these are. `others` are the prompts beside the template's own; their rules are the template's.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from semsearch.models.methods import Batch, under
from semsearch.models.methods._last_token import LastToken
from semsearch.models.networks.causal import CausalNetwork
from semsearch.prompts import Prompt


@dataclass(frozen=True, slots=True)
class Method(LastToken):
    others: tuple[str, ...] = ()

    def readings(self, prompt: Prompt) -> tuple[Prompt, ...]:
        return prompt, *(under(prompt, each) for each in self.others)

    def embed(self, network: CausalNetwork, batch: Batch) -> Tensor:
        """(n, h)."""
        return torch.stack([LastToken.embed(self, network, each) for each in (batch, *batch.others)]).mean(0)
