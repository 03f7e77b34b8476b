"""Encoders that several indexes use: each is loaded once, by its first user, and closed after its last.

pool = EncoderPool()
first = Index.open("notes", encoders=pool)
second = Index.open("mail", encoders=pool)     # has the encoder of `first` if their fingerprints are the same
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semsearch.encoders.base import BaseEncoder


@dataclass(slots=True)
class _Shared:
    """An encoder, how many use it, and the lock of those who wait until it is loaded."""

    loading: threading.Lock = field(default_factory=threading.Lock)
    encoder: BaseEncoder | None = None
    users: int = 0


class EncoderPool:
    """Encoders by fingerprint. Threads may share it. `wrap` is what users get of an encoder that was loaded."""

    def __init__(self, wrap: Callable[[BaseEncoder], BaseEncoder] = lambda encoder: encoder) -> None:
        self._wrap = wrap
        self._shared: dict[str, _Shared] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """The number of encoders in memory."""
        return len(self._shared)

    def borrow(self, fingerprint: str, load: Callable[[], BaseEncoder]) -> BaseEncoder:
        """The encoder with the fingerprint, which `load` loads if nobody has it. Raises what `load` does."""
        with self._lock:
            shared = self._shared.setdefault(fingerprint, _Shared())
            shared.users += 1
        try:
            with shared.loading:  # of this encoder: others are borrowed meanwhile
                if shared.encoder is None:
                    shared.encoder = self._wrap(load())
                return shared.encoder
        except BaseException:
            self.give_back(fingerprint)
            raise

    def give_back(self, fingerprint: str) -> None:
        """Say that one of the users does not use it any more."""
        with self._lock:
            shared = self._shared[fingerprint]
            shared.users -= 1
            if shared.users:
                return
            del self._shared[fingerprint]
        if shared.encoder is not None:
            shared.encoder.close()
