"""Documents, their passages, what was left out of them, and what a folder or an index has of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from semsearch.types.items import Items
from semsearch.types.values import JsonObject, Metadata, SqlValue

DocumentState: TypeAlias = Literal["current", "changed", "unfinished", "gone", "unseen", "kept"]


@dataclass(frozen=True, slots=True)
class Mark:
    """The page and the heading of a document's text from offset `start` on.

    furniture: it is there to lead elsewhere, such as a list of links; its passages stand last in every answer.
    """

    start: int
    page: int | None = None
    heading: str | None = None
    furniture: bool = False


class Omission(NamedTuple):
    """What a loader left out of a document on purpose: a kind, such as "navigation" or "script", and its letters.

    Letters are characters that are not white space. Where a kind cannot be counted, as a picture, `letters` is 0.
    """

    kind: str
    letters: int


@dataclass(frozen=True, slots=True)
class Document:
    """One text to search, under an `id` that is unique within an index.

    `marks` are sorted by start. `lines`: a line of `text` is a line of the source file, so a passage has a line number;
    a text extracted from HTML or PDF has no such lines. `omissions`: what its loader left out, each kind once. `line`:
    of a record, the line or row of its file; it is not stored.
    """

    id: str
    text: str
    metadata: Metadata = field(default_factory=dict)
    title: str | None = None
    marks: tuple[Mark, ...] = ()
    lines: bool = False
    omissions: tuple[Omission, ...] = ()
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Passage:
    """A slice of a document: `document.text[start:end] == text`."""

    start: int
    end: int
    text: str
    page: int | None = None
    line: int | None = None
    heading: str | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was not indexed, and the reason in words for a person."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FileType:
    """The files of a folder whose names end in `suffix` (lower case, with the dot; "" for none), and their bytes."""

    suffix: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Survey:
    """What an index of a folder would take: its files by type, the largest first, and what would be skipped unread.

    `passages` and `seconds` are estimates from a sample that was read, split and encoded on this machine; `seconds` is
    None where none of it has text. Without `complete` there was no time to count all files.
    """

    types: tuple[FileType, ...]
    skipped: int
    passages: int
    seconds: float | None
    complete: bool

    @property
    def files(self) -> int:
        """The number of files that would be read."""
        return sum(each.files for each in self.types)

    @property
    def bytes(self) -> int:
        """Their size."""
        return sum(each.bytes for each in self.types)


@dataclass(frozen=True, slots=True)
class Facet:
    """A property by which documents can be filtered, and its values.

    number  from `low` to `high`; `whole` where all are integers     words  one of `values`, with their counts
    date    from `low` to `high`, ISO days                           list   the same, of lists: each holds several
    flag    true or false                                            text   more values than can be listed
    `builtin` ones (loader, date) are not keys of the metadata. `documents` is the number of documents that have it.
    """

    key: str
    kind: Literal["number", "date", "words", "list", "flag", "text"]
    documents: int
    builtin: bool = False
    low: Any = None  # a number, or an ISO day
    high: Any = None
    whole: bool = True
    values: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class SqlRows(Items[tuple[SqlValue, ...]], Sequence[tuple[SqlValue, ...]]):
    """The rows of a SELECT, in order, and the names of their columns. A value is None, int, float, str or bytes.

    Of columns with one name the second is called `name_2`.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[SqlValue, ...]]

    def _items(self) -> Sequence[tuple[SqlValue, ...]]:
        return self.rows

    def dicts(self) -> list[JsonObject]:
        """Each row by the names of the columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]
