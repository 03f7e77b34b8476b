"""Single documents out of a store, for tests: its own calls answer for many at once."""

from __future__ import annotations

from collections.abc import Iterable

from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import DocumentRow
from semsearch.types import Document


def full_document(reader: StoreReader, uri: str) -> Document | None:
    """The document exactly as it was stored, or None."""
    return next(iter(reader.full_documents([uri])), None)


def rows(reader: StoreReader, uris: Iterable[str]) -> dict[str, DocumentRow]:
    """These documents without their texts, by id; unknown ones are left out."""
    return {row.uri: row for row in reader.document_rows(list(uris))}


def titles(reader: StoreReader) -> list[tuple[str, str | None]]:
    """Id and title of every document, by id."""
    return [(row.uri, row.title) for row in reader.document_rows()]


def counts(reader: StoreReader) -> dict[str, object]:
    """Numbers of documents, passages, and vectors by space."""
    state = reader.state()
    return {"documents": state.documents, "passages": state.passages, "vectors": state.vectors}


def version(reader: StoreReader) -> int:
    """What every commit raises."""
    with reader.snapshot() as found:
        return found
