"""Documents that are stored already, by their keys: KEY bytes each, sorted, however many there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from semsearch.scale.parts import KEY

if TYPE_CHECKING:
    from numpy.typing import NDArray

KIND = f"S{KEY}"  # leaves out zeros at the end of a key, on both sides of a comparison


class Known:
    """Keys of `parts.key`. `keys` (n,) of KIND are sorted; they may be read-only, as in the store of Ray."""

    def __init__(self, keys: NDArray[np.bytes_]) -> None:
        self.keys = keys

    @classmethod
    def of(cls, keys: Iterable[bytes]) -> Known:
        """Known documents by their keys, which may come twice."""
        packed = bytearray()
        for key in keys:  # join() would have them all as objects first
            packed += key
        return cls.joined([packed])

    @classmethod
    def joined(cls, packed: Iterable[bytes | bytearray]) -> Known:
        """As `of`, for texts of keys one after the other."""
        found = np.frombuffer(bytearray(b"").join(packed), KIND)
        found.sort()
        return cls(found)

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, key: object) -> bool:
        at = int(np.searchsorted(self.keys, np.array(key, KIND)))
        return at < len(self.keys) and bool(self.keys[at] == np.array(key, KIND))
