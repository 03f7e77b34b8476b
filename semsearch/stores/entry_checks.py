"""Checks of documents that are to be stored, and what follows from their text, the same for every store."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from semsearch.errors import SemsearchError
from semsearch.stores.records import Entry, check_document
from semsearch.types import Document, Passage
from semsearch.utils.passage_context import context, identifier_words
from semsearch.utils.vectors import check_storable

_LISTED = re.compile(  # a dotted leader and its page, or an item of a list in Markdown that is a link within the file
    r"(?:\.[ \t]?){4,}[ \t]*[\divxlcIVXLC]{1,5}[ \t]*$|…{2,}[ \t]*\d{1,5}[ \t]*$"
    r"|^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+\[[^\n]{1,200}\]\(#[^)\n]*\)[ \t]*$",
    re.M,
)


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
    """The positions of the passages that stand last in every answer: its loader says so, or they list pages."""
    marks = document.marks
    starts = [mark.start for mark in marks] if any(mark.furniture for mark in marks) else []
    return [
        position
        for position, part in enumerate(passages)
        if ((at := bisect_right(starts, part.start)) and marks[at - 1].furniture) or _lists_pages(part.text)
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
