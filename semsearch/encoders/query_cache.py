"""An encoder that remembers the last queries: a question that is asked again, another way, is not encoded again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch.types import EncoderProtocol, Role

if TYPE_CHECKING:
    from semsearch.types import Vectors


class Remembered:
    """`encoder` with the vectors of the last `most` query texts; passages go through it as they come.

    What the encoder had to cut is not remembered, so that it is told of each time. Threads may share one.
    """

    def __init__(self, encoder: EncoderProtocol, most: int) -> None:
        self.name, self.fingerprint, self.dim = encoder.name, encoder.fingerprint, encoder.dim
        self.count_tokens = encoder.count_tokens
        self._encoder, self._most = encoder, most
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = Lock()

    @property
    def cuts(self) -> Any:
        """The encoder's own count of what it cut; None where it does not count."""
        return getattr(self._encoder, "cuts", None)

    def unknown(self, texts: Sequence[str]) -> list[str]:
        """The texts, each once, that would go through the encoder now."""
        with self._lock:
            return [text for text in dict.fromkeys(texts) if text not in self._vectors]

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        """n texts -> (n, dim); queries that were asked before are not encoded again."""
        if role != "query" or not texts:
            return self._encoder.encode(texts, role=role)
        missing = self.unknown(texts)
        before = cut_tokens(self._encoder)
        fresh = dict(zip(missing, self._encoder.encode(missing, role=role), strict=True)) if missing else {}
        with self._lock:
            found = {text: self._vectors[text] for text in texts if text in self._vectors} | fresh
        if len(found) < len(set(texts)):  # another thread has let one go meanwhile
            return self._encoder.encode(texts, role=role)
        if cut_tokens(self._encoder) == before:
            self._keep(found)
        return np.stack([found[text] for text in texts])

    def _keep(self, vectors: dict[str, Vectors]) -> None:
        with self._lock:
            for text, vector in vectors.items():
                self._vectors[text] = vector
                self._vectors.move_to_end(text)
            while len(self._vectors) > self._most:
                self._vectors.popitem(last=False)


def cut_tokens(encoder: object) -> int:
    """How many tokens an encoder has cut so far; one that does not count cuts nothing that we know of."""
    return int(getattr(getattr(encoder, "cuts", None), "tokens", 0))
