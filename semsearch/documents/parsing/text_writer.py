"""The writer of a document's text: blocks one after the other, with marks where headings and pages begin."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from semsearch.documents.parsing.charset import storable
from semsearch.types import Document, Mark, Metadata, Omission

MOST_HEADING = 300  # characters: every passage below it is stored with its heading
MOST_PROPERTY = 2000  # characters of a description
PROPERTIES = ("workbook", "subject", "description", "keywords", "properties")
"""The names in metadata of what a file says about its text; the last one has those that people have named."""
_CODE = re.compile(r"[0-9A-F]{8}-[0-9A-F]{4}-|0x[0-9A-F]{16}|\b[0-9A-F]{32}\b", re.I)  # that a program has written
_WORD = re.compile(r"\w+")
_CUT = re.compile(r"\w*\s*(?:\.\.\.|…)$")  # the end of a description that a generator has taken from the text
_NUMBERS = re.compile(r"\d+")
ADDRESS = re.compile(r'\bHYPERLINK\s+"([^"]*)"')  # beyond the file, in a field of Word or RTF


class TextWriter:
    """Blocks are separated by blank lines, where the splitter ends a sentence."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._marks: list[Mark] = []
        self._page: int | None = None
        self._heading: str | None = None
        self._title: str | None = None
        self._furniture = self._marked = False  # whether what comes is furniture, and what the last mark says
        self._omitted: Counter[str] = Counter()

    def block(self, text: str, *, gap: str = "\n\n") -> None:
        """Add `text`, separated by `gap` from the text before it."""
        text = storable(text.strip("\n").rstrip())
        if not text.strip():
            return
        if self._length:
            self._add(gap)
        if self._furniture != self._marked:
            self._mark(0)
        self._add(text)

    def heading(self, text: str, level: int = 1) -> None:
        """Add a heading as a block of its own; it is the heading of all text up to the next one."""
        text = storable(" ".join(text.split()))
        if text:
            self._heading = text[:MOST_HEADING].rstrip()
            self._title = self._title or (self._heading if level == 1 else None)
            self._mark(len("\n\n") if self._length else 0)
            self.block(text)

    def page(self, number: int, text: str) -> None:
        """Add a page, in the line after the one before: sentences continue across pages."""
        self._page = number
        self._mark(len("\n") if self._length else 0)
        self.block(text, gap="\n")

    def new_page(self, number: int, under: str | None = None) -> None:
        """What follows is page `number`, as of slides and cells, and belongs to the heading `under` until the next."""
        self._page, self._heading = number, under
        self._mark(len("\n\n") if self._length else 0)

    def furniture(self, begins: bool) -> None:
        """What follows is furniture, such as a list of links, or it is no more."""
        self._furniture = begins

    @property
    def last_heading(self) -> str | None:
        """The heading of what was written last."""
        return self._heading

    def new_part(self) -> None:
        """What follows belongs to no page and no heading, as the header of all pages does."""
        self._page = self._heading = None
        if self._marks:
            self._mark(len("\n\n") if self._length else 0)

    def page_texts(self, texts: Iterable[str]) -> None:
        """Add what stands on many pages, such as headers, as a new part: each once, whatever the number of its page."""
        self.new_part()
        for name, text in {_NUMBERS.sub("", text): text for text in texts}.items():
            if name.strip():
                self.block(text)

    def remark(self, author: str, text: str) -> None:
        """Add what somebody has written about the text, in brackets, so that it is not taken for the text itself."""
        if text.strip():
            self.block(remark(author, text.strip()))

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Add a table, a line for each row, with the white space in its cells normalised."""
        self.block("\n".join(" | ".join(" ".join(cell.split()) for cell in row) for row in rows))

    def omit(self, kind: str, text: str | None = None) -> None:
        """Count `text`, which is left out of the document on purpose, as of this kind; None: a thing without one."""
        if text is None or (text and not text.isspace()):
            self._omitted[kind] += letters(text or "")

    def omit_all(self, omissions: Iterable[Omission]) -> None:
        """Count what was left out of a part that was written elsewhere."""
        self._omitted.update({each.kind: each.letters for each in omissions})

    @property
    def omissions(self) -> tuple[Omission, ...]:
        """What was left out, each kind once, in the order of their first places."""
        return tuple(map(Omission._make, self._omitted.items()))

    def document(self, title: str | None, metadata: Metadata) -> Document:
        """The document of a whole file. Without a title, its first heading of level one is the title."""
        text, marks = self.finish()
        return described(Document("", text, metadata, title or self._title, marks, omissions=self.omissions))

    def finish(self) -> tuple[str, tuple[Mark, ...]]:
        """The text, and its marks sorted by start; of several at one place the last one counts."""
        text = "".join(self._parts)
        at_start = {mark.start: mark for mark in self._marks if mark.start < max(len(text), 1)}
        return text, tuple(at_start.values())

    def _mark(self, ahead: int) -> None:
        self._marked = self._furniture
        self._marks.append(Mark(self._length + ahead, self._page, self._heading, self._furniture))

    def _add(self, piece: str) -> None:
        self._parts.append(piece)
        self._length += len(piece)


def described(document: Document) -> Document:
    """The document with those of its PROPERTIES that have words of their own behind its text, as furniture.

    A document without text has none by them either: they are counted.
    """
    texts = [text for name in PROPERTIES if (text := _property(document.metadata.get(name, "")))]
    if not texts:
        return document
    if not document.text.strip():
        omission = Omission("description", letters(" ".join(texts)))
        return replace(document, omissions=(*document.omissions, omission))
    words = {text: _words(_CUT.sub("", text)) for text in texts}
    said = f"{document.title} {document.text}".casefold()
    repeated = [text for text in words if all(word in said for word in words[text])]
    there = _words(said) if repeated else set()
    added = "\n\n".join(text for text in words if text not in repeated or not words[text] <= there)
    if not added:
        return document
    mark = Mark(len(document.text) + 2, furniture=True)
    return replace(document, text=f"{document.text}\n\n{added}", marks=(*document.marks, mark))


def _property(value: object) -> str:
    """A property as a line of text; of several with names those that are for people."""
    if isinstance(value, Mapping):
        named = (f"{name}: {inner}" for name, inner in value.items())
        return "; ".join(each for each in named if not _CODE.search(each))
    return " ".join(str(value).split())


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def on_one_line(text: str | None, most: int = MOST_HEADING) -> str:
    """A property of a file, which it may not have, with its first `most` characters."""
    return storable(" ".join((text or "").split())[:most])


def remark(author: str, text: str) -> str:
    """What somebody, "" for nobody known, has written about a text."""
    return f"[{author}: {text}]" if author else f"[{text}]"


def letters(text: str) -> int:
    """The number of characters that are not white space.

    >>> letters("a b\\n c")
    3
    """
    return sum(map(len, text.split()))
