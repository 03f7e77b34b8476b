"""Rerankers on ONNX Runtime, without torch. As with encoders, int8 takes one pair a run (semsearch.encoders.onnx)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.encoders import device as _device
from semsearch.encoders import onnx
from semsearch.encoders.rerankers.runtime import RerankerRuntime
from semsearch.errors import Corrupt, SemsearchError
from semsearch.models.batching import Rows, pad
from semsearch.models.rerankers import manifest
from semsearch.models.rerankers.pair_tokens import PairTokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

INPUTS = ("input_ids", "attention_mask", "token_type_ids")  # the last one where the network is told segments


class Runtime(RerankerRuntime):
    """Runs a saved reranker."""

    name = "ONNX Runtime"

    def __init__(
        self, folder: Path, *, name: str = "", source: str = "", device: str = "auto", threads: int = 0
    ) -> None:
        self.bundle = manifest.read(folder)
        self._session = onnx.new_session(self.bundle, _device.parse(device))
        self.provider = str(self._session.get_providers()[0])
        self.device = onnx.device_of(self._session)
        self.workers = (threads or _device.cores()) if self.device == "cpu" else 1
        self.max_texts, self.max_tokens = onnx.batch_limits(self.bundle.precision, self.device)
        self._inputs = INPUTS if self.bundle.segments else INPUTS[:2]
        if {each.name for each in self._session.get_inputs()} != set(self._inputs):
            raise Corrupt(f"the graph of reranker {self.bundle.name} has other inputs than its manifest says.")
        self._tokenizer = PairTokenizer(self.bundle.path("tokenizer"), self.bundle.max_tokens)

    def _compute(self, ids: Rows, segments: Rows) -> NDArray[np.float32]:
        padded, mask = pad(ids)
        inputs = dict(zip(INPUTS, (padded, mask, pad(segments)[0]), strict=True))
        try:
            logits = self._session.run(None, {name: inputs[name] for name in self._inputs})[0]
        except Exception as error:  # onnxruntime raises a class of its own for every status code
            raise SemsearchError(f"reranker {self.bundle.name} failed on {self.device}: {error}") from error
        return np.asarray(logits, dtype=np.float32).reshape(len(ids))
