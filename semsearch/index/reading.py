"""What an index gives of its documents and passages: as JSON, page by page, and their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from semsearch.errors import NotFound
from semsearch.utils.arguments import whole_number
from semsearch.utils.late_numpy import np
from semsearch.utils.vectors import LARGEST_ID, row_ids

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.stores.protocol import StoreReader
    from semsearch.stores.records import Space, StoredPassage
    from semsearch.types import Document, JsonObject, Vectors


def pages(reader: StoreReader, condition: Filter | None, size: int) -> Iterator[list[JsonObject]]:
    """The documents that pass the filter, by id, each page of one moment."""
    after = ""
    while True:
        with reader.snapshot():
            names = reader.document_ids(condition, after=after, limit=size)
            page = list(map(document, reader.full_documents(names)))
        if not page:
            return
        yield page
        after = page[-1]["document"]


def last_of_page(limit: int | None, offset: int) -> int:
    """How many documents a page and those before it have; -1 for all.

    Raises UsageError for a limit or an offset that is no number of documents.
    """
    whole_number("offset", offset, least=0)
    if limit is None:
        return -1
    whole_number("limit", limit, least=0)
    return min(offset + limit, LARGEST_ID)  # more than a store can have


def matching(reader: StoreReader, condition: Filter | None, words: Sequence[str]) -> list[str]:
    """The ids of the documents that pass the filter and have each of `words`, in any case, in their id or title."""
    with reader.snapshot():
        titles = [(row.uri, row.title) for row in reader.document_rows()]
        if condition is not None:
            allowed = set(reader.document_ids(condition))
            titles = [each for each in titles if each[0] in allowed]
    folded = [word.casefold() for word in words]
    texts = ((uri, f"{uri} {title or ''}".casefold()) for uri, title in titles)
    return [uri for uri, text in texts if all(word in text for word in folded)]


def document(stored: Document) -> JsonObject:
    """A document as `Index.get` gives it."""
    return {"document": stored.id, "title": stored.title, "text": stored.text, "metadata": dict(stored.metadata)}


def passage(stored: StoredPassage) -> JsonObject:
    """A passage, and its place in its document."""
    names = ("id", "document", "start", "end", "line", "page", "heading", "title", "text", "metadata")
    return {name: getattr(stored, name) for name in names}


def vectors(reader: StoreReader, space: Space, ids: Sequence[int]) -> Vectors:
    """The unit vectors (n, d) of n passages, in the order of their ids. Raises NotFound."""
    rows = {
        passage: row
        for numbers, piece in reader.vectors(space.id, ids=row_ids(sorted(set(ids))))
        for passage, row in zip(numbers.tolist(), piece, strict=True)
    }
    if missing := [one for one in ids if one not in rows]:
        raise NotFound(f"index {reader.name} has no vector of passage {missing[0]}.", "Use the ids of hits.")
    return np.stack([rows[one] for one in ids]) if ids else np.empty((0, space.dim), np.float32)
