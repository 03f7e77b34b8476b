"""Encoding in windows of texts with a progress report before each, shared by long measurements of an encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    done: int = 0,
    total: int | None = None,
    window: int = WINDOW,
) -> Vectors:
    """The vectors (n, d) of n passages. `progress` is called before every window and may raise to stop.

    `done` texts of `total` were encoded by earlier calls; `item` names what is being encoded.
    """

    def embed(some: Sequence[str]) -> Vectors:
        return encoder.encode(some, role="passage")

    if progress is None:
        return embed(texts)
    report, size = progress, len(texts) if total is None else total
    return in_windows(embed, texts, lambda count: report(Progress(done + count, size, "texts", item)), window)


def in_windows(embed: Embed, texts: Sequence[str], report: Callable[[int], None], window: int = WINDOW) -> Vectors:
    """The vectors (n, d) that `embed` gives n texts; `report` gets the number of texts done before every window."""
    parts = []
    for start in range(0, len(texts) or 1, window):
        report(start)
        parts.append(embed(texts[start : start + window]))
    return np.concatenate(parts)
