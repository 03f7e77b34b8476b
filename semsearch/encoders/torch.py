"""PyTorch back end for encoder networks (BERT, RoBERTa, any other), on a CPU or a GPU.

A prompt's bias, where the method subtracts one, is computed once for every sentence length that occurs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from semsearch.encoders.torch_backend import TorchBackend
from semsearch.models.bundle import Bundle
from semsearch.models.methods import Batch
from semsearch.models.networks import loading
from semsearch.models.networks.masked import MaskedNetwork
from semsearch.models.tokenization import PromptTokens
from semsearch.prompts import Prompt

if TYPE_CHECKING:
    from semsearch.models.networks.causal import Past

BIAS_TEXTS = 64  # rows of a template's bias that are computed at once


class MaskedBackend(TorchBackend):
    """An encoder network under any method that is not for decoders alone."""

    network: MaskedNetwork

    def __init__(
        self,
        bundle: Bundle,
        *,
        device: str = "auto",
        threads: int = 0,
        trust: bool = False,
        network: MaskedNetwork | None = None,
    ) -> None:
        self._bias: dict[Prompt, torch.Tensor] = {}
        super().__init__(bundle, device=device, threads=threads, trust=trust, network=network)

    def clear_cache(self) -> None:
        self._bias.clear()

    def _load_network(self, bundle: Bundle, trust: bool) -> MaskedNetwork:
        return loading.masked(
            bundle.folder, needs=self.method.needs, precision=bundle.precision, device=self.device, trust=trust
        )

    def _batch(self, ids: torch.Tensor, mask: torch.Tensor, prompt: Prompt, past: Past | None) -> Batch:
        frame = self._tokenizer.frame(prompt)
        return Batch(ids, mask, frame, self._table(prompt, frame, mask) if self.method.denoises else None)

    def _table(self, prompt: Prompt, frame: PromptTokens, mask: torch.Tensor) -> torch.Tensor:
        """What the prompt says around 0, 1, … tokens of nothing, as far as this batch needs it."""
        known = self._bias.get(prompt)
        start, needed = 0 if known is None else len(known), int(mask.sum(1).max()) - len(frame) + 1
        if known is None or start < needed:
            lengths = torch.arange(start, max(needed, 1), device=self.device)
            more = [self.method.bias(self.network, frame, some) for some in torch.split(lengths, BIAS_TEXTS)]
            known = torch.cat([*([] if known is None else [known]), *more])
            self._bias[prompt] = known
        return known
