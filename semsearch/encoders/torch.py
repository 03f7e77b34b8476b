"""PyTorch back end for encoder networks (BERT, RoBERTa, any other), on a CPU or a GPU.

A prompt's bias, where the method subtracts one, is computed once for every sentence length that occurs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from semsearch.encoders.torch_backend import Rows, TorchBackend
from semsearch.models.bundle import Bundle
from semsearch.models.methods import Batch
from semsearch.models.networks import loading
from semsearch.models.networks.masked import MaskedNetwork
from semsearch.models.tokenization import Frame
from semsearch.prompts import Prompt

if TYPE_CHECKING:
    from numpy.typing import NDArray

BIAS_TEXTS = 64  # rows of a template's bias that are computed at once


class MaskedBackend(TorchBackend):
    """An encoder network under any method that is not for decoders alone."""

    network: MaskedNetwork

    def __init__(
        self, bundle: Bundle, *, device: str = "auto", threads: int = 0, trust: bool = False, network: Any = None
    ) -> None:
        self._bias: dict[Prompt, torch.Tensor] = {}
        super().__init__(bundle, device=device, threads=threads, trust=trust, network=network)

    def clear_cache(self) -> None:
        self._bias.clear()

    def _opened(self, bundle: Bundle, trust: bool) -> MaskedNetwork:
        return loading.masked(
            bundle.folder, needs=self.method.needs, precision=bundle.precision, device=self.device, trust=trust
        )

    def _batch(self, ids: torch.Tensor, mask: torch.Tensor, prompt: Prompt, past: Any) -> Batch:
        frame = self._tokenizer.frame(prompt)
        return Batch(ids, mask, frame, self._table(prompt, frame, mask) if self.method.denoises else None)

    def _parted(self, rows: Rows, prompt: Prompt) -> Iterator[tuple[NDArray[np.int64], Rows, Any]]:
        """All rows; where the network cannot do with padding, those of each length for themselves."""
        if self.network.pads:
            yield from super()._parted(rows, prompt)
            return
        lengths = np.array([len(row) for row in rows])
        for length in np.unique(lengths):
            places = np.flatnonzero(lengths == length)
            yield places, [rows[at] for at in places.tolist()], None

    def _table(self, prompt: Prompt, frame: Frame, mask: torch.Tensor) -> torch.Tensor:
        """What the prompt says around 0, 1, … tokens of nothing, as far as this batch needs it."""
        known = self._bias.get(prompt)
        start, needed = 0 if known is None else len(known), int(mask.sum(1).max()) - len(frame) + 1
        if known is None or start < needed:
            lengths = torch.arange(start, max(needed, 1), device=self.device)
            more = [self.method.bias(self.network, frame, some) for some in torch.split(lengths, BIAS_TEXTS)]
            known = torch.cat([*([] if known is None else [known]), *more])
            self._bias[prompt] = known
        return known
