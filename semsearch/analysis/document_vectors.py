"""The vectors of documents: the mean of those of their passages, all at once or in blocks of bounded memory.

Beside them the passages of documents, and the pairs of passages that are near in the vector index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space
from semsearch.utils.vectors import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.stores.filters import Filter
    from semsearch.types import Ids, Vectors

BLOCK = 2_000  # documents


def document_vectors(reader: StoreReader, space: Space, condition: Filter | None) -> tuple[list[str], Vectors]:
    """The documents that pass the filter, by id, and the mean (n, d) of the vectors of each, of length 1."""
    with reader.snapshot():
        return means(reader, space, reader.document_ids(condition))


def blocks(reader: StoreReader, space: Space, names: Sequence[str]) -> Iterator[tuple[list[str], Vectors]]:
    """`means` of these documents, at most BLOCK at a time. Call it inside a snapshot."""
    for start in range(0, len(names), BLOCK):
        yield means(reader, space, names[start : start + BLOCK])


def means(reader: StoreReader, space: Space, names: Sequence[str]) -> tuple[list[str], Vectors]:
    """These documents without those that have no vector, and the mean (n, d) of the vectors of each, of length 1."""
    ids, owners = passages_of(reader, names)
    sums, has = np.zeros((len(names), space.dim), np.float32), np.zeros(len(names), np.bool_)
    for some, rows in reader.vectors(space.id, ids=ids):
        places = owners[np.searchsorted(ids, some)]
        np.add.at(sums, places, rows)
        has[places] = True
    return [name for name, there in zip(names, has.tolist(), strict=True) if there], unit_rows(sums[has])


def passages_of(reader: StoreReader, names: Sequence[str]) -> tuple[Ids, NDArray[np.int64]]:
    """The passages (n,) of these documents, ascending, and the place (n,) in `names` of the document of each."""
    ids = [np.empty(0, np.int64), *(reader.passage_ids([name]) for name in names)]
    owners = np.repeat(np.arange(-1, len(names)), [len(some) for some in ids])
    flat = np.concatenate(ids)
    order = np.argsort(flat)
    return flat[order], owners[order]


def near_pairs(
    reader: StoreReader, space: Space, asked: Ids, passages: tuple[Ids, NDArray[np.int64]], k: int, chunk: int
) -> Iterator[tuple[Ids, Ids, Vectors]]:
    """Each of the passages `asked` with its `k` nearest among `passages`, those of `passages_of`, by the vector index.

    Passages (m,), others (m,) of another document, and their cosines (m,), for `chunk` of `asked` at a time.
    """
    ids, owners = passages
    for some, rows in reader.vectors(space.id, ids=asked, chunk=chunk):
        near = reader.dense(space.id, rows, k)
        one, other, cosines = np.repeat(some, near.ids.shape[1]), near.ids.ravel(), near.cosines.ravel()
        there = np.isin(other, ids)
        one, other, cosines = one[there], other[there], cosines[there]
        apart = owners[np.searchsorted(ids, one)] != owners[np.searchsorted(ids, other)]
        yield one[apart], other[apart], cosines[apart]
