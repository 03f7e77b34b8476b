"""One pass over a file of documents. In a large file of records it goes on where an earlier run ended.

After each batch the store has a bookmark in the file: how far it was read, and the hash of that part. Where the file
still begins with the same bytes, because a run was interrupted or records were appended, the next run begins there.
This holds only while the store has exactly the documents of that part: a file of which an earlier version is in the
store has no bookmark until a run has completed it. Not covered: databases, which are read in another process.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Protocol, Self

from semsearch.documents import loaders
from semsearch.documents.file_access import open_regular
from semsearch.documents.loaders import Fields, Limits, Place
from semsearch.documents.parsing.charset import SAMPLE_BYTES
from semsearch.documents.parsing.records import Digest
from semsearch.documents.textless import Textless
from semsearch.errors import Unreadable, UsageError
from semsearch.stores.records import Bookmark, text_hash, to_json
from semsearch.types import Document, Omission, Skipped

LEAST = SAMPLE_BYTES  # bytes before a bookmark: a beginning of this size decides about the character set
MOST_SKIPPED = 200  # records that a bookmark names; with more, the file is read from its beginning
PIECE = 2**20  # bytes


class Hash(Digest, Protocol):
    """A hash of `hashlib`, which can be read and continued."""

    def hexdigest(self) -> str: ...
    def copy(self) -> Self: ...


@dataclass(frozen=True, slots=True)
class FileHash:
    """The hash of a file; and that of its first `at` bytes, to be continued, or None for a shorter file."""

    sha256: str
    part: Hash | None


def file_hash(path: Path, at: int = 0) -> FileHash:
    """Read a file for its hashes. Raises Unreadable."""
    digest, left = hashlib.sha256(), at
    try:
        with open_regular(path) as file:
            while left and (piece := file.read(min(left, PIECE))):
                digest.update(piece)
                left -= len(piece)
            part = None if left else digest.copy()
            while piece := file.read(PIECE):
                digest.update(piece)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from error
    return FileHash(digest.hexdigest(), part)


def opened(
    uri: str, path: Path, kind: str, fields: Fields, content: FileHash, stored: int, bookmark: Bookmark | None
) -> FileReader:
    """The reader of a file whose documents are named after `uri`, from the bookmark on if that is right.

    content: its hash, with the part up to the bookmark; stored: the number of its documents in the store.
    """
    loader = loaders.loader_for(path, kind)
    way = text_hash(to_json([loader, asdict(fields)])) if loaders.goes_on(loader) else ""
    if bookmark is not None and content.part is not None:
        now = Bookmark(bookmark.at, bookmark.number, stored, content.part.hexdigest(), way, bookmark.skipped)
        if now == bookmark and loaders.same_before(loader, path, fields, Place(bookmark.at, bookmark.number)):
            return FileReader(uri, path, kind, fields, way, True, bookmark, content.part)
    return FileReader(uri, path, kind, fields, way, exact=stored == 0)


@dataclass
class FileReader:
    """The documents of a file in their order, and a bookmark after the latest one.

    `start`: where it begins, None for the beginning; `before`: the hash of the part up to there. `exact`: the store has
    no document of the file from behind that place, so that there may be bookmarks before the end. `is_textless`: the
    whole file has no text, so far.
    """

    uri: str
    path: Path
    kind: str
    fields: Fields
    way: str  # what bookmarks of it say; "" if reading cannot go on
    exact: bool
    start: Bookmark | None = None
    before: Hash = field(default_factory=hashlib.sha256)

    def __post_init__(self) -> None:
        start = self.start or Bookmark(0, 0, 0, "", "")
        self._place: Place | None = Place(start.at, start.number)  # None once reading cannot go on
        self._documents = start.documents
        self._skipped = [Skipped(*each) for each in start.skipped]
        self._part = self.before.copy()
        self._omitted: Counter[str] = Counter()
        self.is_textless = self.start is None

    @property
    def omissions(self) -> tuple[Omission, ...]:
        """What was left out of the documents read so far."""
        return tuple(map(Omission._make, self._omitted.items()))

    def items(self, limits: Limits) -> Iterator[Document | Skipped]:
        """The documents from the start on, and the records that cannot be read, also those before it."""
        yield from list(self._skipped)
        first = self._place or Place()
        for item, place in loaders.read_from(self.path, self.kind, self.fields, first, self.before, limits):
            item = named(self.uri, self.path, item)
            self._advance(place, item)
            self.is_textless = self.is_textless and isinstance(item, Textless) and item.whole
            if isinstance(item, Document | Textless):
                self.omit(item.omissions)
            yield item

    def skip(self, skipped: Skipped) -> None:
        """The latest document is not stored, for a reason that lies in the file."""
        self._documents -= 1
        self._skipped.append(skipped)

    def give_up(self) -> None:
        """No bookmarks from here on: the latest document is not stored, and may be the next time."""
        self._place = None

    def bookmark(self) -> Bookmark | None:
        """How far it has come; None if the next reader has to begin at the beginning."""
        if not self.way or self._place is None or self._place.at < LEAST or len(self._skipped) > MOST_SKIPPED:
            return None
        skipped = tuple((each.path, each.reason) for each in self._skipped)
        return Bookmark(*self._place, self._documents, self._part.hexdigest(), self.way, skipped)

    def omit(self, omissions: Sequence[Omission]) -> None:
        """Count what was left out of some of its documents."""
        self._omitted.update(dict(omissions))

    def _advance(self, place: Place | None, item: Document | Skipped) -> None:
        if place == self._place or self._place is None:  # the beginning of a line is read again the next time
            return
        self._place, self._part = place, self.before.copy()
        if isinstance(item, Document):
            self._documents += 1
        else:
            self._skipped.append(item)


def named(uri: str, path: Path, item: Document | Skipped) -> Document | Skipped:
    """What was read from `path`, with the id or name that it has within the index; `uri` is that of the file."""
    if isinstance(item, Skipped):
        return replace(item, path=uri + item.path.removeprefix(path.name))
    if item.id and not item.id.startswith("#"):  # a record with an id of its own
        return item
    return replace(item, id=uri + item.id, title=item.title or (None if item.id else _readable(uri)))


def _readable(uri: str) -> str | None:
    """A title for a file without one: its name in words; None for a name without letters.

    >>> _readable("notes/2024_tax-return.final.pdf")
    '2024 tax return final'
    """
    name = uri.rsplit("/", 1)[-1].lstrip(".")
    words = " ".join(re.split(r"[\s_.-]+", name.rsplit(".", 1)[0] if "." in name else name)).strip()
    return words if any(char.isalpha() for char in words) else None


def reason(error: Unreadable | UsageError) -> str:
    """Why a file was skipped."""
    return str(error) if isinstance(error, UsageError) else error.message
