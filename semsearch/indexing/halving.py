"""Encoding a batch in which some texts make the encoder fail: the batch is halved down to these, the rest is encoded.

Where a plain sentence fails as well, it is the encoder and not a text, and the run ends with one error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import EncodingFailed

if TYPE_CHECKING:
    from semsearch.types import EncoderProtocol, Vectors

PLAIN = "Diesel engines ignite by compression."


def encode(encoder: EncoderProtocol, texts: Sequence[str]) -> tuple[Vectors, dict[int, str]]:
    """The vectors (n, d) of n passages, and by its place the reason for each that failed; its row is zero.

    With f failures the encoder is called about 2 f log2(n) times. Raises EncodingFailed if it fails at `PLAIN` too.
    """
    if not texts:
        return np.zeros((0, encoder.dim), dtype=np.float32), {}
    try:
        return encoder.encode(texts, role="passage"), {}
    except EncodingFailed as error:
        _require_plain(encoder)
        return _halved(encoder, texts, error)


def _halved(encoder: EncoderProtocol, texts: Sequence[str], error: EncodingFailed) -> tuple[Vectors, dict[int, str]]:
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
