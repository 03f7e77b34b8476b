"""A text put together from blocks, with its headings and pages marked where they begin."""

from __future__ import annotations

from semsearch.documents.loaders._decode import storable
from semsearch.types import Mark


class TextWriter:
    """Blocks are parted by blank lines, which the splitter takes for borders."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._marks: list[Mark] = []
        self._page: int | None = None
        self._heading: str | None = None

    def block(self, text: str, *, gap: str = "\n\n") -> None:
        """Add `text`, `gap` after what stands before it."""
        text = storable(text.strip("\n").rstrip())
        if not text.strip():
            return
        if self._length:
            self._add(gap)
        self._add(text)

    def heading(self, text: str) -> None:
        """A heading of its own block; it holds from its first letter on."""
        text = storable(" ".join(text.split()))
        if text:
            self._heading = text
            self._mark(len("\n\n") if self._length else 0)
            self.block(text)

    def page(self, number: int, text: str) -> None:
        """Add one page. Its text goes on from the last line before: sentences run over pages."""
        self._page = number
        self._mark(len("\n") if self._length else 0)
        self.block(text, gap="\n")

    def finish(self) -> tuple[str, tuple[Mark, ...]]:
        """The text, and its marks sorted by start; of several at one place the last one counts."""
        text = "".join(self._parts)
        at_start = {mark.start: mark for mark in self._marks if mark.start < max(len(text), 1)}
        return text, tuple(at_start.values())

    def _mark(self, ahead: int) -> None:
        self._marks.append(Mark(self._length + ahead, self._page, self._heading))

    def _add(self, piece: str) -> None:
        self._parts.append(piece)
        self._length += len(piece)
