"""What is alike among texts: the closest pairs, near-duplicates and clusters, of a list or of an index.

    paraphrase_mining(["How do I descale a kettle?", "Removing limescale from a kettle", "Bread"])[0]

Names and meanings are those of sentence-transformers, `util.paraphrase_mining` and `util.community_detection`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from semsearch.analysis import clustering
from semsearch.analysis.closest_pairs import ClosestPairs, closest_pairs, near_groups
from semsearch.analysis.document_vectors import near_pairs, passages_of
from semsearch.encoders.base import as_encoder
from semsearch.encoders.index_encoder import load
from semsearch.errors import UsageError
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space
from semsearch.types import EncoderLike, Pair
from semsearch.utils.arguments import between, whole_number
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.filters import Filter
    from semsearch.types import Vectors

    Texts: TypeAlias = Sequence[str] | Sequence[Sequence[float]] | NDArray[np.floating]

MAX_PAIRS = 500_000  # as in sentence-transformers
THRESHOLD, MIN_SIZE = 0.75, 10  # of a cluster, as in sentence-transformers
SAME = 0.95  # cosine of near-duplicates
EXACT = 100_000  # passages of an index; of more, each is compared with its nearest in the vector index alone
NEIGHBOURS = 100  # as in sentence-transformers (top_k)
AT_ONCE = 1_000  # passages that the vector index is asked for at a time


def paraphrase_mining(
    texts: Texts,
    *,
    encoder: EncoderLike | str = "default",
    threshold: float = 0.0,
    max_pairs: int = MAX_PAIRS,
    groups: Sequence[object] | None = None,
) -> list[Pair[int]]:
    """The `max_pairs` closest of all pairs of n texts with a cosine of at least `threshold`, the closest first.

    A `Pair` is (score, first, second): the cosine, and two positions in `texts`, the smaller first. Texts of one of the
    `groups` (n,) make no pair. `texts` may be n vectors (n, d) instead, which are scaled to length 1.
    O(n² d); the memory is that of the vectors, the pairs, and a block of 8 million cosines. Raises UsageError.

    >>> [(pair.first, pair.second) for pair in paraphrase_mining([[1, 0], [0, 1], [3, 1]], max_pairs=1)]
    [(0, 2)]
    """
    check(threshold=threshold, max_pairs=max_pairs)
    vectors = vectors_of(texts, encoder)
    if groups is not None and len(groups) != len(vectors):
        raise UsageError(f"there are {len(vectors)} texts and {len(groups)} groups.", "Pass one group for each text.")
    closest = ClosestPairs(threshold, max_pairs)
    closest_pairs(vectors, groups, closest)
    return closest.pairs()


def near_duplicates(
    texts: Texts, *, encoder: EncoderLike | str = "default", threshold: float = SAME
) -> list[list[int]]:
    """Groups of texts that nearly agree, as positions in `texts`, ascending; the largest group first.

    Two texts with a cosine of at least `threshold` are in one group, so a chain of them is, too. To remove duplicates,
    delete all but the first of each group. `texts` may be n vectors (n, d). O(n² d); the memory is that of the vectors
    and a block of 8 million cosines. Raises UsageError.

    >>> near_duplicates([[1, 0], [0, 1], [2, 0]])
    [[0, 2]]
    """
    check(threshold=threshold)
    return near_groups(vectors_of(texts, encoder), threshold)


def clusters(
    texts: Texts,
    *,
    encoder: EncoderLike | str = "default",
    threshold: float | None = None,
    min_size: int | None = None,
    k: int | None = None,
) -> list[list[int]]:
    """Clusters of texts, as positions in `texts`: the largest first, the most central text of each first.

    Without `k`, as `community_detection` of sentence-transformers: texts with a cosine of at least `threshold` (0.75)
    to a central one, at least `min_size` (10) of them. Clusters do not overlap, and some texts are in none. O(n² d).
    With `k`, at most k clusters that cover all texts, by k-means. O(n k d).
    `texts` may be n vectors (n, d). Beside the vectors, a block of 8 million cosines is in memory. Raises UsageError.

    >>> clusters([[1, 0], [0, 1], [2, 0.1]], threshold=0.9, min_size=2)
    [[0, 2]]
    >>> [sorted(cluster) for cluster in clusters([[1, 0], [0, 1], [2, 0.1]], k=2)]
    [[0, 2], [1]]
    """
    check_clusters(threshold, min_size, k)
    return clustered(vectors_of(texts, encoder), threshold, min_size, k)


def clustered(vectors: Vectors, threshold: float | None, min_size: int | None, k: int | None) -> list[list[int]]:
    """`clusters` of unit vectors (n, d)."""
    if k is not None:
        return clustering.k_means(vectors, k)
    least = MIN_SIZE if min_size is None else min_size
    return clustering.communities(vectors, THRESHOLD if threshold is None else threshold, least)


def check_clusters(threshold: float | None, min_size: int | None, k: int | None) -> None:
    """Raise UsageError for arguments of `clusters` that exclude each other or are no numbers."""
    if k is not None and (threshold is not None or min_size is not None):
        raise UsageError(
            "k clusters have no threshold and no least size.",
            "Pass k, or threshold and min_size.",
            "Pass -k, or --threshold and --min-size.",
        )
    check(threshold=threshold, min_size=min_size, k=k)


def check(*, threshold: float | None = None, **counts: int | None) -> None:
    """Raise UsageError for a threshold that is no cosine, and for a count below 1."""
    if threshold is not None:
        between("threshold", threshold, -1, 1, "It is a cosine, for example 0.8.")
    for name, number in counts.items():
        if number is not None:
            whole_number(name, number)


def vectors_of(texts: Texts, encoder: EncoderLike | str) -> Vectors:
    """n texts, or vectors (n, d), as unit vectors (n, d). An equal text is encoded once."""
    if isinstance(texts, str) or not isinstance(texts, Sequence | np.ndarray):
        raise UsageError(f"several texts are needed, not {texts!r:.60}.", "Pass a list of texts, or vectors (n, d).")
    if isinstance(texts, np.ndarray) or not all(isinstance(text, str) for text in texts):
        return _checked(texts)
    distinct = {text: at for at, text in enumerate(dict.fromkeys(map(str, texts)))}
    model = load(encoder) if isinstance(encoder, str) else as_encoder(encoder)
    try:
        rows = model.encode(list(distinct), role="passage")
    finally:
        if isinstance(encoder, str):
            model.close()
    return rows[[distinct[str(text)] for text in texts]]


def _checked(vectors: object) -> Vectors:
    try:
        rows = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError):
        rows = np.empty(0, np.float32)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise UsageError("these are neither texts nor vectors.", "Pass a list of texts, or vectors (n, d).")
    return unit_rows(rows)


# ---- of an index


def passage_pairs(
    reader: StoreReader, space: Space, condition: Filter | None, threshold: float, max_pairs: int
) -> list[Pair[int]]:
    """The closest pairs of passages of different documents that pass the filter, as passage ids."""
    closest = ClosestPairs(threshold, max_pairs)
    with reader.snapshot():
        ids, owners = passages_of(reader, reader.document_ids(condition))
        if len(ids) > EXACT:
            for one, other, cosines in near_pairs(reader, space, ids, (ids, owners), NEIGHBOURS, AT_ONCE):
                close = cosines >= closest.least
                closest.add(np.minimum(one, other)[close], np.maximum(one, other)[close], cosines[close])
            return closest.pairs()
        vectors, read = np.empty((len(ids), space.dim), np.float32), np.empty(0, np.int64)
        for some, rows in reader.vectors(space.id, ids=ids):
            vectors[len(read) : len(read) + len(some)] = rows
            read = np.append(read, some)
    closest_pairs(vectors[: len(read)], owners[np.searchsorted(ids, read)].tolist(), closest)
    return [Pair(score, int(read[first]), int(read[second])) for score, first, second in closest.pairs()]
