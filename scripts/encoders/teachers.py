"""The teachers of the default encoder: mean pooling of its own base, alone or with a static encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tokenizers
from safetensors.numpy import load_file

from semsearch.evaluation.papers import whitening

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.training.loop import Teacher


TABLES = ("embeddings", "embeddings.word_embeddings.weight")  # of model2vec's folders, and of ../teachers.py


class Static:
    """A model2vec encoder: the mean of the rows that a table has for the tokens."""

    def __init__(self, folder: Path) -> None:
        self._table = next(each for name, each in load_file(folder / "model.safetensors").items() if name in TABLES)
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._unknown = self._tokenizer.token_to_id("[UNK]")
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, d); a text without a known token is 0."""
        vectors = np.zeros((len(texts), self._table.shape[1]), np.float32)
        for at, found in enumerate(self._tokenizer.encode_batch(list(texts), add_special_tokens=False)):
            if known := [each for each in found.ids if each != self._unknown]:
                vectors[at] = self._table[known].mean(axis=0)
        return vectors


@dataclass(frozen=True, slots=True)
class Mix:
    """How mean pooling and the static encoder are put together: powers of whitening, and the weight of the second."""

    power: float = 0.2
    weight: float = 0.6
    static_power: float = 0.5


class Both:
    """Two encoders side by side, each whitened in part, turned into as many numbers as the first one has.

    The cosine is a weighted mean of theirs, but for the directions that are left out: those in which the two together
    vary least over `texts`. They are turned (orthogonal Procrustes) to lie as near as can be to the first encoder's own
    vectors, so that a student of it does not start from nothing.
    """

    def __init__(self, first: Teacher, second: Static, texts: Sequence[str], mix: Mix = Mix()) -> None:
        self._first, self._second, self._mix = first, second, mix
        parts = self._read(texts)
        powers = (mix.power, mix.static_power)
        self._whitenings = [whitening.fit([part], power=power) for part, power in zip(parts, powers, strict=True)]
        together = self._joined(parts)
        directions = np.linalg.svd(together.T @ together)[0][:, : parts[0].shape[1]]
        left, _, right = np.linalg.svd(directions.T @ (together.T @ parts[0]))
        self._turn = directions @ (left @ right)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, d) of length 1."""
        return unit(self._joined(self._read(texts)) @ self._turn).astype(np.float32)

    def _read(self, texts: Sequence[str]) -> list[NDArray[Any]]:
        return [unit(np.asarray(vectors)) for vectors in (self._first(texts), self._second.encode(texts))]

    def _joined(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        whitened = [unit(whiten(part)) for whiten, part in zip(self._whitenings, parts, strict=True)]
        return unit(np.hstack([whitened[0], self._mix.weight * whitened[1]]))


def unit(vectors: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))
