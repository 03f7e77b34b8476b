"""An encoder that takes the vectors of passages from those that have arrived, and runs its model for other texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.encoders.base import BaseEncoder, WrappedEncoder
from semsearch.errors import EncodingFailed
from semsearch.scale.arrived_vectors import ArrivedVectors, VectorTable
from semsearch.scale.keys import text_key
from semsearch.types import TruncationStats

if TYPE_CHECKING:
    from semsearch.types import Role, Vectors


class PrecomputedEncoder(WrappedEncoder):
    """The encoder `model`; once `use` was called, passages have the vectors that are there.

    `taken`: texts whose vectors were taken from there so far.
    """

    def __init__(self, model: BaseEncoder) -> None:
        self._model = model
        self.name, self.fingerprint, self.dim = model.name, model.fingerprint, model.dim
        self._table: VectorTable | None = None
        self._failed: dict[bytes, str] = {}
        self._cut = TruncationStats()
        self.taken = 0

    @property
    def model(self) -> BaseEncoder:
        return self._model

    @property
    def embedded(self) -> int | None:
        own = self._model.embedded
        return None if own is None else own + self.taken

    @property
    def truncation(self) -> TruncationStats:
        """Texts and tokens that were cut here, and on the cluster once a vector was taken from there."""
        here, there = self._model.truncation, self._cut if self.taken else TruncationStats()
        return TruncationStats(here.passages + there.passages, here.tokens + there.tokens)

    def use(self, arrived: ArrivedVectors) -> None:
        """Take these vectors, and raise EncodingFailed for the texts of documents that were set aside.

        A text that another document has as well, and that has a vector there, is none of these.
        """
        self._table, parts = VectorTable(arrived), arrived.parts.values()
        self._failed = {bytes.fromhex(key): why for part in parts for key, why in part.set_aside.items()}
        self._cut = TruncationStats(sum(part.cut_passages for part in parts), sum(part.cut_tokens for part in parts))

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        if self._table is None or role != "passage":
            return self._model.encode(texts, role=role)
        there = self._table.find(texts)
        for at, text in enumerate(texts if self._failed else ()):
            if at not in there and (reason := self._failed.get(text_key(text))):
                raise EncodingFailed(reason, "Look at the document.")
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for at, vector in there.items():
            vectors[at] = vector
        self.taken += len(there)
        if missing := [at for at in range(len(texts)) if at not in there]:
            vectors[missing] = self._model.encode([texts[at] for at in missing], role=role)
        return vectors

    def close(self) -> None:
        self._model.close()
