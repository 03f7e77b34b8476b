"""TorchEncoder: a method on an encoder network (BERT, RoBERTa, any other), in Torch, on a CPU or a GPU.

Texts of like length share a batch, so that little is spent on padding; a batch is bounded by its tokens, and halved
where memory does not hold it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from semsearch import methods
from semsearch.batching import Tokenizer, by_length, padded
from semsearch.bundle import Bundle, Cuts
from semsearch.encoders import _device
from semsearch.errors import SemsearchError, UsageError
from semsearch.methods import Batch
from semsearch.networks import loading
from semsearch.prompts import Prompt
from semsearch.vectors import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Role, Vectors

CPU_TOKENS = 2048  # in a batch, padding included
GPU_TOKENS = 65_536
MOST_TEXTS = 512
BIAS_TEXTS = 64  # rows of a template's bias that are computed at once


class TorchEncoder:
    """Runs a bundle whose weights are safetensors. `embed` takes any prompt; `vectors` leaves their length as it is."""

    def __init__(self, bundle: Bundle, *, device: str = "auto", threads: int = 0, trust: bool = False) -> None:
        if threads:
            torch.set_num_threads(threads)
        self.method = methods.make(bundle.method, bundle.options)
        self.device = _device.torch_device(device)
        self.network = loading.masked(
            bundle.folder, needs=self.method.needs, precision=bundle.precision, device=self.device, trust=trust
        )
        self._tokenizer = Tokenizer(bundle.path("tokenizer"), bundle.max_tokens, bundle.tokens)
        self._bias: dict[Prompt, torch.Tensor] = {}
        self.prompts = bundle.prompts
        self.max_tokens, self.background = bundle.max_tokens, bundle.background
        self.dim = self.vectors([""], bundle.prompts["passage"]).shape[1]
        self.bundle = bundle if bundle.dim == self.dim else replace(bundle, dim=self.dim)
        self.name, self.fingerprint = bundle.name, bundle.fingerprint

    @property
    def cuts(self) -> Cuts:
        """What was cut so far."""
        return self._tokenizer.cuts

    @property
    def info(self) -> Mapping[str, Any]:
        """What `semsearch info` shows of this encoder."""
        shown = ("name", "fingerprint", "method", "dim", "max_tokens", "precision", "licence", "source")
        prompts = {role: [prompt.before, prompt.after] for role, prompt in self.prompts.items()}
        running = {"device": self.device, "provider": f"torch {torch.__version__}", "prompts": prompts}
        return {key: getattr(self.bundle, key) for key in shown} | running | {"options": dict(self.bundle.options)}

    def encode(self, texts: Sequence[str], *, role: Role = "passage") -> Vectors:
        """n texts -> (n, dim) float32 unit rows in their order."""
        return self.embed(texts, self.prompts[role])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text alone, without prompt and special tokens."""
        return self._tokenizer.count(texts)

    def embed(self, texts: Sequence[str], prompt: Prompt, batch_size: int | None = None) -> Vectors:
        """n texts under `prompt` -> (n, dim) float32 unit rows in their order. `batch_size` is for speed only."""
        return unit_rows(self.vectors(texts, prompt, batch_size))

    def vectors(self, texts: Sequence[str], prompt: Prompt, batch_size: int | None = None) -> NDArray[np.float32]:
        """n texts under `prompt` -> (n, dim) float32, as the method gives them.

        Raises UsageError where the prompt has not the [MASK]s that the method reads.
        """
        if self.method.masks != prompt.masks and (self.method.masks is not None or not prompt.masks):
            raise UsageError(
                f"method {self.bundle.method} reads {self.method.masks} [MASK]s, and the prompt has {prompt.masks}.",
                "Use a template of that method: semsearch templates list",
            )
        rows = self._tokenizer.ids(texts, prompt)
        frame = self._tokenizer.frame(prompt)
        found = np.empty((len(rows), 0), dtype=np.float32)
        tokens = CPU_TOKENS if self.device == "cpu" else GPU_TOKENS
        for some in by_length([len(row) for row in rows], most_texts=batch_size or MOST_TEXTS, most_tokens=tokens):
            part = self._run([rows[at] for at in some], frame, prompt)
            if not found.shape[1]:
                found = np.empty((len(rows), part.shape[1]), dtype=np.float32)
            found[some] = part
        return found if len(rows) else np.empty((0, self.dim), dtype=np.float32)

    @torch.inference_mode()
    def _run(self, rows: Sequence[Sequence[int]], frame: Any, prompt: Prompt) -> NDArray[np.float32]:
        """One batch; where memory does not hold it, its halves."""
        ids, mask = (torch.from_numpy(each).to(self.device) for each in padded(rows))
        try:
            bias = self._table(prompt, frame, mask) if self.method.denoises else None
            vectors = self.method.embed(self.network, Batch(ids, mask, frame, bias))
            return np.asarray(vectors.float().cpu().numpy())
        except (torch.OutOfMemoryError, MemoryError) as error:
            if len(rows) == 1:
                raise SemsearchError(
                    f"the memory of {self.device} does not hold one text of {len(rows[0])} tokens.", "Use --device cpu."
                ) from error
        if self.device != "cpu":
            torch.cuda.empty_cache()
        half = len(rows) // 2
        return np.concatenate([self._run(rows[:half], frame, prompt), self._run(rows[half:], frame, prompt)])

    def _table(self, prompt: Prompt, frame: Any, mask: torch.Tensor) -> torch.Tensor:
        """What the prompt says around 0, 1, … tokens of nothing, as far as this batch needs it."""
        known = self._bias.get(prompt)
        start, needed = 0 if known is None else len(known), int(mask.sum(1).max()) - len(frame) + 1
        if known is None or start < needed:
            lengths = torch.arange(start, max(needed, 1), device=self.device)
            more = [self.method.bias(self.network, frame, some) for some in torch.split(lengths, BIAS_TEXTS)]
            known = torch.cat([*([] if known is None else [known]), *more])
            self._bias[prompt] = known
        return known
