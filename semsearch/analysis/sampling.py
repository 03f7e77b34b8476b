"""A sample of an index's vectors: the same passages at every call, even after others are added.

Only the sample is in memory, and nothing is locked while it is read: searches do not wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semsearch.documents.parsing import front_matter
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space, StoredPassage
from semsearch.types import VectorSample

if TYPE_CHECKING:
    from semsearch.types import Ids

AT_ONCE = 2_000  # passages that are read at a time


def sample(reader: StoreReader, space: Space, most: int, letters: int) -> VectorSample:
    """At most `most` passages with their vectors in `space`, by id, each text without front matter and cut after
    `letters`. Raises Corrupt.
    """
    everything = reader.passage_ids(space=space.id)
    chosen = smallest_hashes(everything, most)
    vectors = np.zeros((len(chosen), space.dim), np.float32)
    passages: list[StoredPassage] = []
    for ids, rows in reader.vectors(space.id, ids=chosen, chunk=AT_ONCE):
        some = reader.passages(ids)  # one that was deleted meanwhile is left out
        here = np.isin(ids, [passage.id for passage in some])
        vectors[len(passages) : len(passages) + len(some)] = rows[here]
        passages += some
    return VectorSample(
        ids=np.array([passage.id for passage in passages], np.int64),
        vectors=vectors[: len(passages)],
        documents=tuple(passage.document for passage in passages),
        texts=tuple(front_matter.behind(passage.text, passage.start)[:letters] for passage in passages),
        metadata=tuple(passage.metadata for passage in passages),
        total=len(everything),
    )


def smallest_hashes(ids: Ids, most: int) -> Ids:
    """At most `most` of the ids, ascending: those whose hash (Steele et al. 2014, SplitMix64) is smallest.

    >>> set(smallest_hashes(np.arange(1, 901), 5)) < set(smallest_hashes(np.arange(1, 901), 6))
    True
    """
    if len(ids) <= most:
        return ids
    mixed = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.sort(ids[np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable")[:most]])
