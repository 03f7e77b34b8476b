"""Records that a store reads and writes, and the hashes that detect changes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from semsearch import types
from semsearch.documents.parsing.json_size import MOST_DIGITS, has_longer_number
from semsearch.errors import Unreadable, UsageError
from semsearch.stores.plain_values import plain, plain_or_text
from semsearch.utils.passage_context import embedded
from semsearch.utils.vectors import OWN_VECTORS

if TYPE_CHECKING:
    from semsearch.types import Document, JsonObject, Mark, Omission, Passage, Vectors
    from semsearch.utils.strength import NullDistribution

_SURROGATE = re.compile("[\ud800-\udfff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain)
_ANYTHING = json.JSONEncoder(default=plain_or_text)
_SORTED = json.JSONEncoder(sort_keys=True, ensure_ascii=False)
_PLAIN = {str, int, float, bool, type(None)}  # JSON gives these values back as they are
_TYPES = (("id", str), ("text", str), ("metadata", Mapping), ("marks", Sequence))
# recorded in place of a file's size
UNFINISHED = -1  # a part of it is not in the store, so the next run reads it again
UNSURE = -2  # the next run compares the content
MOST_RUNS = 100  # whose reports are kept
Numbered: TypeAlias = Literal["documents", "passages", "sources", "spaces"]  # what a copy keeps the numbers of
HASH = 32  # hex digits: 128 bits of a SHA-256; a store of a million sentences has two million of them
LONG_NUMBER = f"a whole number of more than {MOST_DIGITS} digits, which no interface reads; store it as text"
_MANY_DIGITS = re.compile(rf"(?<!\d)\d{{{MOST_DIGITS + 1}}}")  # tried once a number, not at each of its digits


@dataclass(frozen=True, slots=True)
class Bookmark:
    """How far a file of records was read: of the file, the store has the documents of this part, and no others.

    `at` bytes, `number` lines and `documents` are before it. `sha256` is the hash of those bytes, and `way`
    that of how they were read. `skipped` are the records among them that cannot be read, each with the reason.
    """

    at: int
    number: int
    documents: int
    sha256: str
    way: str
    skipped: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_json(cls, recorded: JsonObject) -> Bookmark:
        """The inverse of `asdict`; `way` was longer in older versions."""
        skipped = tuple((path, reason) for path, reason in recorded["skipped"])
        return cls(**{**recorded, "way": recorded["way"][:HASH], "skipped": skipped})


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read. Several documents may come from one. `path` is relative to `root`.

    omissions: what its loader left out of all of its documents. A whole file without documents is one without text.
    Without a `root` it stands for a document that came from no file on disk, whose id is `path`, and its omissions.
    """

    root: str
    path: str
    mtime_ns: int
    size: int
    sha256: str
    loader: str
    id: int = 0
    bookmark: Bookmark | None = None
    documents: int = field(default=0, compare=False)  # how many came from it, when it was read
    omissions: tuple[Omission, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """No two sources have the same one."""
        return self.root, self.path

    def notes(self) -> JsonObject | None:
        """Bookmark and omissions as a store keeps them, in one JSON object; None without either."""
        notes = {} if self.bookmark is None else asdict(self.bookmark)
        if self.omissions:
            notes["omissions"] = list(map(list, self.omissions))
        return notes or None

    def with_notes(self, notes: JsonObject) -> Source:
        """The file with the result of `notes` that was stored for it. Raises as one of another form does."""
        bookmark = dict(notes)
        omissions = tuple(types.Omission(*each) for each in bookmark.pop("omissions", ()))
        return replace(self, bookmark=Bookmark.from_json(bookmark) if bookmark else None, omissions=omissions)


@dataclass(frozen=True, slots=True)
class Entry:
    """A document to store: the id of its source (or None), its passages, and a vector (n, dim) for each passage."""

    document: Document
    source: int | None
    passages: Sequence[Passage]
    vectors: Vectors


class Salvaged(NamedTuple):
    """A document out of a damaged store.

    `passages`: None where one is missing or damaged. `vectors`: a row (1, d) for each of them, None for a damaged one.
    """

    document: Document
    source: Source | None
    passages: Sequence[Passage] | None
    vectors: Sequence[Vectors | None]


class StoreState(NamedTuple):
    """An index as a whole, at one moment.

    `vectors`: by space. `updating`: whether a run has begun and not ended: one goes on, or was interrupted.
    `newest`: the number of the latest document, 0 for none. `spaces`: the current one, which searches use, then the
    others, oldest first. `recipe`: how the index is built. A store that several machines write to records `roots` and
    `bases` for each by itself, and gives those of this one; "taken" lists the prefixes in the `bases` of the others.
    """

    documents: int
    passages: int
    vectors: dict[int, int]
    updating: bool
    newest: int
    recipe: JsonObject
    spaces: list[Space]

    def space(self, number: int) -> Space | None:
        """The space with this id."""
        return next((one for one in self.spaces if one.id == number), None)


@dataclass(frozen=True, slots=True)
class Space:
    """The vectors of one encoder, or of none. `null_distribution` is None before it is measured."""

    id: int
    fingerprint: str
    name: str
    dim: int
    info: JsonObject
    null_distribution: NullDistribution | None = None

    @property
    def has_encoder(self) -> bool:
        """Whether texts can be encoded in this space; otherwise every vector was passed in."""
        return self.fingerprint != OWN_VECTORS


class DocumentRow(NamedTuple):
    """A stored document without its text. `root` and `path` are those of its source, None without one.

    `number`: that of a document stored later is higher, and none is used twice, not even when a document is replaced.
    `sha256` is that of its text, `meta_sha256` that of title and metadata; `size` in bytes, `mtime` in ns, of its file.
    """

    uri: str
    title: str | None
    sha256: str
    meta_sha256: str
    source: int | None
    number: int
    size: int
    mtime: int | None
    loader: str | None
    root: str | None
    path: str | None
    passages: int
    metadata: JsonObject

    def listed(self) -> JsonObject:
        """The result of `Index.documents` for it."""
        names = ("title", "size", "mtime", "loader", "root", "path", "passages", "metadata")
        return {"id": self.uri, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage with all that a hit shows. `root` and `path` are those of its source; None without one.

    characters: of its text, and of the metadata as JSON.
    """

    id: int
    document: str
    start: int
    end: int
    text: str
    page: int | None
    line: int | None
    heading: str | None
    metadata: JsonObject
    title: str | None
    root: str | None
    path: str | None
    characters: int

    def embedded(self, *, with_context: bool) -> str:
        """The text that is embedded for it, as when it was stored."""
        passage = types.Passage(self.start, self.end, self.text, self.page, self.line, self.heading)
        return embedded(types.Document(self.document, self.text, title=self.title), passage, with_context=with_context)


def text_hash(text: str) -> str:
    """The first half of the SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH]


def meta_hash(title: str | None, metadata: Mapping[str, object]) -> str:
    """As `text_hash`, over title and metadata, which can change while the text stays."""
    if title is None and not metadata:
        return _hash_of_nothing()
    stored = dict(metadata)
    if not (set(map(type, stored)) <= {str} and set(map(type, stored.values())) <= _PLAIN):
        stored = json.loads(_ANYTHING.encode(stored))  # as it is read back: a key 1 is "1", a date is a text
    return text_hash(_SORTED.encode([title, stored]))


@cache
def _hash_of_nothing() -> str:
    """Of most records: encoding it takes longer than comparing their texts."""
    return text_hash(_SORTED.encode([None, {}]))


def storable(texts: Iterable[str]) -> list[str]:
    """Those of some names that a store may have: one that is no text, or has an unpaired surrogate, is not stored."""
    return [text for text in texts if isinstance(text, str) and not _SURROGATE.search(text)]


def packed_marks(marks: Iterable[Mark]) -> str:
    """Marks as JSON, from which Mark(*each) makes them again."""
    return to_json([[one.start, one.page, one.heading, *([True] if one.furniture else [])] for one in marks])


def stable_id(uri: str, position: int, text: str) -> str:
    """An identity for a passage that is the same in every store, unlike its row id."""
    return hashlib.sha256(f"{uri}\0{position}\0{text}".encode()).hexdigest()[:32]


def to_json(value: object) -> str:
    """JSON that SQLite reads too. Raises Unreadable for values that JSON cannot represent (NaN, bytes)."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unreadable(f"it contains a value that JSON cannot represent: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, ValueError) and "float" in str(error):
        return "NaN and infinity are no numbers in JSON: leave the key out"
    if isinstance(error, ValueError) and "digits" in str(error):  # the limit of the interpreter, which is higher
        return LONG_NUMBER
    return str(error)


def _metadata(metadata: Mapping[str, object]) -> str:
    """Metadata as JSON. Raises Unreadable, with the key."""
    if not all(isinstance(key, str) for key in metadata) and len(set(map(str, metadata))) < len(metadata):
        raise Unreadable("two keys of its metadata are the same as text, as 1 and '1' are")
    try:
        encoded = to_json(dict(metadata))
    except Unreadable:
        for key, value in metadata.items():
            try:
                to_json({key: value})
            except Unreadable as error:
                raise Unreadable(f"metadata {key!r}: {error.message}") from error
        raise
    # a run of so many has one at every so many-th place: most metadata need no search
    if any(map(str.isdecimal, encoded[MOST_DIGITS :: MOST_DIGITS + 1])) and _MANY_DIGITS.search(encoded):
        for key, value in metadata.items():
            if has_longer_number(value):
                raise Unreadable(f"metadata {key!r}: {LONG_NUMBER}")
    return encoded


def check_document(document: Document) -> str:
    """The metadata of a document that can be stored exactly, as JSON.

    Raises Unreadable, with the reason, for a document that cannot, and UsageError for a wrong type.
    An unpaired surrogate is no character: UTF-8 has no form for it, and neither SQLite nor a tokenizer takes
    it. NUL and every other character can be stored.
    """
    for name, expected in (*_TYPES, *([("title", str)] if document.title else [])):
        value = getattr(document, name)
        if not isinstance(value, expected):
            raise UsageError(
                f"the {name} of a Document must be a {expected.__name__}, not {type(value).__name__}: {value!r:.60}."
            )
    if not document.id:
        raise Unreadable("its id is empty")
    texts = [document.id, document.text, *(mark.heading or "" for mark in document.marks)]
    texts += [document.title] if document.title else []
    metadata = _metadata(document.metadata) if document.metadata else "{}"
    for text in (*texts, metadata):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Unreadable(f"character {error.start} is an unpaired surrogate: not valid Unicode") from error
    return metadata
