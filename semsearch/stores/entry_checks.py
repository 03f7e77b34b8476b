"""Checks of documents that are to be stored, and what follows from their text, the same for every store."""

from __future__ import annotations

from dataclasses import replace

from semsearch.errors import SemsearchError
from semsearch.stores.records import Entry, check_document
from semsearch.types import Document, Passage
from semsearch.utils.passage_context import context, identifier_words
from semsearch.utils.vectors import check_storable


def checked(entry: Entry, dim: int) -> Entry:
    """The entry, if all of it can be stored. Raises Unreadable, SemsearchError."""
    check_document(entry.document)
    rows = check_storable(entry.vectors, len(entry.passages), dim, what=entry.document.id)
    for passage in entry.passages:
        in_document = passage.start >= 0 and entry.document.text[passage.start : passage.end] == passage.text
        if not in_document or passage.end - passage.start != len(passage.text):
            raise SemsearchError(f"{entry.document.id}: the passage at {passage.start} is not a slice of its document.")
    return replace(entry, vectors=rows)


def keywords(document: Document, passage: Passage) -> str:
    """What a passage is found by beside its own words."""
    return "\n".join(part for part in (context(document, passage), identifier_words(passage.text)) if part)
