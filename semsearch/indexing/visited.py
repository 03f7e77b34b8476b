"""What a run has visited: the documents that it has taken, and the files that are still there, in a bit for each.

The numbers of stored documents and files ascend and are never used twice, so a million of them are 125 kB, where their
names would be 100 MB. Those of a store with many writers are hashes and times: high numbers, kept one by one.
"""

from __future__ import annotations

from collections.abc import Iterable

from semsearch.indexing.file_states import source_of
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import DocumentRow

FileKey = tuple[str, str]
DENSE = 2**35  # numbers below it are counted up


class BitSet:
    """A set of positive integers, in a bit for each number up to the highest below DENSE."""

    def __init__(self) -> None:
        self._bits = bytearray()
        self._high: set[int] = set()

    def add(self, number: int) -> None:
        if number >= DENSE:
            self._high.add(number)
            return
        at = number >> 3
        if at >= len(self._bits):
            self._bits.extend(bytes(at + 1 - len(self._bits) + len(self._bits) // 8))
        self._bits[at] |= 1 << (number & 7)

    def __contains__(self, number: int) -> bool:
        if number >= DENSE:
            return number in self._high
        at = number >> 3
        return at < len(self._bits) and bool(self._bits[at] >> (number & 7) & 1)


class VisitedDocuments:
    """The documents that a run has taken. `stamp` is that of the stored document, None for none.

    A document that was stored before the run is known by its number; one that the run has stored, by a number above
    those; and one that waits for a commit, by its id. One that was committed since the stamps were read is still known
    by its id, until `forget_committed`.
    """

    def __init__(self, reader: StoreReader) -> None:
        self._reader = reader
        self._last = reader.state().newest
        self._stored = BitSet()
        self._waiting: dict[str, FileKey | None] = {}
        self._committed: list[str] = []

    def has(self, document: str, stamp: DocumentRow | None) -> bool:
        """Whether the run has taken the document with this id."""
        return document in self._waiting or (stamp is not None and not self.is_left(stamp))

    def is_left(self, stamp: DocumentRow) -> bool:
        """Whether a stored document is one of before the run that was not taken."""
        return stamp.number <= self._last and stamp.number not in self._stored

    def file(self, document: str) -> FileKey | None:
        """The key of the file of a document that was taken; None for one without a file."""
        if document in self._waiting:
            return self._waiting[document]
        source = source_of(self._reader, document)
        return source.key if source else None

    def take(self, document: str, stamp: DocumentRow | None, file: FileKey | None, *, waits: bool) -> None:
        """Remember a document. waits: it is going to be written."""
        if stamp is not None:
            self._stored.add(stamp.number)
        if waits or stamp is None:
            self._waiting[document] = file

    def committed(self, documents: Iterable[str]) -> None:
        """Documents that waited are stored now."""
        self._committed.extend(documents)

    def forget_committed(self) -> list[str]:
        """From now on, stamps are of what is stored now. The documents for which earlier ones are out of date."""
        forgotten, self._committed = self._committed, []
        for document in forgotten:
            self._waiting.pop(document, None)
        return forgotten
