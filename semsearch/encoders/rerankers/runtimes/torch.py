"""Rerankers in PyTorch: Hugging Face folders, in full precision, on a CPU or a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from semsearch.encoders import device as _device
from semsearch.encoders.rerankers.runtime import RerankerRuntime
from semsearch.models.batching import Rows, pad
from semsearch.models.networks import pairs
from semsearch.models.rerankers import checkpoint
from semsearch.models.rerankers.pair_tokens import PairTokenizer

CPU_TOKENS = 1024  # in a batch, with padding, as for encoders
GPU_TOKENS = 65_536
MAX_TEXTS = 512


class Runtime(RerankerRuntime):
    """Runs a checkpoint; `network` is differentiable, and what an export traces."""

    name = "PyTorch"

    def __init__(
        self, folder: Path, *, name: str = "", source: str = "", device: str = "auto", threads: int = 0
    ) -> None:
        if threads:
            torch.set_num_threads(threads)
        self.bundle = checkpoint.describe(folder, name=name, source=source)
        self.device = _device.torch_device(device)
        self.provider = f"torch {torch.__version__}"
        self._tokenizer = PairTokenizer(self.bundle.path("tokenizer"), self.bundle.max_tokens)
        self.network = pairs.load(self.bundle.folder, self.bundle.positive, device=self.device)
        self.max_texts, self.pads = MAX_TEXTS, self.network.pads
        self.max_tokens = CPU_TOKENS if self.device == "cpu" else GPU_TOKENS

    def _release(self) -> None:
        torch.cuda.empty_cache()

    def tensors(self, ids: Rows, segments: Rows) -> tuple[torch.Tensor, ...]:
        """Ids and mask (n, t) of a batch, and its segments if the network takes them."""
        arrays = [*pad(ids), *([pad(segments)[0]] if self.bundle.segments else [])]
        return tuple(torch.from_numpy(each).to(self.device) for each in arrays)

    @torch.inference_mode()
    def _compute(self, ids: Rows, segments: Rows) -> NDArray[np.float32]:
        return np.asarray(self.network(*self.tensors(ids, segments)).cpu().numpy())
