"""Centroids, learned from a sample, and the parts: the vectors of a shard, ordered by the list that each belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple

import faiss
import numpy as np

from semsearch.utils import vectors as rows
from semsearch.vector_index.backends import _top
from semsearch.vector_index.backends._tuning import NEIGHBOURS, SEED, Truth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids, Vectors

LISTS_PER_ROOT = 4  # lists for each sqrt(n), as `semsearch scale plan` counts the work of a search
POINTS_PER_LIST = 40  # to learn from; FAISS wants at least 39
LEAST_SAMPLE = 1_000
ROUNDS = 10  # of k-means
CODE = "<f2"
AT_ONCE = 8_192  # vectors


class Nearest(NamedTuple):
    """The nearest vectors of each question in a part: ids (q, NEIGHBOURS) and scores, padded with -1 and -inf."""

    ids: Ids
    scores: Vectors


def row_type(dim: int) -> np.dtype[np.void]:
    """A row of a part: its list, its id, and its vector in half precision."""
    return np.dtype([("list", "<i4"), ("id", "<i8"), ("code", CODE, (dim,))])


def lists_for(count: int) -> int:
    """How many lists `count` vectors get.

    >>> lists_for(10_000), lists_for(1_000_000), lists_for(10)
    (250, 4000, 1)
    """
    return max(1, min(LISTS_PER_ROOT * isqrt(count), count // POINTS_PER_LIST))


def sample_size(count: int) -> int:
    """How many of `count` vectors the centroids are learned from."""
    return min(count, max(LEAST_SAMPLE, POINTS_PER_LIST * lists_for(count)))


def centroids(sample: Vectors, count: int) -> Vectors:
    """(lists, d) unit rows by k-means over the sample (m, d), for `count` vectors; the same ones every time."""
    lists = min(lists_for(count), len(sample))
    if lists <= 1:  # a list of all; the centroid of none is 0
        return rows.unit_rows(sample.sum(axis=0, keepdims=True))
    clustering = faiss.Kmeans(
        sample.shape[1],
        lists,
        niter=ROUNDS,
        seed=SEED,
        spherical=True,
        min_points_per_centroid=1,  # no warning: lists_for makes sure that lists are well filled
        max_points_per_centroid=POINTS_PER_LIST,
    )
    clustering.train(rows.check(sample, dim=sample.shape[1], what="training"))
    return np.asarray(clustering.centroids, np.float32)


def questions(sample: Vectors) -> Vectors:
    """(q, d): vectors of the sample, and what is between two of them; the recall is measured with these."""
    return Truth(sample).queries if len(sample) else sample


def part(learned: Vectors, ids: Ids, vectors: Vectors) -> NDArray[np.void]:
    """The rows of a part, by list and id. ids (n,) ascending; vectors (n, d), near one of `learned` (lists, d)."""
    found = np.empty(len(ids), row_type(learned.shape[1]))
    found["list"], found["id"], found["code"] = _lists(learned, vectors), ids, vectors
    return found[np.argsort(found["list"], kind="stable")]


def nearest(asked: Vectors, found: NDArray[np.void]) -> Nearest:
    """The vectors of a part that are nearest to each question (q, d), of all: what a search is to find."""
    best = _top.nothing(len(asked), NEIGHBOURS)
    by_id = np.argsort(found["id"], kind="stable")
    for at in range(0, len(found), AT_ONCE):
        some = found[by_id[at : at + AT_ONCE]]
        here = _top.best(some["id"], asked @ some["code"].astype(np.float32).T, NEIGHBOURS)
        best = _top.merge([best, here], NEIGHBOURS)
    return Nearest(*best)


def packed(found: Nearest) -> NDArray[np.void]:
    """As one array, for a file."""
    rows_ = np.empty(found.ids.shape, [("id", "<i8"), ("score", "<f4")])
    rows_["id"], rows_["score"] = found
    return rows_


def unpacked(found: NDArray[np.void]) -> Nearest:
    """The inverse of `packed`."""
    return Nearest(found["id"], found["score"])


def joined(found: Sequence[Nearest], asked: int) -> Nearest:
    """The nearest vectors of each of `asked` questions in all parts."""
    return Nearest(*_top.merge([_top.nothing(asked, NEIGHBOURS), *found], NEIGHBOURS))


def _lists(learned: Vectors, vectors: Vectors) -> Ids:
    quantizer = faiss.IndexFlatIP(learned.shape[1])
    quantizer.add(learned)
    pieces = [vectors[at : at + AT_ONCE] for at in range(0, len(vectors), AT_ONCE)]
    checked = (rows.check(piece, dim=learned.shape[1], what="shard") for piece in pieces)
    return np.concatenate([np.empty(0, np.int64), *(quantizer.search(piece, 1)[1][:, 0] for piece in checked)])
