"""PyTorch back end for encoder networks (BERT, RoBERTa, any other), on a CPU or a GPU.

The bias of a prompt, if the method subtracts it, is computed once for every sentence length that occurs.
"""

from __future__ import annotations

import torch

from semsearch.encoders.torch_backend import TorchBackend
from semsearch.models.methods import Batch
from semsearch.models.networks import loading
from semsearch.models.networks.causal import Past
from semsearch.models.networks.masked import MaskedNetwork
from semsearch.models.tokenization import PromptTokens
from semsearch.prompts import Prompt

BIAS_TEXTS = 64  # rows of a bias table that are computed at once


class MaskedBackend(TorchBackend):
    """An encoder network under any method that is not limited to decoders."""

    network: MaskedNetwork
    load_network = staticmethod(loading.masked)

    def clear_cache(self) -> None:
        self._bias: dict[Prompt, torch.Tensor] = {}

    def _batch(self, ids: torch.Tensor, mask: torch.Tensor, prompt: Prompt, past: Past | None) -> Batch:
        frame = self._tokenizer.frame(prompt)
        return Batch(ids, mask, frame, self._bias_table(prompt, frame, mask) if self.method.denoises else None)

    def _bias_table(self, prompt: Prompt, frame: PromptTokens, mask: torch.Tensor) -> torch.Tensor:
        """The vectors of the empty prompt for sentence lengths 0, 1, … up to the longest in this batch."""
        known = self._bias.get(prompt)
        start, needed = 0 if known is None else len(known), int(mask.sum(1).max()) - len(frame) + 1
        if known is None or start < needed:
            lengths = torch.arange(start, max(needed, 1), device=self.device)
            more = [self.method.bias(self.network, frame, some) for some in torch.split(lengths, BIAS_TEXTS)]
            known = torch.cat([*([] if known is None else [known]), *more])
            self._bias[prompt] = known
        return known
