"""Batches of passages to vectors: in another thread where that is possible, and halved where some texts make it fail.

While a batch is encoded, the caller commits the one before and reads the next. Only back ends that say so run in
another thread (`EncoderBackend.overlaps`): an encoder of your own may belong to the thread that made it, and Ctrl-C
would not end its work. A batch that fails is halved down to the texts at which the encoder fails; where a plain
sentence fails as well, it is the encoder and not a text, and the run ends with one error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from semsearch.encoders.base import EncoderBackend
from semsearch.errors import EncodingFailed
from semsearch.models.batching import stopped_by

if TYPE_CHECKING:
    from semsearch.types import EncoderProtocol, Vectors

WINDOW = 256  # texts of one call: a book of thousands of passages is seen to make progress
PATIENCE = 1.0  # seconds
PLAIN = "Diesel engines ignite by compression."
Encoded: TypeAlias = "tuple[Vectors, dict[int, str]]"  # as `encode` returns it


class Encoding(NamedTuple):
    """A batch that is being encoded in another thread; or will be by `result`, where `future` is None."""

    result: Callable[[], Encoded]
    future: Future[Encoded] | None = None


class BatchEncoder:
    """Encodes batches of passages one after the other, in one thread of its own, which `close` ends."""

    def __init__(self, encoder: EncoderProtocol) -> None:
        self._encoder = encoder
        self.encoded = 0  # texts so far, also of a batch that is not done
        self.waiting: Callable[[], None] = lambda: None  # called every PATIENCE seconds while something is waited for
        self._overlaps = isinstance(encoder.backend, EncoderBackend) and encoder.backend.overlaps
        self._stop = Event()
        self._pool: ThreadPoolExecutor | None = None
        self._latest: Future[Encoded] | None = None

    def start(self, texts: Sequence[str], *, ahead: bool = True) -> Encoding:
        """Encode the texts after those of the calls before; `ahead`: in another thread, if this encoder may."""
        if not (ahead and texts and self._overlaps):
            return Encoding(lambda: encode(self._encoder, texts, self._count))
        self._pool = self._pool or ThreadPoolExecutor(1, "encoding")
        self._latest = self._pool.submit(self._encode, texts)
        return Encoding(self._latest.result, self._latest)

    def wait(self, future: Future[Encoded] | None = None) -> None:
        """Return once this batch is encoded, by default all of them."""
        future = future or self._latest
        while future is not None and wait([future], PATIENCE).not_done:
            self.waiting()

    def close(self) -> None:
        """End the thread, after the text that it is at."""
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _encode(self, texts: Sequence[str]) -> Encoded:
        with stopped_by(self._stop):
            return encode(self._encoder, texts, self._count)

    def _count(self, texts: int) -> None:
        self.encoded += texts


def encode(
    encoder: EncoderProtocol, texts: Sequence[str], count: Callable[[int], None] = lambda texts: None
) -> Encoded:
    """The vectors (n, d) of n passages, and by its place the reason for each that failed; its row is zero.

    `count` is told after every WINDOW of them. With f failures the encoder is called about 2 f log2(n) times. Raises
    EncodingFailed if it fails at `PLAIN` too.
    """
    vectors = [np.zeros((0, encoder.dim), dtype=np.float32)]
    failed: dict[int, str] = {}
    for start in range(0, len(texts), WINDOW):
        window = texts[start : start + WINDOW]
        rows, reasons = _encoded(encoder, window)
        vectors.append(rows)
        failed |= {start + at: reason for at, reason in reasons.items()}
        count(len(window))
    return vectors[1] if len(vectors) == 2 else np.concatenate(vectors), failed


def _encoded(encoder: EncoderProtocol, texts: Sequence[str]) -> Encoded:
    try:
        return encoder.encode(texts, role="passage"), {}
    except EncodingFailed as error:
        _require_plain(encoder)
        return _halved(encoder, texts, error)


def _halved(encoder: EncoderProtocol, texts: Sequence[str], error: EncodingFailed) -> Encoded:
    """As `encode`, for texts that failed together with `error`."""
    vectors = np.zeros((len(texts), encoder.dim), dtype=np.float32)
    if len(texts) == 1:
        return vectors, {0: error.message}
    failed: dict[int, str] = {}
    middle = len(texts) // 2
    for start, end in ((0, middle), (middle, len(texts))):
        try:
            vectors[start:end] = encoder.encode(texts[start:end], role="passage")
        except EncodingFailed as half:
            vectors[start:end], reasons = _halved(encoder, texts[start:end], half)
            failed |= {start + at: reason for at, reason in reasons.items()}
    return vectors, failed


def _require_plain(encoder: EncoderProtocol) -> None:
    """Raise EncodingFailed if the encoder fails even at a plain sentence."""
    try:
        encoder.encode([PLAIN], role="passage")
    except EncodingFailed as error:
        raise EncodingFailed(
            f"{error.message} It fails at the plain sentence {PLAIN!r} as well.",
            "Repair the encoder and run this again; what is stored stays.",
        ) from error
