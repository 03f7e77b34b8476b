"""Encoding in windows of texts, with a progress report before each: for long measurements of an encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from semsearch.types import Progress

if TYPE_CHECKING:
    from semsearch.types import EncoderLike, Vectors

WINDOW = 128  # texts between two reports: seconds of a large model on a CPU

OnProgress = Callable[[Progress], None]
Embed = Callable[[Sequence[str]], "Vectors"]


def encode_passages(
    encoder: EncoderLike,
    texts: Sequence[str],
    progress: OnProgress | None = None,
    *,
    item: str = "",
    window: int = WINDOW,
) -> Vectors:
    """The vectors (n, d) of n passages of `item`. `progress` is called before every window and may raise to stop."""
    embed = partial(encoder.encode, role="passage")
    if progress is None:
        return embed(texts)
    report = progress
    return in_windows(embed, texts, lambda done: report(Progress(done, len(texts), "texts", item)), window)


def in_windows(embed: Embed, texts: Sequence[str], report: Callable[[int], None], window: int = WINDOW) -> Vectors:
    """The vectors (n, d) that `embed` returns for n texts; `report` is called before every window with those done."""
    parts = []
    for start in range(0, len(texts) or 1, window):
        report(start)
        parts.append(embed(texts[start : start + window]))
    return np.concatenate(parts)


def lookup(texts: Sequence[str], vectors: Vectors) -> Embed:
    """A function that returns the vectors (m, d) of any m of these n different texts, from their vectors (n, d)."""
    row = {text: at for at, text in enumerate(texts)}
    return lambda some: vectors[[row[text] for text in some]]
