"""What goes into the store and comes out of it, and the hashes by which a change is told from none."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch.errors import Unreadable
from semsearch.types import Document, Passage

if TYPE_CHECKING:
    from semsearch.types import Vectors

FLOAT16 = np.dtype("<f2")  # half the room; the order of cosines changes beyond the third decimal only
COMPRESSION = 6
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ANYTHING = json.JSONEncoder(default=str)
# Letters of scripts written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) and of Korean, which glues
# particles to its words; inside a regular expression's [ ]. Passages that have one get a row in passages_cjk.
CJK = (
    "\u0e01-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read. Several documents may come from one. `path` is relative to `root`."""

    root: str
    path: str
    mtime_ns: int
    size: int
    sha256: str
    loader: str
    id: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """A document to store: its source (or None), its passages, and a vector (n, dim) for each of them."""

    document: Document
    source: int | None
    passages: Sequence[Passage]
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class Space:
    """The vectors of one encoder. `background`: quantiles of the cosine of unrelated pairs, () when not measured.

    `background_count` is how many vectors there were when it was measured.
    """

    id: int
    fingerprint: str
    name: str
    dim: int
    info: dict[str, Any]
    background: tuple[float, ...]
    background_count: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """What tells whether a stored document differs from the one at hand: hashes of its text and its metadata."""

    id: int
    uri: str
    sha256: str
    meta_sha256: str
    source: int | None


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage with what is shown of it. `root` and `path` are its source's; None without one."""

    id: int
    document: str
    start: int
    end: int
    text: str
    page: int | None
    line: int | None
    heading: str | None
    metadata: dict[str, Any]
    title: str | None
    root: str | None
    path: str | None


@dataclass(frozen=True, slots=True)
class CacheRow:
    """A vector index on disk that was built from the store up to passage `highest_id`."""

    id: int
    space: int
    file: str
    bytes: int
    sha256: str
    highest_id: int
    count: int
    spec: str
    faiss_version: str
    why: str


def text_hash(text: str) -> str:
    """SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def meta_hash(title: str | None, metadata: Mapping[str, Any]) -> str:
    """Over title and metadata: what can change while the text stays."""
    kept = json.loads(_ANYTHING.encode(dict(metadata))) if metadata else {}  # as it comes back: with 1 for a key, "1"
    return text_hash(json.dumps([title, kept], sort_keys=True, ensure_ascii=False))


def identity(uri: str, position: int, text: str) -> str:
    """A name for a passage that is the same on every machine, unlike its row id."""
    return hashlib.sha256(f"{uri}\0{position}\0{text}".encode()).hexdigest()[:32]


def passage_crc(row_id: int, document: int, start: int, end: int, text: str) -> int:
    """CRC-32 of a text and of whose it is, so that the right text in a wrong place does not pass either."""
    return zlib.crc32(text.encode(), zlib.crc32(f"{row_id} {document} {start} {end}".encode()))


def vector_crc(row_id: int, blob: bytes) -> int:
    """CRC-32 of a vector's bytes, begun with its passage's id."""
    return zlib.crc32(blob, row_id & 0xFFFFFFFF)


def pack(text: str) -> bytes:
    """A text in its compressed form."""
    return zlib.compress(text.encode(), COMPRESSION)


def unpack(body: bytes) -> str:
    """The text out of its compressed form. Raises ValueError where it is damaged."""
    try:
        return zlib.decompress(body).decode()
    except (zlib.error, TypeError) as error:
        raise ValueError(str(error)) from error


def to_json(value: Any) -> str:
    """JSON that SQLite reads too. Raises Unreadable for what JSON cannot say (dates, NaN, bytes)."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unreadable(f"it contains a value that JSON cannot represent: {error}") from error


def check_document(document: Document) -> None:
    """Raise Unreadable, with the reason, for a document that the store cannot keep exactly.

    Half a surrogate pair is no character: UTF-8 has no form for it, and neither SQLite nor a tokenizer takes
    it. NUL and every other character are kept.
    """
    if not document.id:
        raise Unreadable("its id is empty")
    metadata = to_json(dict(document.metadata))
    headings = [mark.heading or "" for mark in document.marks]
    for text in (document.id, document.text, document.title or "", metadata, *headings):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Unreadable(f"character {error.start} is half a surrogate pair: not valid Unicode") from error
