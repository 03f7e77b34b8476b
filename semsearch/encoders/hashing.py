"""Hashing encoder: no model, only spelling. Texts that share words or letters point in a similar direction.

Every word and every 3 to 5 letter piece of it is hashed to one signed place of the vector (feature hashing,
Weinberger et al. 2009, https://arxiv.org/abs/0902.2206). It is a meaningful stand-in for tests, where "diesel" finds
diesel, and a baseline that a trained encoder has to beat. Word order is ignored.
"""

from __future__ import annotations

import hashlib
import math
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from semsearch.encoders.base import EncoderBackend
from semsearch.prompts import Prompt
from semsearch.types import JsonObject, Role
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Vectors

WORD = re.compile(r"\w+")
PIECES = (3, 4, 5)  # letters; Bojanowski et al. 2017 use 3 to 6
PIECE_WEIGHT = 0.3  # a shared word has to weigh more than a shared ending
ONE_PLACE = zlib.crc32(b"")  # the component of a text without words, so that every row has length 1


class HashingEncoder(EncoderBackend):
    """Deterministic (n, dim) unit vectors computed from spelling alone.

    >>> encoder = HashingEncoder()
    >>> query, engine, soup = encoder.encode(["diesel", "A diesel engine", "Soup of the day"])
    >>> bool(query @ engine > query @ soup)
    True
    """

    name = "hashing"
    runtime = "numpy"
    max_tokens = 1_000_000
    prompts: Mapping[Role, Prompt] = {"query": Prompt(), "passage": Prompt()}

    def __init__(self, dim: int = 256) -> None:
        self.dim = dim
        self.fingerprint = hashlib.sha256(f"hashing 1 dim={dim} pieces={PIECES}".encode()).hexdigest()[:16]

    @property
    def info(self) -> JsonObject:
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "method": "hashing",
            "dim": self.dim,
            "max_tokens": self.max_tokens,
            "precision": "fp32",
            "device": "cpu",
            "provider": "numpy",
            "prompts": {"query": ["", ""], "passage": ["", ""]},
            "licence": "Apache-2.0",
            "source": "https://arxiv.org/abs/0902.2206",
        }

    def embed(self, texts: Sequence[str], prompt: Prompt, batch_size: int | None = None) -> Vectors:
        """n texts with the prompt's words around them -> (n, dim) float32 unit rows in their order."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word, count in Counter(WORD.findall((prompt.before + text + prompt.after).lower())).items():
                numbers, weights = _features(word)
                np.add.at(row, numbers % self.dim, weights * np.float32(1 + math.log(count)))
            if not row.any():
                row[ONE_PLACE % self.dim] = 1.0
        return unit_rows(rows)

    def count_tokens(self, texts: Sequence[str], /) -> list[int]:
        """Words of each text."""
        return [sum(1 for _ in WORD.finditer(text)) for text in texts]


@lru_cache(maxsize=50_000)
def _features(word: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The hash numbers and signed weights of a word and of its pieces."""
    framed = f"<{word[:64]}>"
    pieces = [framed[at : at + size] for size in PIECES for at in range(len(framed) - size + 1)]
    hashed = [zlib.crc32(piece.encode("utf-8", "surrogatepass")) for piece in (word, *pieces)]
    numbers = np.array(hashed, dtype=np.int64)
    signs = np.where(numbers & 0x8000_0000, 1.0, -1.0)
    signs[1:] *= PIECE_WEIGHT
    return numbers, signs.astype(np.float32)
