"""How many passages a core of this machine embeds in a second: a short measurement with one thread."""

from __future__ import annotations

import time
from typing import NamedTuple

from semsearch.encoders import background
from semsearch.encoders.encoder import Encoder

SECONDS = 3.0  # of measurement; loading comes on top
BATCH = 64  # texts
WORDS = 100  # of a text: 130 tokens, about a window of the splitter


class Throughput(NamedTuple):
    """`rate` passages a second on one core, of the mean length `tokens`; `dim` is the width of the vectors."""

    encoder: str
    rate: float
    tokens: float
    dim: int


def measure(model: str, *, seconds: float = SECONDS) -> Throughput:
    """Encode passages of WORDS words for so many seconds. Raises NotFound, UsageError for the model."""
    encoder = Encoder.load(model, threads=1)
    texts = _texts()
    encoder.encode(texts[:8])  # the first call loads more than later ones
    done, began = 0, time.process_time()
    while (spent := time.process_time() - began) < seconds:
        encoder.encode(texts)
        done += len(texts)
    tokens = sum(encoder.count_tokens(texts)) / len(texts)
    return Throughput(encoder.name, done / spent, tokens, encoder.dim)


def _texts() -> list[str]:
    """BATCH different texts of WORDS words, out of sentences that come with semsearch."""
    words = " ".join(background.texts()).split()
    step = max(1, (len(words) - WORDS) // BATCH)
    return [" ".join(words[at * step : at * step + WORDS]) for at in range(BATCH)]
