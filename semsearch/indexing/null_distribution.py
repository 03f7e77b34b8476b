"""Null distribution: the cosines of unrelated passages of an index, which `strength` is read against."""

from __future__ import annotations

import numpy as np

from semsearch.stores.protocol import StoreWriter
from semsearch.stores.records import Space
from semsearch.utils import calibration

FEWEST_DOCUMENTS = 30  # fewer say little about chance; until then the encoder's own distribution serves
SAMPLE = 2000  # passages
GROWTH = 0.2  # measured again when the index has grown or shrunk by this share


def refresh(writer: StoreWriter, space: Space) -> None:
    """Measure again where the index is no longer the one that was measured."""
    reader = writer.reader
    counts = reader.counts()
    current = next(known for known in reader.spaces() if known.id == space.id)
    now = counts["vectors"].get(space.id, 0)
    fewest = FEWEST_DOCUMENTS if space.info.get("background") else 2
    if counts["documents"] < fewest or abs(now - current.background_count) <= GROWTH * current.background_count:
        return
    rng = np.random.default_rng(0)
    sampled = np.unique(rng.integers(1, reader.highest_id(space.id) + 1, size=SAMPLE))
    with reader.snapshot():
        pairs = list(reader.vectors(space.id, ids=sampled))
        if not pairs:
            return
        ids = np.concatenate([ids for ids, _ in pairs])
        vectors = np.concatenate([vectors for _, vectors in pairs])
        owners = reader.owners(ids.tolist())
    documents = np.array([owners[passage] for passage in ids.tolist()], dtype=np.int64)
    writer.set_background(space.id, calibration.null_distribution(vectors, documents, seed=0), now)
