"""The encoder of an index without one: its vectors come from the caller, and texts are searched by their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from semsearch.encoders.base import BaseEncoder
from semsearch.errors import UsageError
from semsearch.types import JsonObject
from semsearch.utils.vectors import OWN_VECTORS

if TYPE_CHECKING:
    from semsearch.types import Role, Vectors


class NoEncoder(BaseEncoder):
    """Encodes nothing, for the index `index` with vectors of width `dim`."""

    name, fingerprint = "none", OWN_VECTORS

    def __init__(self, index: str, dim: int) -> None:
        self.dim = dim
        self._index = index

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        """Raises UsageError."""
        refuse(self._index)

    @property
    def embedded(self) -> int:
        return 0

    @property
    def info(self) -> JsonObject:
        return {"name": self.name, "fingerprint": self.fingerprint, "dim": self.dim}


def refuse(index: str) -> NoReturn:
    """Raise the error for a query by text."""
    raise UsageError(
        f"index {index} has no encoder, so a text cannot be compared by meaning.",
        'Search near a vector, vector=, or by words, mode="keyword".',
        "Search by words, --mode keyword, or near a document of the index, --like ID.",
    )


def refuse_text(index: str) -> NoReturn:
    """Raise the error for a document without a vector."""
    raise UsageError(
        f"index {index} has no encoder, so every text needs a vector of its own.",
        "Add documents with their vectors: add(documents, vectors=…).",
        "Add documents with their vectors in Python.",
    )
