"""The content of an HTML page without its menus, forms, asides and footers, and its text block by block: paragraphs,
list items, rows of tables, code verbatim.

The page is parsed by lxml, which repairs invalid markup. Not by html.parser: that of Python 3.11 is quadratic (30 KB of
unfinished tags take 14 s). Not by trafilatura 2.3: it loses most headings of the httpd manual, takes 0.8 s to import
and needs 60 MB.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

from semsearch.documents.parsing.charset import newlines
from semsearch.documents.parsing.text_writer import TextWriter

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_NEVER = {"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "audio", "video", "head"}
_NEVER |= {"button", "select", "textarea", "datalist", "dialog"}
_ASIDE = {"nav", "footer", "aside", "form", "menu", "header"}
_ASIDE_ROLES = {"navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar", "dialog", "alert"}
_BOXES = {"div", "section", "ul", "ol", "dl", "p", "table", "td", "span"}  # elements that lay a page out
_ASIDE_NAME = re.compile(
    r"(?:^|[-_ ])(?:(?:page|site|global|main|top|sub|side)?-?_?(?:nav|navbar|navigation|menu|footer|header|sidebar)"
    r"|bread-?crumbs?|toc|table-of-contents|cookies?|consent|share|sharing|social|related-posts|newsletter|subscribe"
    r"|advert|ads|banner|popup|modal|skip-?link|pagination|pager|toplang|bottomlang|lang(?:uage)?-(?:switch(?:er)?|menu|select(?:or)?)|quickview)"
    r"(?:$|[-_ ])",
    re.I,
)
KINDS = {"script": "script", "style": "style"}
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_LETTER = re.compile(r"[^\W_]")
_ANCHORS = {"¶", "#", "§", "🔗"}  # the text of links from a heading to itself
HALF = 0.5
MOST_ATTRIBUTES = 1000
_LONG_TAG = re.compile(r"<([a-zA-Z][\w:-]*)[^<>]{5000,}")

_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_BLOCK_TAGS = """
    address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure
    footer form header hgroup hr html legend li main menu nav ol p pre section summary table tbody tfoot thead tr ul
"""
_BLOCKS = _HEADINGS | set(_BLOCK_TAGS.split())
_ROWS = {"tr", "table", "caption"}
_CLOSE_TO_THE_LAST = {"li", "tr", "dd", "figcaption"}
_LAYOUT = {*_HEADINGS, "table", "pre", "ul", "ol", "dl"}  # a table that contains one of these is there for layout
_SPACES = re.compile(r"\s+")
_SPACES_IN_LINE = re.compile(r"[^\S\n]+")
_AROUND_BREAK = re.compile(r" ?\n[ \n]*")


def tree(page: str) -> Element:
    """The <html> element of a page, without comments; for an empty page, an empty one."""
    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, recover=True, huge_tree=True
    )
    page = _LONG_TAG.sub(_with_few_attributes, page.replace("\0", " "))
    root = etree.fromstring(page.encode("utf-8", "replace"), parser) if page.strip() else None
    if any(entry.type_name == "ERR_NO_MEMORY" for entry in parser.error_log):
        raise MemoryError  # what was read so far is not the page
    return etree.Element("html") if root is None else root


def _with_few_attributes(tag: re.Match[str]) -> str:
    """The tag without its attributes if it has more than any page needs: the parser compares each with all others."""
    return f"<{tag[1]} " if tag[0].count("=") > MOST_ATTRIBUTES or len(tag[0].split()) > MOST_ATTRIBUTES else tag[0]


class Content:
    """The content of one page: the element `root`, and `dropped`, the elements below it to leave out."""

    def __init__(self, root: Element) -> None:
        body = root.find("body")
        self.root = root if body is None else body
        self._sizes = _Sizes(self.root)
        self.dropped = {e for e in self._sizes.elements if e.tag in _NEVER or _is_hidden(e) or _is_anchor(e)}
        whole = self._sizes.letters[self.root]
        self.dropped |= {e for e in self._sizes.elements if self._sizes.letters[e] < HALF * whole and self._is_aside(e)}
        self.root = self._main(whole)

    def _main(self, whole: int) -> Element:
        """<main>, or the only <article>, if it has a quarter of the text."""
        for kind in ("main", "article"):
            matching = [e for e in self._sizes.elements if e.tag == kind or e.get("role") == kind]
            if len(matching) == 1 and self._sizes.letters[matching[0]] >= HALF * HALF * whole:
                return matching[0]
        return self.root

    def _is_aside(self, element: Element) -> bool:
        if element.tag == "header":
            return not any(True for _ in element.iter("h1"))
        if element.tag in _ASIDE or element.get("role") in _ASIDE_ROLES:
            return True
        names = f"{element.get('id') or ''} {element.get('class') or ''}"
        if element.tag in _BOXES and _ASIDE_NAME.search(names):
            return True
        return element.tag in ("p", "div") and self._sizes.is_link_bar(element)


class _Sizes:
    """The number of letters, and of letters in links, below each element. One pass, without recursion."""

    def __init__(self, root: Element) -> None:
        self.elements = [e for e in root.iter() if isinstance(e.tag, str)]
        parents = {child: element for element in self.elements for child in element}
        self.letters: dict[Element, int] = dict.fromkeys(self.elements, 0)
        self._linked: dict[Element, int] = dict.fromkeys(self.elements, 0)
        self._links: dict[Element, int] = dict.fromkeys(self.elements, 0)
        for element in reversed(self.elements):
            if element.tag not in _NEVER:
                self.letters[element] += _letters(element.text)
            if element.tag == "a":
                self._links[element], self._linked[element] = 1, self.letters[element]
            parent = parents.get(element)
            if parent is not None:
                self.letters[parent] += self.letters[element] + _letters(element.tail)
                self._linked[parent] += self._linked[element]
                self._links[parent] += self._links[element]

    def is_link_bar(self, element: Element) -> bool:
        """Whether it has several links and no other letters: "Home > Docs > Version 2"."""
        return self._links[element] > 1 and self._linked[element] == self.letters[element]


def _letters(text: str | None) -> int:
    return len(_LETTER.findall(text)) if text else 0


def _is_hidden(element: Element) -> bool:
    return (
        element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or _HIDDEN.search(element.get("style") or "") is not None
    )


def _is_anchor(element: Element) -> bool:
    return element.tag == "a" and (element.text or "").strip() in _ANCHORS and not len(element)


def text_of(content: Content, writer: TextWriter | None = None) -> TextWriter:
    """`writer`, or a new one, with the text and the headings of a page."""
    page = _Page(writer or TextWriter())
    stack = [("open", "", content.root)]  # no recursion: an element may be nested a thousand deep
    while stack:
        event, text, element = stack.pop()
        if event == "text":
            page.text(text)
        elif event == "end":
            page.end(element.tag)
        elif element in content.dropped:
            page.writer.omit(KINDS.get(element.tag, "navigation"), "".join(element.itertext()))
        elif isinstance(element.tag, str):
            page.start(element)
            stack.append(("end", "", element))
            for child in reversed(element):
                stack += [("text", child.tail or "", child), ("open", "", child)]
            page.text(element.text or "")
    page.flush()
    return page.writer


class _Page:
    """Collects text until a block ends, then passes the block to the writer."""

    def __init__(self, writer: TextWriter) -> None:
        self.writer = writer
        self._buffer: list[str] = []
        self._gap = "\n\n"
        self._has_text = self._first_row = False
        self._verbatim = 0
        self._tables: list[bool] = []  # whether each open table is one of data

    def start(self, element: Element) -> None:
        tag = element.tag
        if tag == "br":
            self._buffer.append("\n")
        elif tag == "table":
            self.flush()
            self._first_row = True
            self._tables.append(not any(e.tag in _LAYOUT for e in element.iter() if e is not element))
        elif tag in ("td", "th"):
            self._start_cell()
        elif self._is_block(tag):
            self.flush()
            self._verbatim += tag == "pre"
            if not self._buffer:  # the first block of an item continues its line
                self._gap = "\n" if tag in _CLOSE_TO_THE_LAST and not self._first_row else "\n\n"
                self._first_row = self._first_row and tag != "tr"
                self._buffer += ["- "] * (tag == "li")

    def end(self, tag: str) -> None:
        if tag in _HEADINGS and self._is_block(tag):
            heading, self._buffer = "".join(self._buffer), []
            self.writer.heading(heading.removeprefix("- "), int(tag[1:]))
        elif self._is_block(tag):
            self.flush()
            self._verbatim -= tag == "pre"
        if tag == "table":
            self._tables.pop()

    def text(self, text: str) -> None:
        if text:
            self._buffer.append(newlines(text) if self._verbatim else _SPACES.sub(" ", text))
            self._has_text = self._has_text or not text.isspace()

    def flush(self) -> None:
        block = "".join(self._buffer)
        if block.rstrip() == "-" and not self._verbatim:  # <li><p>: the paragraph belongs to the item
            self._buffer = ["- "]
            return
        self._buffer, self._has_text = [], False
        if not self._verbatim:
            block = _AROUND_BREAK.sub("\n", _SPACES_IN_LINE.sub(" ", block)).strip()
        if block.strip(" \n-|"):
            self.writer.block(block, gap=self._gap)
            self._gap = "\n\n"

    def _start_cell(self) -> None:
        if not (self._tables and self._tables[-1]):
            self.flush()
        elif self._has_text:
            self._buffer.append(" | ")

    def _is_block(self, tag: str) -> bool:
        """Within a table of data only rows are blocks: a paragraph in a cell stays in its row."""
        return tag in (_ROWS if self._tables and self._tables[-1] else _BLOCKS)
