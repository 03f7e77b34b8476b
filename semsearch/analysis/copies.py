"""Documents that repeat others, exactly or nearly, and which one of them to keep.

Every copy is close to the document that is kept, and shares most words with it: where near copies form a chain, several
of them are kept. Up to COMPARED documents are compared with each other; of more, each with the neighbours of three of
its passages in the vector index, while the vectors and the counts of words of the documents lie in temporary files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from semsearch.analysis import closest_pairs, document_vectors
from semsearch.search import shared_words
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space
from semsearch.types import Copies, Copy, JsonObject, Keep, Progress
from semsearch.utils.atomic_write import scratch_folder

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from semsearch.stores.filters import Filter
    from semsearch.types import Ids, Vectors

CLOSE = 0.85  # cosine of near copies: the title, which a vector contains too, may differ
WORDS = 0.9  # share of the words that near copies have in common
COMPARED = 100_000  # documents that are compared with each other: a minute or two
NEIGHBOURS = 30  # passages that are looked at for each of three passages of a document
SLACK = 0.05  # passages of near copies may be that much further apart than the documents
AT_ONCE = 500  # documents that are looked up at a time
KINDS = ("exact", "same words", "near")  # the surest first

Report: TypeAlias = Callable[[Progress], None]
Rule: TypeAlias = tuple[str, Callable[[JsonObject], object]]
_LONGEST: Rule = "it has the longest text", lambda one: -one["size"]
_OLDEST: Rule = "its file is the oldest", lambda one: one["mtime"] or inf
_NEWEST: Rule = "its file is the newest", lambda one: -(one["mtime"] or 0)
_SHORTEST: Rule = "its path is the shortest", lambda one: (one["id"].count("/"), len(one["id"]))
_FIRST: Rule = "its name is the first", lambda one: one["id"]
RULES: Mapping[Keep, tuple[Rule, ...]] = {
    "longest": (_LONGEST, _OLDEST, _SHORTEST, _FIRST),
    "newest": (_NEWEST, _LONGEST, _SHORTEST, _FIRST),
    "oldest": (_OLDEST, _LONGEST, _SHORTEST, _FIRST),
    "first": (_FIRST,),
}


@dataclass(frozen=True, slots=True)
class Criteria:
    """What counts as a copy, and which document is kept: the arguments of `Analysis.copies`."""

    threshold: float
    words: float
    exact: bool
    keep: Keep


def copies(
    reader: StoreReader, space: Space, condition: Filter | None, criteria: Criteria, report: Report
) -> list[Copies]:
    """The copies among the documents that pass the filter, of the document with the most copies first."""
    with reader.snapshot():
        names = reader.document_ids(condition)
        groups = _same_text(reader, names)
        if not criteria.exact:
            groups = joined(len(names), [*groups, *_near(reader, space, names, criteria, report)])
        copied: list[Copies] = []
        for group in groups:
            copied += _Group(reader, space, [names[at] for at in group], criteria).kept()
    return sorted(copied, key=lambda one: (-len(one.copies), one.keep))


def joined(count: int, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """The numbers below `count` in groups of two and more: those that are in one of `groups`, and chains of them.

    >>> joined(6, [[0, 2], [3, 4], [2, 5]])
    [[0, 2, 5], [3, 4]]
    """
    parent = list(range(count))

    def root(one: int) -> int:
        while parent[one] != one:
            parent[one] = one = parent[parent[one]]
        return one

    for first, *others in groups:
        for other in others:
            low, high = sorted((root(first), root(other)))
            parent[high] = low
    members: dict[int, list[int]] = {}
    for one in range(count):
        members.setdefault(root(one), []).append(one)
    return [group for group in members.values() if len(group) > 1]


def _same_text(reader: StoreReader, names: Sequence[str]) -> list[list[int]]:
    """The places of documents with the same text, in groups of two and more; without those that have no text."""
    hashes = np.empty(len(names), "S32")
    for start in range(0, len(names), AT_ONCE):
        hashes[start : start + AT_ONCE] = [row.sha256 for row in reader.document_rows(names[start : start + AT_ONCE])]
    _, codes, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    repeated = np.flatnonzero(counts[codes] > 1)
    order = repeated[np.argsort(codes[repeated], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    return [group.tolist() for group in groups if len(group) and len(reader.passage_ids([names[group[0]]]))]


# ---- near copies


def _near(
    reader: StoreReader, space: Space, names: Sequence[str], criteria: Criteria, report: Report
) -> list[list[int]]:
    """The places of documents that are alike by their vectors, and perhaps by their words, in groups."""
    with scratch_folder() as folder:
        large = folder if len(names) > COMPARED else None
        vectors, counted = (
            _table(large, "vectors", (len(names), space.dim), np.float32),
            _table(large, "words", (len(names), shared_words.BUCKETS), np.uint32),
        )
        for start in range(0, len(names), document_vectors.BLOCK):
            some = names[start : start + document_vectors.BLOCK]
            report(Progress(start, len(names), "documents"))
            vectors[start : start + len(some)] = _rows(reader, space, some)
            for at, name in enumerate(some, start):
                counted[at] = shared_words.counts(_text(reader, name))
        alike = shared_words.bound(counted, criteria.words)
        if large:
            return _through_index(reader, space, names, vectors, criteria.threshold, alike, report)
        compared = lambda done: report(Progress(done, len(names), "documents"))  # noqa: E731
        return closest_pairs.near_groups(vectors, criteria.threshold, alike=alike, progress=compared)


def _table(folder: Path | None, name: str, shape: tuple[int, int], kind: type[Any]) -> NDArray[Any]:
    return np.zeros(shape, kind) if folder is None else np.memmap(folder / name, kind, "w+", shape=shape)


def _rows(reader: StoreReader, space: Space, names: Sequence[str]) -> Vectors:
    """The vectors (n, d) of these documents; zeros for one without a vector."""
    present, rows = document_vectors.means(reader, space, names)
    place = {name: at for at, name in enumerate(names)}
    vectors = np.zeros((len(names), space.dim), np.float32)
    vectors[[place[name] for name in present]] = rows
    return vectors


def _through_index(
    reader: StoreReader,
    space: Space,
    names: Sequence[str],
    vectors: Vectors,
    threshold: float,
    alike: Callable[[int, Ids], NDArray[np.bool_]],
    report: Report,
) -> list[list[int]]:
    """Pairs of places of near copies, found by the neighbours of a document's first, middle and last passage."""
    ids, owners = passages = document_vectors.passages_of(reader, names)
    asked = ids[_three_each(owners)]
    groups: list[list[int]] = []
    near = document_vectors.near_pairs(reader, space, asked, passages, NEIGHBOURS, AT_ONCE)
    for done, (one, other, cosines) in enumerate(near):
        report(Progress(done * AT_ONCE, len(asked), "passages"))
        close = cosines >= threshold - SLACK
        first, second = (owners[np.searchsorted(ids, each[close])] for each in (one, other))
        pairs = np.unique(np.stack([first, second], axis=1), axis=0)
        pairs = pairs[np.einsum("ij,ij->i", vectors[pairs[:, 0]], vectors[pairs[:, 1]]) >= threshold]
        groups += [[a, b] for a, b in pairs.tolist() if alike(a, np.array([b]))[0]]
    return groups


def _three_each(owners: NDArray[np.int64]) -> Ids:
    """The places of the first, the middle and the last passage of each owner, ascending."""
    order = np.argsort(owners, kind="stable")
    starts = np.flatnonzero(np.diff(owners[order], prepend=-1))
    ends = np.append(starts[1:], len(order)) - 1
    return np.unique(order[np.concatenate([starts, (starts + ends) // 2, ends])])


# ---- what to keep


class _Group:
    """Documents that may repeat each other, and what decides whether they do."""

    def __init__(self, reader: StoreReader, space: Space, names: Sequence[str], criteria: Criteria) -> None:
        self._reader, self._criteria, self._rules = reader, criteria, RULES[criteria.keep]
        rows = list(reader.document_rows(names))
        self._listed = {row.uri: row.listed() for row in rows}
        self._hashes = {row.uri: row.sha256 for row in rows}
        self._vectors = dict(zip(names, _rows(reader, space, names), strict=True))

    def kept(self) -> Iterator[Copies]:
        """The documents to keep, the preferred one first, each with those of the others that are copies of it."""
        rest = sorted(self._listed, key=lambda name: [rank(self._listed[name]) for _, rank in self._rules])
        while len(rest) > 1:
            keep, *others = rest
            copies = self._copies(keep, others)
            if copies:
                yield Copies(keep, self._why(keep, copies), tuple(copies))
            taken = {copy.document for copy in copies}
            rest = [name for name in others if name not in taken]

    def _copies(self, keep: str, others: Sequence[str]) -> list[Copy]:
        cosines = np.stack([self._vectors[name] for name in others]) @ self._vectors[keep]
        original: list[str] | None = None
        copies = []
        for name, cosine in zip(others, np.clip(cosines, -1, 1).tolist(), strict=True):
            if self._hashes[name] == self._hashes[keep]:
                copies.append(Copy(name, "exact", cosine, 1.0))
            elif not self._criteria.exact and cosine >= self._criteria.threshold:
                original = shared_words.words(_text(self._reader, keep)) if original is None else original
                words = shared_words.words(_text(self._reader, name))
                kind: Literal["same words", "near"] = "same words" if words == original else "near"
                copies.append(Copy(name, kind, cosine, shared_words.shared(words, original)))
        close = [copy for copy in copies if copy.shared_words >= self._criteria.words]
        return sorted(close, key=lambda copy: (KINDS.index(copy.kind), -copy.cosine, copy.document))

    def _why(self, keep: str, copies: Sequence[Copy]) -> str:
        """The first of the rules by which the document to keep precedes all of its copies."""
        ranks = ((why, rank(self._listed[keep]), rank) for why, rank in self._rules)
        reasons = (why for why, own, rank in ranks if all(rank(self._listed[copy.document]) != own for copy in copies))
        return next(reasons, self._rules[-1][0])


def _text(reader: StoreReader, name: str) -> str:
    document = next(iter(reader.full_documents([name])), None)
    return document.text if document else ""
