"""Topics in topics, for labels on a map: a few clusters of everything, finer ones inside each, and again inside these.

Each is named by the words that distinguish it from the others inside the same cluster, so that a finer name does not
repeat the coarser one. Deterministic: spherical k-means with a fixed seed (`semsearch.clusters`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semsearch.analysis import clustering
from semsearch.analysis.distinctive_words import group_names
from semsearch.errors import UsageError
from semsearch.utils.arguments import whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Vectors

INSIDE = 6  # at most so many clusters inside another


@dataclass(frozen=True, slots=True, eq=False)
class NestedTopic:
    """A cluster of texts: its name, its level (0 the coarsest), the rows of its texts, the most central first."""

    name: str
    level: int
    rows: tuple[int, ...]


def nested_topics(
    vectors: Vectors, texts: Sequence[str], *, k: int = 8, levels: int = 3, least: int = 12
) -> list[NestedTopic]:
    """Clusters of unit vectors (n, d) of n texts: at most `k` of all, then at most six inside each, `levels` deep.

    Level by level. Inside a cluster of fewer than twice `least` texts there are none, else one for
    every `least` texts. O(n d) for each level and cluster. Raises UsageError.

    >>> vectors = np.repeat(np.eye(2, dtype=np.float32), [6, 5], axis=0)
    >>> [topic.name for topic in nested_topics(vectors, ["diesel engine"] * 6 + ["bread"] * 5, k=2)]
    ['diesel · engine', 'bread']
    """
    whole_number("k", k)
    whole_number("levels", levels)
    whole_number("least", least)
    if len(vectors) != len(texts):
        raise UsageError(f"there are {len(vectors)} vectors and {len(texts)} texts.", "Pass a text for each vector.")
    topics = list(_inside(vectors, texts, np.arange(len(texts)), k, 0))
    level = topics
    for depth in range(1, levels):
        level = [
            finer
            for topic in level
            if len(topic.rows) >= 2 * least
            for finer in _inside(vectors, texts, np.array(topic.rows), min(INSIDE, len(topic.rows) // least), depth)
        ]
        topics += level
    return topics


def _inside(
    vectors: Vectors, texts: Sequence[str], rows: NDArray[np.int64], k: int, level: int
) -> Iterator[NestedTopic]:
    """The clusters among these rows; none where they cannot be told apart."""
    groups = clustering.k_means(vectors[rows], k)
    if level and len(groups) < 2:
        return
    own = [rows[group].tolist() for group in groups]
    codes = np.repeat(np.arange(len(own)), [len(each) for each in own])
    names = group_names([texts[row] for each in own for row in each], codes) if own else []
    for name, each in zip(names, own, strict=True):
        yield NestedTopic(name, level, tuple(each))
