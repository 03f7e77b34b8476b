"""Passages of an index in the plane: by PCA at once, or by UMAP in minutes, which is kept beside the index.

A kept layout fits as long as most passages have a place in it. Those that came later are put between the passages that
are nearest in meaning, so that a map keeps its shape while an index grows, and is made anew once NEW of it is new.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.analysis import sampling, umap_process
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space
from semsearch.types import Layout, LayoutMethod, Progress, VectorSample
from semsearch.vector_index import layout_file
from semsearch.vector_index.layout_file import KeptLayout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Vectors

    Places = NDArray[np.float32]

NEW = 0.2  # the share of passages without a place from which on a layout is made anew
BETWEEN, AT_ONCE = 5, 1_000  # passages between which a new one is put; new ones at a time
LOG = logging.getLogger(__name__)


def layout(
    reader: StoreReader,
    space: Space,
    most: int,
    method: LayoutMethod,
    letters: int,
    progress: Callable[[Progress], None],
) -> Layout:
    """The layout of at most `most` passages; by UMAP the kept one where it fits, else a new one, which is then kept."""
    drawn = sampling.sample(reader, space, most, letters)
    if method == "pca" or len(drawn) < 3:
        places, share = principal(drawn.vectors)
        return Layout(drawn, places, "pca", share)
    if (kept := fitting(reader.location, space, drawn)) is not None:
        return Layout(drawn, kept, "umap")
    places = umap_process.places(drawn.vectors, progress)
    try:
        layout_file.write(reader.location, method, space.fingerprint, KeptLayout(drawn.ids, places))
    except OSError as error:
        LOG.warning("the layout of %s is not kept: %s.", reader.name, error.strerror or error)
    return Layout(drawn, places, "umap")


def fitting(folder: Path, space: Space, drawn: VectorSample) -> Places | None:
    """Places (n, 2) of the sample by the kept layout; None where there is none, or too much is new."""
    kept = layout_file.read(folder, "umap", space.fingerprint)
    if kept is None or not len(drawn):
        return None
    at = np.searchsorted(kept.ids, drawn.ids).clip(max=max(0, len(kept.ids) - 1))
    placed = kept.ids[at] == drawn.ids if len(kept.ids) else np.zeros(len(drawn), np.bool_)
    if (~placed).mean() > NEW:
        return None
    places = np.where(placed[:, None], kept.places[at], np.float32(0))
    return _with_new(places, placed, drawn.vectors)


def _with_new(places: Places, placed: NDArray[np.bool_], vectors: Vectors) -> Places:
    """The places with those of new passages filled in: the median of the nearest known ones."""
    rows = np.flatnonzero(placed)
    for start in range(0, int((~placed).sum()), AT_ONCE):
        new = np.flatnonzero(~placed)[start : start + AT_ONCE]
        near = min(BETWEEN, len(rows))
        nearest = rows[np.argpartition(-(vectors[new] @ vectors[rows].T), near - 1, axis=1)[:, :near]]
        places[new] = np.median(places[nearest], axis=1)
    return places


def principal(vectors: Vectors) -> tuple[Places, float]:
    """Vectors (n, d) along their two principal components (n, 2), and the share of the variance that these explain.

    The sign is fixed: the largest weight of each component is above 0.
    """
    if not len(vectors):
        return np.zeros((0, 2), np.float32), 0.0
    centred = vectors - vectors.mean(axis=0)
    spread, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    axes = directions[:, ::-1][:, :2]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    places = np.zeros((len(vectors), 2), np.float32)
    places[:, : axes.shape[1]] = centred @ axes.astype(np.float32)
    return places, float(spread[::-1][:2].sum() / spread.sum()) if spread.sum() > 0 else 1.0
