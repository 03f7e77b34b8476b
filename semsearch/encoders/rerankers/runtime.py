"""Base class of what runs a reranker: pairs of similar length in batches, halved if memory is full."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from semsearch.models.batching import Rows, batches_by_length, each, halve_when_full
from semsearch.models.rerankers.manifest import RerankerBundle
from semsearch.models.rerankers.pair_tokens import PairTokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Logits(NamedTuple):
    """A logit for each of n passages, (n,) float32, and how many passages and whether the query were truncated."""

    values: NDArray[np.float32]
    truncated: int
    query_truncated: bool


class RerankerRuntime(ABC):
    """Runs the model that `bundle` describes. `device` is where it really runs: cpu or cuda:N.

    A subclass sets the limits of a batch, `max_texts` and `max_tokens`, and whether it pads.
    """

    bundle: RerankerBundle
    name: Literal["ONNX Runtime", "PyTorch"]
    provider: str
    device: str = "cpu"
    workers: int = 1
    max_texts: int
    max_tokens: int
    pads: bool = True
    _tokenizer: PairTokenizer

    @abstractmethod
    def __init__(
        self, folder: Path, *, name: str = "", source: str = "", device: str = "auto", threads: int = 0
    ) -> None:
        """The model in `folder`; `name` and `source` describe one that has no manifest."""

    def logits(self, query: str, passages: Sequence[str]) -> Logits:
        """How well each of n passages answers `query`: no logit depends on the other passages."""
        rows = self._tokenizer.rows(query, passages)
        values = np.empty(len(rows.ids), dtype=np.float32)
        lengths = [len(row) for row in rows.ids]
        limits = {"max_texts": self.max_texts, "max_tokens": self.max_tokens}

        def fill(batch: NDArray[np.int64]) -> None:
            pairs = [list(zip(rows.ids[at], rows.segments[at], strict=True)) for at in batch]
            values[batch] = halve_when_full(self._run, pairs, self.device, self._release)

        each(fill, list(batches_by_length(lengths, **limits, pads=self.pads)), self.workers)
        return Logits(values, rows.truncated, rows.query_truncated)

    def _run(self, pairs: Sequence[Sequence[tuple[int, int]]]) -> NDArray[np.float32]:
        """The logits (n,) of rows that each hold the id and the segment of every token of a pair."""
        ids, segments = ([[token[part] for token in row] for row in pairs] for part in (0, 1))
        return self._compute(ids, segments)

    def _release(self) -> None:
        """Free memory before a batch is tried in halves."""
        return

    @abstractmethod
    def _compute(self, ids: Rows, segments: Rows) -> NDArray[np.float32]:
        """The logits (n,) of one batch."""
