"""What the documents of an index are about: clusters of them with names, sizes, examples and coherence.

Clusters come from at most FITTED documents, spread evenly over all of them by id. The others are then read in blocks
and join the cluster of the nearest centre, so that memory does not grow with the vectors. Without a number of clusters,
the one with the highest mean silhouette is taken (Rousseeuw 1987), of a sample of JUDGED documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from semsearch.analysis import clustering, document_vectors, mining
from semsearch.documents.parsing import front_matter
from semsearch.errors import UsageError
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space
from semsearch.types import Progress, Topic, Topics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.filters import Filter
    from semsearch.types import Vectors

FITTED = 20_000  # documents that the centres are computed from
JUDGED = 2_000  # documents by which numbers of clusters are compared
SMALLEST = 5  # documents of a cluster on average, where nobody says how many clusters
MOST = 100  # clusters, where nobody says how many
COMPARED = 100_000  # documents that are compared with each other for a threshold
LETTERS, SHOWN = 2_000, 240  # of a text: read for the name of a cluster, shown as its example

Report: TypeAlias = Callable[[Progress], None]
Named: TypeAlias = Callable[[Sequence[str], "NDArray[np.int64]"], list[str]]  # texts and their groups -> names


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """How to cluster: the arguments of `Analysis.topics`."""

    k: int | None
    threshold: float | None
    min_size: int | None


def topics(
    reader: StoreReader, space: Space, condition: Filter | None, options: TopicOptions, name: Named, report: Report
) -> Topics:
    """Clusters of the documents that pass the filter, the largest first; `name` names them by their texts."""
    with reader.snapshot():
        names = reader.document_ids(condition)
        close = options.threshold is not None or options.min_size is not None
        if close and len(names) > COMPARED:
            raise UsageError(
                f"a threshold needs every document compared with every other one, and these are {len(names):,}.",
                "Pass k, the number of clusters, or a filter.",
                "Pass -k, the number of clusters, or --where.",
            )
        every = 1 if close else -(-len(names) // FITTED) or 1
        fitted, vectors = document_vectors.means(reader, space, names[::every])
        groups = mining.clustered(
            vectors, options.threshold, options.min_size, options.k or (None if close else best_k(vectors))
        )
        if every == 1:
            assigned = _Assigned(fitted, vectors, groups)
        else:
            assigned = _joined(reader, space, names, np.stack([_centre(vectors[group]) for group in groups]), report)
        return assigned.topics(reader, name)


def best_k(vectors: Vectors) -> int:
    """The number of clusters of unit vectors (n, d) with the highest mean silhouette; 1 for fewer than four vectors.

    >>> best_k(np.repeat(np.eye(4, dtype=np.float32), 5, axis=0))
    4
    """
    if len(vectors) < 4:
        return 1
    sample = vectors[:: -(-len(vectors) // JUDGED) or 1]
    far = 1 - sample @ sample.T
    tried: dict[int, float] = {}
    k = 2.0
    while k <= min(MOST, max(2, len(sample) / SMALLEST)):
        tried[int(k)] = silhouette(far, clustering.k_means(sample, int(k)))
        k = max(k + 1, k * 1.2)
    return max(tried, key=lambda one: (round(tried[one], 6), -one), default=1)


def silhouette(far: Vectors, groups: Sequence[Sequence[int]]) -> float:
    """The mean silhouette, in -1..1, of n rows in groups, by their distances (n, n)."""
    if len(groups) < 2:
        return -1.0
    member = np.zeros((len(far), len(groups)), np.float32)
    for code, rows in enumerate(groups):
        member[list(rows), code] = 1
    sizes, sums, own = member.sum(axis=0), far @ member, member.astype(np.bool_)
    inside = sums[own] / np.maximum(sizes[member.argmax(axis=1)] - 1, 1)
    outside = np.where(own, np.inf, sums / sizes).min(axis=1)
    scores = (outside - inside) / np.maximum(np.maximum(inside, outside), 1e-9)
    return float(np.where(sizes[member.argmax(axis=1)] > 1, scores, 0).mean())


class _Assigned:
    """Documents in clusters: of each the cluster (-1 for none) and the cosine with its centre."""

    def __init__(self, names: Sequence[str], vectors: Vectors, groups: Sequence[Sequence[int]]) -> None:
        self._names, self._sums = list(names), np.zeros((len(groups), vectors.shape[1]), np.float64)
        self._total = vectors.sum(axis=0, dtype=np.float64)
        self._codes, self._cosines = np.full(len(names), -1, np.int64), np.zeros(len(names), np.float32)
        for code, rows in enumerate(groups):
            self._codes[rows] = code
            self._cosines[rows] = vectors[rows] @ _centre(vectors[rows])
            self._sums[code] = vectors[rows].sum(axis=0, dtype=np.float64)

    def add(self, names: Sequence[str], vectors: Vectors, centres: Vectors) -> None:
        """More documents, each in the cluster of the nearest centre."""
        cosines = vectors @ centres.T
        codes = cosines.argmax(axis=1)
        np.add.at(self._sums, codes, vectors)
        self._total += vectors.sum(axis=0, dtype=np.float64)
        self._names += names
        self._codes = np.append(self._codes, codes)
        self._cosines = np.append(self._cosines, cosines.max(axis=1, initial=-1))

    def topics(self, reader: StoreReader, name: Named) -> Topics:
        order = np.argsort(-self._cosines, kind="stable")
        grouped = [order[self._codes[order] == code] for code in range(len(self._sums))]
        codes = sorted((code for code, rows in enumerate(grouped) if len(rows)), key=lambda code: -len(grouped[code]))
        named = self._named(reader, name, [grouped[code] for code in codes])
        topics = [
            Topic(
                called,
                tuple(self._names[row] for row in grouped[code]),
                coherence(self._sums[code], len(grouped[code])),
                _example(_beginning(reader, self._names[grouped[code][0]], LETTERS)),
            )
            for code, called in zip(codes, named, strict=True)
        ]
        others = tuple(self._names[row] for row in np.flatnonzero(self._codes < 0))
        return Topics(tuple(topics), others, coherence(self._total, len(self._names)))

    def _named(self, reader: StoreReader, name: Named, groups: Sequence[NDArray[np.int64]]) -> list[str]:
        """A name for each group, by the texts of its documents; of many, of a share of each group."""
        every = -(-sum(map(len, groups)) // FITTED) or 1
        texts = [_beginning(reader, self._names[row], LETTERS) for rows in groups for row in rows[::every]]
        return name(texts, np.repeat(np.arange(len(groups)), [len(rows[::every]) for rows in groups])) if texts else []


def coherence(total: NDArray[np.float64], count: int) -> float:
    """The mean cosine of two of `count` unit vectors with the sum `total` (d,); 1 for one vector alone."""
    return float((total @ total - count) / (count * (count - 1))) if count > 1 else 1.0


def _joined(reader: StoreReader, space: Space, names: Sequence[str], centres: Vectors, report: Report) -> _Assigned:
    assigned = _Assigned([], np.empty((0, space.dim), np.float32), [[] for _ in centres])
    for at, (some, rows) in enumerate(document_vectors.blocks(reader, space, names)):
        report(Progress(at * document_vectors.BLOCK, len(names), "documents"))
        assigned.add(some, rows, centres)
    return assigned


def _centre(vectors: Vectors) -> Vectors:
    mean = vectors.sum(axis=0)
    return np.asarray(mean / (np.linalg.norm(mean) or 1), np.float32)


def _example(text: str) -> str:
    """The beginning of a text in one line."""
    return " ".join(text[:SHOWN].split())


def _beginning(reader: StoreReader, name: str, letters: int) -> str:
    document = next(iter(reader.full_documents([name])), None)
    return front_matter.behind(document.text)[:letters] if document else ""
