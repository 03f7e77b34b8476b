"""Plain text and source code, line by line.

The character set is detected; the metadata has `charset` where it was guessed and `replaced` where bytes were lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from semsearch.documents.parsing.charset import read_text
from semsearch.documents.parsing.records import Fields
from semsearch.types import Document

ISOLATED = False


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document without a title, whose lines are those of the file."""
    text, note = read_text(path)
    yield Document(id="", text=text, metadata=note, lines=True)
