"""Batches of token rows: texts of similar length, padded to the longest of each batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = Sequence[Sequence[int]]  # token ids of each text


def batches_by_length(
    lengths: Sequence[int], *, max_texts: int, max_tokens: int, pads: bool = True
) -> Iterator[NDArray[np.int64]]:
    """Indices of texts in batches, the longest texts first.

    A batch has at most `max_texts` texts and, padded to its longest, `max_tokens` tokens; one text always fits.
    Without `pads`, a batch has texts of one length only, for networks whose vectors depend on padding.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    start = 0
    while start < len(order):
        longest = sizes[order[start]]
        size = max(1, min(max_texts, max_tokens // max(1, int(longest))))
        batch = order[start : start + size]
        if not pads:
            batch = batch[sizes[batch] == longest]
        yield batch
        start += len(batch)


def pad(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of ids -> ids (n, t) filled up with 0, and their mask (n, t) of 1 for a real token."""
    longest = max(len(row) for row in rows)
    ids = np.zeros((len(rows), longest), dtype=np.int64)
    mask = np.zeros((len(rows), longest), dtype=np.int64)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = row
        mask[at, : len(row)] = 1
    return ids, mask
