"""Keys of documents and of texts: KEY bytes each, however long these are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores.records import meta_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEY = 16  # bytes: two of 10^15 are the same with a chance below 10^-8
KIND = f"S{KEY}"  # leaves out zeros at the end of a key, on both sides of a comparison


def text_key(text: str) -> bytes:
    """By what a text is known that was embedded."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY).digest()


def document_key(document: str, text_sha256: str, title: str | None) -> bytes:
    """By what a document is known whose vectors are right: its id, text and title."""
    return hashlib.sha256(f"{document}\0{text_sha256}\0{meta_hash(title, {})}".encode()).digest()[:KEY]


class DocumentKeys:
    """Keys of documents whose vectors are there. `keys` (n,) of KIND are sorted; they may be read-only, as in Ray."""

    def __init__(self, keys: NDArray[np.bytes_]) -> None:
        self.keys = keys

    @classmethod
    def joined(cls, packed: Iterable[bytes | bytearray]) -> DocumentKeys:
        """The keys in some texts of keys one after the other, which may come twice."""
        keys = np.frombuffer(bytearray(b"").join(packed), KIND)
        keys.sort()
        return cls(keys)

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, key: object) -> bool:
        at = int(np.searchsorted(self.keys, np.array(key, KIND)))
        return at < len(self.keys) and bool(self.keys[at] == np.array(key, KIND))
