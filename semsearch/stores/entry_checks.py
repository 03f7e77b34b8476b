"""Checks of documents that are to be stored, and what follows from their text, the same for every store."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from semsearch.documents.parsing import front_matter
from semsearch.documents.parsing.json_size import MOST_NESTED, MOST_VALUES, has_too_many_values, is_nested_deeper
from semsearch.errors import SemsearchError, Unreadable
from semsearch.stores.records import Entry, check_document
from semsearch.types import Document, Passage
from semsearch.utils.passage_context import context, identifier_words
from semsearch.utils.vectors import check_storable

_LISTED = re.compile(  # a dotted leader and its page, or an item of a list in Markdown that is a link within the file
    r"(?:\.[ \t]?){4,}[ \t]*[\divxlcIVXLC]{1,5}[ \t]*$|…{2,}[ \t]*\d{1,5}[ \t]*$"
    r"|^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+\[[^\n]{1,200}\]\(#[^)\n]*\)[ \t]*$",
    re.M,
)
# what a document that is stored may have, so that every interface can answer with it
LONGEST_ID = 4096  # characters
LONGEST_TEXT = 2**26  # characters
LONGEST_METADATA = 2**20  # bytes of JSON, with the title


def check_new(document: Document, *, new_id: bool) -> str:
    """The metadata of a document that may be stored, as JSON: the one definition for all interfaces and all stores.

    new_id: no document has its id, and no file gave it. Raises Unreadable, with the reason, and UsageError for a wrong
    type.
    """
    metadata = check_document(document)
    if reason := unanswerable(document, metadata, new_id=new_id):
        raise Unreadable(reason)
    return metadata


def unanswerable(document: Document, metadata: str, *, new_id: bool) -> str:
    """Why a document may not be stored, though a store can take it; "" where it may. `metadata` is its JSON."""
    if len(document.id) > LONGEST_ID:
        return f"its id has {len(document.id):,} characters; {LONGEST_ID:,} is the most"
    if new_id and not document.id.isprintable() and (control := _control_character(document.id)):
        return f"its id has the control character {control}"
    if len(document.text) > LONGEST_TEXT:
        return f"its text has {len(document.text):,} characters; {LONGEST_TEXT:,} is the most"
    if 4 * (len(metadata) + len(document.title or "")) > LONGEST_METADATA:  # a character takes four bytes at most
        size = len(metadata.encode()) + len((document.title or "").encode())
        if size > LONGEST_METADATA:
            return f"its title and metadata take {size / 2**20:.1f} MB; {LONGEST_METADATA >> 20} MB is the most"
    if len(metadata) > MOST_VALUES and has_too_many_values(metadata.encode()):
        return f"its metadata have more than {MOST_VALUES:,} values"
    if metadata.count("{") + metadata.count("[") > MOST_NESTED and is_nested_deeper(document.metadata):
        return f"its metadata are nested more than {MOST_NESTED} deep"
    return ""


def _control_character(text: str) -> str:
    return next((f"U+{ord(one):04X}" for one in text if unicodedata.category(one) == "Cc"), "")


def checked(entry: Entry, dim: int) -> Entry:
    """The entry, if all of it can be stored. Raises Unreadable, SemsearchError."""
    check_document(entry.document)
    rows = check_storable(entry.vectors, len(entry.passages), dim, what=entry.document.id)
    for passage in entry.passages:
        in_document = passage.start >= 0 and entry.document.text[passage.start : passage.end] == passage.text
        if not in_document or passage.end - passage.start != len(passage.text):
            raise SemsearchError(f"{entry.document.id}: the passage at {passage.start} is not a slice of its document.")
    return replace(entry, vectors=rows)


def furniture(document: Document, passages: Sequence[Passage]) -> list[int]:
    """The positions of the passages that stand last in every answer: its loader says so, or they list pages, or have
    nothing but front matter.
    """
    marks, behind = document.marks, front_matter.end(document.text)
    starts = [mark.start for mark in marks] if any(mark.furniture for mark in marks) else []
    return [
        position
        for position, part in enumerate(passages)
        if ((at := bisect_right(starts, part.start)) and marks[at - 1].furniture)
        or part.end <= behind
        or _lists_pages(part.text)
    ]


def _lists_pages(text: str) -> bool:
    """Whether it is a table of contents with dotted leaders, or one of links in Markdown.

    >>> _lists_pages("1 Pumps ........ 7\\n2 Valves . . . . . 12\\n3 Index ....... iv"), _lists_pages("Wait ... what?")
    (True, False)
    """
    if not any(sign in text for sign in ("...", ". . .", "…", "](#")):
        return False
    lines = sum(not line.isspace() for line in text.splitlines() if line)
    return 2 * len(_LISTED.findall(text)) > lines > 2


def keywords(document: Document, passage: Passage) -> str:
    """What a passage is found by beside its own words."""
    return "\n".join(part for part in (context(document, passage), identifier_words(passage.text)) if part)
