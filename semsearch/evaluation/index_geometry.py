"""The geometry of the vectors that an index holds, as they are stored; no encoder is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semsearch.errors import UsageError
from semsearch.evaluation import geometry
from semsearch.stores.local.store import Store

SAMPLE = 10_000  # rows that are compared with each other: 40 s of one core at a width of 384


@dataclass(frozen=True, slots=True)
class StoredGeometry:
    """Figures of `vectors` of the `total` vectors of an index, and what it keeps about its encoder."""

    encoder: Mapping[str, Any]
    vectors: int
    total: int
    figures: Mapping[str, float]


def index_geometry(folder: Path, sample: int = SAMPLE) -> StoredGeometry:
    """Uniformity, anisotropy, effective rank, hubness and length bias (in words) of the index in `folder`.

    Where there are more than `sample` vectors, as many are drawn, always the same ones. Raises NotFound, and
    UsageError for fewer than three.
    """
    with Store.open(folder) as store, store.snapshot():
        space = store.spaces()[0]
        parts = [(ids, vectors) for ids, vectors in store.vectors(space.id)]
        total = sum(len(ids) for ids, _ in parts)
        if total < 3:
            raise UsageError(f"{folder.name} holds {total} vectors, which have no geometry.", "Index more.")
        kept = drawn(total, sample)
        ids = np.concatenate([ids for ids, _ in parts])[kept]
        rows = np.concatenate([vectors for _, vectors in parts])[kept]
        lengths = {passage.id: len(passage.text.split()) for passage in store.passages(ids)}
    found = geometry.describe(rows, [lengths.get(each, 0) for each in ids.tolist()])
    told = {**space.info, "name": space.name, "fingerprint": space.fingerprint, "dim": space.dim}
    return StoredGeometry(told, len(rows), total, found)


def drawn(count: int, most: int) -> list[int]:
    """At most `most` places, always the same ones, in their order."""
    if count <= most:
        return list(range(count))
    return sorted(np.random.default_rng(0).choice(count, size=most, replace=False).tolist())
