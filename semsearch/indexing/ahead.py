"""Encoding ahead: a batch is encoded in another thread while the caller commits the one before and reads the next.

Only for back ends that say so (`EncoderBackend.overlaps`): an encoder of your own may belong to the thread that made
it, and Ctrl-C would not end its work.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TYPE_CHECKING, TypeAlias

from semsearch.encoders.base import EncoderBackend
from semsearch.indexing import halving
from semsearch.models.workers import stopped_by

if TYPE_CHECKING:
    from semsearch.types import EncoderProtocol, Vectors

Encoded: TypeAlias = "tuple[Vectors, dict[int, str]]"  # as `halving.encode` returns it


class Ahead:
    """Encodes batches of passages one after the other, in one thread of its own, which `close` ends."""

    def __init__(self, encoder: EncoderProtocol) -> None:
        self._encoder = encoder
        self._stop = Event()
        self._pool: ThreadPoolExecutor | None = None
        self._latest: Future[Encoded] | None = None

    def possible(self) -> bool:
        """Whether this encoder may run in another thread."""
        backend = self._encoder.backend
        return isinstance(backend, EncoderBackend) and backend.overlaps

    def start(self, texts: Sequence[str]) -> Future[Encoded]:
        """Encode the texts, after those of the calls before."""
        self._pool = self._pool or ThreadPoolExecutor(1, "encoding")
        self._latest = self._pool.submit(self._encode, texts)
        return self._latest

    def wait(self) -> None:
        """Return once nothing is being encoded."""
        if self._latest is not None:
            wait([self._latest])

    def close(self) -> None:
        """End the thread, after the text that it is at."""
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _encode(self, texts: Sequence[str]) -> Encoded:
        with stopped_by(self._stop):
            return halving.encode(self._encoder, texts)
