"""A static encoder, which sorts texts by what they are about, and teaches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tokenizers
from safetensors.numpy import load_file

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
        for at, encoding in enumerate(self._tokenizer.encode_batch(list(texts), add_special_tokens=False)):
            if in_table := [each for each in encoding.ids if each != self._unknown]:
                vectors[at] = self._table[in_table].mean(axis=0)
        return vectors


def unit(vectors: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))
