"""HashingEncoder: no model, only spelling. Shared words and shared letters are a shared direction.

Every word and every 3 to 5 letter piece of it is hashed to one signed place of the vector (feature hashing,
Weinberger et al. 2009, https://arxiv.org/abs/0902.2206). It is a stand-in with meaning for tests, where
"diesel" finds diesel, and a base line that a trained encoder has to beat. Word order is left out.
"""

from __future__ import annotations

import hashlib
import math
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch.models.bundle import Cuts
from semsearch.prompts import Prompt
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Role, Vectors

WORD = re.compile(r"\w+")
PIECES = (3, 4, 5)  # letters; Bojanowski et al. 2017 use 3 to 6
PIECE_WEIGHT = 0.3  # a shared word must count for more than a shared ending
ONE_PLACE = zlib.crc32(b"")  # where a text without a word goes, so that every row has length 1


class HashingEncoder:
    """Deterministic (n, dim) unit vectors out of spelling alone.

    >>> encoder = HashingEncoder()
    >>> ask, engine, soup = encoder.encode(["diesel", "A diesel engine", "Soup of the day"])
    >>> bool(ask @ engine > ask @ soup)
    True
    """

    name = "hashing"
    max_tokens = 1_000_000
    background: tuple[float, ...] = ()  # its cosines depend on the vocabulary: an index measures its own

    def __init__(self, dim: int = 256) -> None:
        self.dim = dim
        self.cuts = Cuts()
        self.prompts: Mapping[Role, Prompt] = {"query": Prompt(), "passage": Prompt()}
        self.fingerprint = hashlib.sha256(f"hashing 1 dim={dim} pieces={PIECES}".encode()).hexdigest()[:16]

    @property
    def info(self) -> Mapping[str, Any]:
        """What `semsearch info` shows of this encoder."""
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

    def encode(self, texts: Sequence[str], *, role: Role = "passage") -> Vectors:
        """n texts -> (n, dim) float32 unit rows in their order; both roles are the same here."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word, count in Counter(WORD.findall(text.lower())).items():
                numbers, weights = _features(word)
                np.add.at(row, numbers % self.dim, weights * np.float32(1 + math.log(count)))
            if not row.any():
                row[ONE_PLACE % self.dim] = 1.0
        return unit_rows(rows)

    def embed(self, texts: Sequence[str], prompt: Prompt, batch_size: int | None = None) -> Vectors:
        """`encode` of the texts with the prompt's words around them."""
        return self.encode([prompt.before + text + prompt.after for text in texts])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
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


def shipped() -> HashingEncoder:
    """The encoder as Encoder.load("hashing") gives it."""
    return HashingEncoder()
