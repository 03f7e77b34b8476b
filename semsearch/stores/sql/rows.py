"""Columns and values of the tables that all stores on SQL have alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semsearch.stores.records import HASH, Entry, Source, meta_hash, packed_marks, text_hash, to_json

if TYPE_CHECKING:
    from semsearch.types import JsonObject, Passage

HASHES = f"substr(sha256, 1, {HASH}), substr(meta_sha256, 1, {HASH})"
SPACES = """FROM spaces ORDER BY CASE id WHEN (SELECT CAST(value AS integer) FROM meta WHERE key = 'space')
            THEN 0 ELSE 1 END, id"""  # the current one is first
PASSAGE = 'id, document, position, start, "end", page, line, heading, text'


def document_values(number: int, entry: Entry) -> JsonObject:
    """The values of a row of `documents`, without its text."""
    document = entry.document
    return {
        "id": number,
        "uri": document.id,
        "source": entry.source,
        "sha256": text_hash(document.text),
        "meta_sha256": meta_hash(document.title, document.metadata),
        "size": len(document.text.encode()),
        "lines": document.lines,
        "title": document.title,
        "metadata": to_json(dict(document.metadata)),
        "marks": packed_marks(document.marks),
    }


def passage_values(number: int, document: int, position: int, passage: Passage) -> tuple[object, ...]:
    """The values of the columns `PASSAGE`."""
    place = passage.start, passage.end, passage.page, passage.line, passage.heading
    return number, document, position, *place, passage.text


def source_values(source: Source) -> JsonObject:
    """The values of a row of `sources`, without its notes."""
    names = ("root", "path", "mtime_ns", "size", "sha256", "loader")
    return {name: getattr(source, name) for name in names}


def notes_value(source: Source) -> str | None:
    """The notes of a file as they are stored."""
    return None if (notes := source.notes()) is None else to_json(notes)
