"""What a passage is about beyond its own words: title and heading of its place, and the words inside its identifiers.

A passage from the middle of a document seldom repeats what the document is about. So title and heading are embedded
with it, and found by its words like its text. Identifiers such as MaxRequestWorkers or getElementById are one word to a
tokenizer; their parts are words to search for too. (In snake_case and --long-flags the tokenizer finds the parts.)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semsearch.types import Document, Passage

LONGEST = 160  # characters of title and heading together, some 40 tokens beside a passage of 192
MOST_IDENTIFIERS = 100  # of a passage; beyond, it is a list of names
_IDENTIFIER = re.compile(r"\b(?=\w*(?:[a-z0-9][A-Z]|[A-Z][A-Z][a-z]))[A-Za-z][A-Za-z0-9]{3,60}\b")
_CASES = bytes(65 if chr(one).isupper() else 97 if chr(one).isalnum() else 32 for one in range(128)) + b" " * 128
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def context(document: Document, passage: Passage) -> str:
    """Title and heading, as far as they are not in the passage's text.

    >>> from semsearch.types import Document, Passage
    >>> context(Document("kettle.md", "Fill it.", title="Kettles"), Passage(0, 8, "Fill it.", heading="First use"))
    'Kettles > First use'
    """
    text = " ".join(passage.text.split()).casefold()
    names = dict.fromkeys(" ".join(name.split()) for name in (document.title, passage.heading) if name)
    return " > ".join(name for name in names if name.casefold() not in text)[:LONGEST].rstrip()


def embedded(document: Document, passage: Passage, *, with_context: bool = True) -> str:
    """The text that is embedded for a passage: its context as first paragraph, unless the index is without."""
    before = context(document, passage) if with_context else ""
    return f"{before}\n\n{passage.text}" if before else passage.text


def identifier_words(text: str) -> str:
    """The parts of identifiers in mixed case, each identifier once.

    >>> identifier_words("Raise MaxRequestWorkers; HTTPServer and getElementById.")
    'Max Request Workers HTTP Server get Element By Id'
    """
    cases = text.encode("ascii", "replace").translate(_CASES)
    if b"aA" not in cases and b"AAa" not in cases:
        return ""  # four times as fast as to find nothing with the expression
    names = list(dict.fromkeys(_IDENTIFIER.findall(text)))[:MOST_IDENTIFIERS]
    return " ".join(" ".join(_PART.findall(name)) for name in names)
