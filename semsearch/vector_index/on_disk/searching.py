"""Searches lists in a file, which is mapped into memory: opened at once, read as far as searches need it."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import faiss
import numpy as np

from semsearch.errors import Corrupt
from semsearch.utils import vectors as rows
from semsearch.vector_index.backends import _top
from semsearch.vector_index.on_disk.merging import CENTROIDS, LISTS, SIZES
from semsearch.vector_index.on_disk.parts import CODE, Nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semsearch.types import Ids, Vectors

TARGET = 0.975  # recall of the ten nearest, of the questions to choose the number of lists with
STEPS = tuple(sorted({1, *(step << power for step in (2, 3) for power in range(24))}))  # 1, 2, 3, 4, 6, 8, 12 …
AT_ONCE = 256  # queries
ENGINE = f"faiss {faiss.__version__}"


class ListsOnDisk:
    """The lists of `folder`, open for searches. Threads may share it. Raises Corrupt."""

    def __init__(self, folder: Path) -> None:
        try:
            learned = np.load(folder / CENTROIDS, allow_pickle=False)
            self.sizes = np.load(folder / SIZES, allow_pickle=False)
            self.lists, self.dim = learned.shape
            bytes_ = (folder / LISTS).stat().st_size
        except (OSError, ValueError, EOFError) as error:
            raise Corrupt(f"{folder} cannot be read: {error}.") from error
        self._row = self.dim * np.dtype(CODE).itemsize + 8
        if self.sizes.shape != (self.lists,) or int(self.sizes.sum()) * self._row != bytes_:
            raise Corrupt(f"{folder / LISTS} has {bytes_:,} bytes, which do not fit its {self.lists:,} lists.")
        self._file, self._learned = folder / LISTS, learned
        self._index = self._mapped() if bytes_ else None
        self._selected: tuple[weakref.ref[Ids], Any] | None = None

    def __len__(self) -> int:
        return int(self.sizes.sum())

    def search(self, queries: Vectors, k: int, probes: int, allowed: Ids | None = None) -> tuple[Ids, Vectors]:
        """queries (q, d) -> ids (q, k) and cosines (q, k), best first, padded with -1 and -inf.

        probes: how many lists are read. Of a share of the vectors, `allowed` (ascending ids), as many more as make the
        number of comparisons the same; and more where there are not k in them.
        """
        checked = rows.check(queries, dim=self.dim, what="query")
        reachable = len(self) if allowed is None else len(allowed)
        take = min(k, reachable)
        if take == 0 or len(checked) == 0 or self._index is None:
            return _top.nothing(len(checked), k)
        wanted = min(self.lists, round(probes * len(self) / reachable))
        selected = None if allowed is None else self._selector(allowed)
        blocks = (checked[at : at + AT_ONCE] for at in range(0, len(checked), AT_ONCE))
        return _top.merge([_top.joined(self._block(self._index, block, take, wanted, selected) for block in blocks)], k)

    def fewest(self, asked: Vectors, right: Nearest, kinds: Sequence[int] = ()) -> tuple[int, float]:
        """The fewest lists with which the questions (q, d) of each kind reach the TARGET, and the least recall then.

        kinds: how many of them are of each kind, one kind after the other; () for one kind.
        """
        if not (right.ids >= 0).any():
            return self.lists, 1.0
        ends = np.cumsum(kinds or [len(asked)])[:-1]
        for probes in (*(step for step in STEPS if step < self.lists), self.lists):
            found, _ = self.search(asked, right.ids.shape[1], probes)
            hits = [int(np.isin(row[row >= 0], here).sum()) for row, here in zip(right.ids, found, strict=True)]
            answers = (right.ids >= 0).sum(axis=1)
            both = zip(np.split(np.array(hits, int), ends), np.split(answers, ends), strict=True)
            recall = min(float(of.sum() / all_.sum()) for of, all_ in both if all_.sum())
            if recall >= TARGET:
                break
        return probes, recall

    def rows(self) -> Iterator[tuple[Ids, NDArray[np.float16]]]:
        """Ids (n,) and codes (n, d) of each list that is not empty."""
        if self._index is None:
            return
        content = np.memmap(self._file, np.uint8, mode="r")
        at = 0
        for size in self.sizes.tolist():
            codes, end = at + size * self.dim * np.dtype(CODE).itemsize, at + size * self._row
            if size:
                yield content[codes:end].view("<i8"), content[at:codes].view(CODE).reshape(size, self.dim)
            at = end

    def _block(self, index: Any, queries: Vectors, take: int, probes: int, selected: Any) -> tuple[Ids, Vectors]:
        while True:
            params = faiss.SearchParametersIVF(nprobe=probes, sel=selected)
            scores, ids = index.search(queries, take, params=params)
            if probes >= self.lists or (ids[:, -1] >= 0).all():
                return ids, np.where(ids >= 0, scores, -np.inf).astype(np.float32)
            probes = min(self.lists, 4 * probes)

    def _selector(self, allowed: Ids) -> Any:
        """A FAISS selector of these ids; that of an array that cannot be changed is kept while it exists."""
        if self._selected is not None and self._selected[0]() is allowed:
            return self._selected[1]
        bits = np.zeros(int(allowed[-1]) // 8 + 1, np.uint8)
        np.bitwise_or.at(bits, allowed >> 3, (1 << (allowed & 7)).astype(np.uint8))
        made = faiss.IDSelectorBitmap(bits)
        self._selected = None if allowed.flags.writeable else (weakref.ref(allowed), made)
        return made

    def _mapped(self) -> Any:
        quantizer = faiss.IndexFlatIP(self.dim)
        quantizer.add(rows.check(self._learned, dim=self.dim, what="centroids"))
        half = faiss.ScalarQuantizer.QT_fp16
        index = faiss.IndexIVFScalarQuantizer(quantizer, self.dim, self.lists, half, faiss.METRIC_INNER_PRODUCT, False)
        lists = faiss.OnDiskInvertedLists(self.lists, index.code_size, str(self._file))
        lists.lists.clear()
        for size, place in _places(self.sizes, self._row):
            one = faiss.OnDiskOneList()
            one.size = one.capacity = size
            one.offset = place
            lists.lists.push_back(one)
        lists.read_only, lists.prefetch_nthread = True, 0  # FAISS would start 32 threads for each search
        lists.totsize = self._file.stat().st_size
        lists.do_mmap()
        index.replace_invlists(lists, False)
        index.is_trained, index.ntotal = True, len(self)
        self._pointed_to = quantizer, lists  # FAISS has pointers to them alone
        return index


def _places(sizes: Any, row: int) -> Sequence[tuple[int, int]]:
    """The size of each list, and the byte at which it begins."""
    starts = np.cumsum(sizes) - sizes
    return list(zip(sizes.tolist(), (starts * row).tolist(), strict=True))
