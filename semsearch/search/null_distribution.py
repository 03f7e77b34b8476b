"""What unrelated passages of an index reach by chance: the measure behind `strength`."""

from __future__ import annotations

import numpy as np

from semsearch.stores.local.store import Space, Store
from semsearch.utils import calibration

FEWEST_DOCUMENTS = 30  # fewer say little about chance; until then the encoder's own background serves
SAMPLE = 2000  # passages
GROWTH = 0.2  # measured again when the index has grown or shrunk by this share


def background(space: Space) -> tuple[float, ...]:
    """1001 ascending quantiles of the cosine of unrelated texts: of this index, else of its encoder, else ()."""
    return space.background or tuple(space.info.get("background", ()))


def refresh(store: Store, space: Space) -> None:
    """Measure again where the index is no longer the one that was measured."""
    counts = store.counts()
    fresh = next(known for known in store.spaces() if known.id == space.id)
    now = counts["vectors"].get(space.id, 0)
    least = FEWEST_DOCUMENTS if space.info.get("background") else 2
    if counts["documents"] < least or abs(now - fresh.background_count) <= GROWTH * fresh.background_count:
        return
    rng = np.random.default_rng(0)
    drawn = np.unique(rng.integers(1, store.highest_id(space.id) + 1, size=SAMPLE))
    with store.snapshot():
        pairs = list(store.vectors(space.id, ids=drawn))
        if not pairs:
            return
        ids = np.concatenate([ids for ids, _ in pairs])
        vectors = np.concatenate([vectors for _, vectors in pairs])
        owners = store.owners(ids.tolist())
    documents = np.array([owners[passage] for passage in ids.tolist()], dtype=np.int64)
    store.set_background(space.id, calibration.null_distribution(vectors, documents, seed=0), now)
