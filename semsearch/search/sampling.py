"""A sample of an index for those who look at its vectors: the same passages at every call, whatever is added beside.

Nothing is held but the sample, and no lock while it is read: searches beside it do not wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semsearch.types import VectorSample

if TYPE_CHECKING:
    from semsearch.stores.local.store import Space, Store
    from semsearch.types import Ids, Metadata

AT_ONCE = 2_000  # passages that are read at a time


def sample(store: Store, space: Space, most: int, letters: int) -> VectorSample:
    """At most `most` passages with their vectors in `space`, by id, each text cut after `letters`. Raises Corrupt."""
    known = store.vector_ids(space.id)
    chosen = drawn(known, most)
    vectors = np.zeros((len(chosen), space.dim), np.float32)
    told: list[tuple[int, str, str, Metadata]] = []
    for ids, rows in store.vectors(space.id, ids=chosen, chunk=AT_ONCE):
        found = store.passages(ids)  # one that was deleted meanwhile is left out
        here = np.isin(ids, [passage.id for passage in found])
        vectors[len(told) : len(told) + len(found)] = rows[here]
        told += [(each.id, each.document, each.text[:letters], each.metadata) for each in found]
    return VectorSample(
        np.array([row[0] for row in told], np.int64), vectors[: len(told)], tuple(row[1] for row in told),
        tuple(row[2] for row in told), tuple(row[3] for row in told), len(known),
    )  # fmt: skip


def drawn(ids: Ids, most: int) -> Ids:
    """At most `most` of the ids, ascending: those whose hash (Steele et al. 2014, SplitMix64) is smallest.

    >>> set(drawn(np.arange(1, 901), 5)) < set(drawn(np.arange(1, 901), 6))
    True
    """
    if len(ids) <= most:
        return ids
    mixed = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.sort(ids[np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable")[:most]])
