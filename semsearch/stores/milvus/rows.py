"""Documents, passages and files as rows, and back.

Keys of documents and ids of passages follow from what they are, so that many writers need no common counter. A passage
id is 63 bits of a SHA-256 over the document's id, position, start and text. Among 10^9 passages two would have the same
one with a probability of 5 %; the writer sees that and takes the next id (`salt`), so no passage takes another's place.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semsearch.stores import machine
from semsearch.stores.milvus import packing
from semsearch.stores.milvus.filtering import facts
from semsearch.stores.records import Bookmark, Entry, Source, StoredPassage, meta_hash, text_hash, to_json
from semsearch.types import Document, JsonObject, Mark, Passage

if TYPE_CHECKING:
    from semsearch.stores.milvus.server.calls import Row
    from semsearch.types import Ids

NO_SOURCE = -1
STAMP = ("number", "source", "sha256", "meta_sha256", "head")
LISTED = ("number", "source", "size", "passages", "head")
_SECOND = 10**9


class Place(NamedTuple):
    """What the documents of a file keep of it."""

    root: str
    path: str
    mtime_ns: int
    loader: str
    machine: str


@dataclass(frozen=True, slots=True)
class Head:
    """What a search needs of a document: all but its text. `ids` are its passages in their order."""

    uri: str
    title: str | None
    metadata: JsonObject
    ids: tuple[int, ...]
    place: Place | None

    @property
    def path(self) -> tuple[str | None, str | None]:
        """Root and path of its file; without a root where the file is on another machine."""
        if self.place is None:
            return None, None
        return self.place.root if self.place.machine == machine.name() else None, self.place.path

    def builtins(self, size: int) -> JsonObject:
        """The fields that every document has, for filters."""
        return {
            "path": self.place.path if self.place else self.uri,
            "document": self.uri,
            "title": self.title,
            "loader": self.place.loader if self.place else None,
            "size": size,
            "mtime": self.place.mtime_ns // _SECOND if self.place else None,
        }


def digest(*parts: object) -> str:
    """32 hexadecimal digits of a hash over some texts: a key."""
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def document_key(uri: str) -> str:
    return digest("document", uri)


def number_of(*parts: object) -> int:
    """63 bits of a hash, above 0."""
    return max(1, int(digest(*parts)[:16], 16) >> 1)


def passage_id(uri: str, position: int, passage: Passage, salt: int = 0) -> int:
    return number_of("passage", uri, position, passage.start, passage.text, *([salt] if salt else []))


def place_key(root: str, path: str) -> str:
    """The key of the place of a file on this machine."""
    return digest("place", machine.name(), root, path)


def source_number(source: Source, salt: int) -> int:
    """The id of a file on this machine."""
    return number_of("source", machine.name(), source.root, source.path, salt)


def place_of(source: Source | None) -> Place | None:
    """What the documents of a file of this machine keep of it."""
    return Place(source.root, source.path, source.mtime_ns, source.loader, machine.name()) if source else None


# ---- documents


def document_row(entry: Entry, source: Source | None, number: int, ids: Sequence[int]) -> tuple[Row, dict[str, str]]:
    """The row of a document, and the parts of its long values."""
    document = entry.document
    head = head_for(document, source, ids)
    marks = [[mark.start, mark.page, mark.heading] for mark in document.marks]
    key = document_key(document.id)
    body, parts = packing.pack(to_json([document.text, marks, document.lines]), key)
    row: Row = {
        "key": key,
        "number": number,
        "source": source.id if source else NO_SOURCE,
        "size": len(document.text.encode()),
        "passages": len(ids),
        "sha256": text_hash(document.text),
        "body": body,
    }
    return with_head(row, head, parts)


def head_for(document: Document, source: Source | None, ids: Sequence[int]) -> Head:
    """The head of a document that is stored."""
    return Head(document.id, document.title, read_back(document.metadata), tuple(ids), place_of(source))


def read_back(metadata: Mapping[str, object]) -> JsonObject:
    """Metadata as JSON gives them back: the keys are texts, and tuples are lists."""
    found: JsonObject = json.loads(to_json(dict(metadata)))
    return found


def with_head(row: Row, head: Head, parts: Mapping[str, str] | None = None) -> tuple[Row, dict[str, str]]:
    """A row with another head and what follows from it, and all new parts."""
    packed = base64.b64encode(np.array(head.ids, dtype="<i8").tobytes()).decode()
    key = document_key(head.uri)
    text, more = packing.pack(to_json([head.uri, head.title, head.metadata, packed, head.place]), key)
    tokens, known = facts.of(head.metadata, head.builtins(row["size"]))
    changed = {"key": key, "head": text, "tokens": tokens, "facts": known}
    return {**row, **changed, "meta_sha256": meta_hash(head.title, head.metadata)}, {**(parts or {}), **more}


def head_of(row: Row, parts: Mapping[str, str]) -> Head:
    """Raises Corrupt, ValueError, TypeError for a damaged row."""
    uri, title, metadata, packed, place = json.loads(packing.unpack(row["head"], parts))
    ids = tuple(np.frombuffer(base64.b64decode(packed), "<i8").tolist())
    return Head(uri, title, metadata, ids, place and Place(*place))


def document_of(row: Row, head: Head, parts: Mapping[str, str]) -> Document:
    """Raises Corrupt, ValueError, TypeError for a damaged row."""
    text, marks, lines = json.loads(packing.unpack(row["body"], parts))
    return Document(head.uri, text, head.metadata, head.title, tuple(Mark(*mark) for mark in marks), lines)


def is_sound(row: Row, document: Document) -> bool:
    """Whether a document is what was stored."""
    return (row["sha256"], row["meta_sha256"]) == (
        text_hash(document.text),
        meta_hash(document.title, document.metadata),
    )


def listed(row: Row, head: Head) -> JsonObject:
    """The entry of a document in a list."""
    root, path = head.path
    return {
        "id": head.uri,
        "title": head.title,
        "size": row["size"],
        "mtime": head.place.mtime_ns if head.place else None,
        "loader": head.place.loader if head.place else None,
        "root": root,
        "path": path,
        "passages": row["passages"],
        "metadata": head.metadata,
    }


# ---- passages


def passage_row(number: int, position: int, document: str, passage: Passage) -> tuple[Row, dict[str, str]]:
    """The row of a passage without what searches and filters ask, and the parts of a long text."""
    place = [passage.start, passage.end, passage.page, passage.line, passage.heading]
    data, parts = packing.pack(to_json([*place, text_hash(f"{place}\0{passage.text}"), passage.text]), str(number))
    return {"id": number, "document": document, "position": position, "data": data}, parts


def passage_of(row: Row, parts: Mapping[str, str]) -> Passage:
    """Raises Corrupt, ValueError, TypeError for a damaged row."""
    start, end, page, line, heading, sha256, text = json.loads(packing.unpack(row["data"], parts))
    passage = Passage(start, end, text, page, line, heading)
    if sha256 != text_hash(f"{[start, end, page, line, heading]}\0{text}"):
        raise ValueError("its text is not what was stored")
    return passage


def filtered(head: Head, size: int, passage: Passage) -> Row:
    """What filters ask of a passage: its columns."""
    of_passage = {"page": passage.page, "heading": passage.heading}
    tokens, known = facts.of(head.metadata, {**head.builtins(size), **of_passage})
    return {"tokens": tokens, "facts": known}


def stored_passage(number: int, head: Head, passage: Passage) -> StoredPassage:
    return StoredPassage(
        number,
        head.uri,
        passage.start,
        passage.end,
        passage.text,
        passage.page,
        passage.line,
        passage.heading,
        head.metadata,
        head.title,
        *head.path,
    )


def array(ids: Sequence[int]) -> Ids:
    return np.array(ids, dtype=np.int64)


# ---- the rest


def meta_row(kind: str, name: object, value: Any, *, number: int = 0, place: str = "") -> tuple[Row, dict[str, str]]:
    """A row of the collection for all that is neither document nor passage, and the parts of a long value."""
    key = digest(kind, name)
    data, parts = packing.pack(to_json(value), key)
    return {"key": key, "kind": kind, "number": number, "place": place, "data": data}, parts


def part_rows(parts: Mapping[str, str]) -> list[Row]:
    """Rows for the parts of long values."""
    return [{"key": key, "kind": "part", "number": 0, "place": "", "data": piece} for key, piece in parts.items()]


def source_row(source: Source) -> tuple[Row, dict[str, str]]:
    place = place_key(source.root, source.path)
    recorded = {"machine": machine.name(), **asdict(source)}
    return meta_row("source", source.id, recorded, number=source.id, place=place)


def source_of(row: Row, parts: Mapping[str, str]) -> tuple[str, Source]:
    """A file, and the machine that it is on. Raises Corrupt, ValueError, TypeError, KeyError for a damaged row."""
    recorded = json.loads(packing.unpack(row["data"], parts))
    mark, where = recorded.pop("bookmark"), recorded.pop("machine")
    source = Source(**recorded)
    return where, source if mark is None else replace(source, bookmark=Bookmark.from_json(mark))
