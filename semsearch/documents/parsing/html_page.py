"""The content of an HTML page without its menus, scripts, headers and footers, which are counted, and its text block by
block: paragraphs, list items, rows of tables, code verbatim.

The page is parsed by lxml, which repairs invalid markup. Not by html.parser: that of Python 3.11 is quadratic (30 KB of
unfinished tags take 14 s). Not by trafilatura 2.3: it loses most headings of the httpd manual, takes 0.8 s to import
and needs 60 MB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lxml import etree

from semsearch.documents.parsing.charset import newlines
from semsearch.documents.parsing.text_writer import TextWriter

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

HEAD = "head"  # no part of the text, and not counted
_NEVER = {"script": "script", "style": "style", "noscript": "noscript", "template": "template", "head": HEAD}
_NEVER |= dict.fromkeys(("svg", "map"), "picture")
_NEVER |= dict.fromkeys(("iframe", "object", "canvas", "audio", "video"), "embedded object")
_NEVER |= dict.fromkeys(("annotation", "annotation-xml"), "source of a formula")
_NEVER |= dict.fromkeys(("select", "textarea", "datalist"), "form control")
_SAID = {  # attributes with a text that is no part of the page's
    "title": "tooltip",
    "summary": "summary of a table",
    "abbr": "summary of a table",
    "alt": "picture",
    "srcdoc": "embedded object",
    "alttext": "source of a formula",
    "content": "structured data",
    **dict.fromkeys(("value", "placeholder", "label"), "form control"),
}
_VALUED = {"input", "option", "param"}  # of others it is a number
_SILENT = " and ".join(f"name() != '{name}'" for name in ("href", "class", "id", "src", "style"))
_ATTRIBUTES = etree.XPath(f"descendant-or-self::*/@*[{_SILENT}]")
_STYLED = re.compile(r"""\bcontent\s*:\s*(["'])(.*?)\1""", re.S)  # of a style sheet: what it adds to elements
_ESCAPED = re.compile(r"\\[0-9a-fA-F]{1,6}\s?")  # a sign or a picture
_ARIA = re.compile(r"aria-(?:label|description|placeholder|roledescription|valuetext|braillelabel)")
_DATA = re.compile(r"title|tip|hint|text|label|caption|content|message|placeholder|alt")  # in the names of data-…
_SPACED = re.compile(r"[^\W\d_]\S*\s+\S*[^\W\d_]")
_MENU_ROLES = {"navigation", "menu", "menubar"}
_CONTENT = {"main", "article"}
_SECTIONS = {*_CONTENT, "section", "aside", "blockquote", "figure", "details", "fieldset", "td"}
_PAGE_PARTS = {"header": "header", "footer": "footer", "banner": "header", "contentinfo": "footer"}
_PAGE_PARTS |= dict.fromkeys(("dialog", "alertdialog"), "dialog")
_BOXES = {"div", "section", "ul", "ol", "table"}  # elements that lay a page out
_FURNITURE = {  # the words that a class consists of, outside of what is content for sure
    "navigation": r"nav|navbar|navigation|menu|sidebar|bread-?crumbs?|toc|table-of-contents|pagination|pager|skip-?link"
    r"|toplang|bottomlang|lang(?:uage)?-(?:switch(?:er)?|menu|select(?:or)?)|quickview",
    "header": "header",
    "footer": "footer",
    "cookie banner": "cookies?|consent",
    "advertisement": "advert|ads|banner|popup|modal|share|sharing|social|related-posts|newsletter|subscribe",
}
_CLASSES = {
    kind: re.compile(rf"(?:^|[-_ ])(?:(?:page|site|global|main|top|sub|side)?-?_?(?:{words}))(?:$|[-_ ])", re.I)
    for kind, words in _FURNITURE.items()
}
_HEADED = {"div", "section", "aside"}
_LISTS = {"div", "section", "nav", "p", "ul", "ol", "dl", "table", "aside", "footer"}
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_SWITCHED = re.compile(
    r"(?:^|[\s_-])(?:tab-?panel|tab-?pane|tab-?content|panel|answer|spoiler|disclosure"
    r"|(?:collaps|accordion|toggl|expand|foldab|folded)[a-z]*)(?:$|[\s_-])",
    re.I,
)
_NOTES = re.compile(r"(?:^|[-_ ])(?:foot|end)-?notes?(?:$|[-_ ])", re.I)
_NOTE_NUMBER = re.compile(r"\s*(?:\d{1,3}|[*†‡]{1,3})\s*")
_LETTERS = re.compile(r"[^\W_]+")
_ABBREVIATIONS = {"abbr", "acronym"}
_ANCHORS = {"¶", "#", "§", "🔗"}  # the text of links from a heading to itself
_SOFT_HYPHEN = "\u00ad"  # where a word may be divided
HALF = 0.5
MOSTLY = 0.8
SHORT = 200  # letters: what is around the content and longer than this may be content after all
LEAST_PROSE = 16  # letters of a header, a footer or a box beside the content that may say something
LEAST_LIST = 100  # letters of a list of links; with shorter ones apart, the httpd manual has a seventh more passages
LONGEST_LINK = 120  # letters: a longer one is a teaser
MOST_ATTRIBUTES = 1000
_NOFRAMES = re.compile(r"</?noframes\b[^>]*>", re.I)  # what it holds would be raw text
_LONG_TAG = re.compile(r"<([a-zA-Z][\w:-]*+)[^<>]{5000,}")

_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_BLOCK_TAGS = """
    address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure
    footer form header hgroup hr html legend li main menu nav ol p pre section summary table tbody tfoot thead tr ul
"""
_BLOCKS = _HEADINGS | set(_BLOCK_TAGS.split())
_ROWS = {"tr", "table", "caption"}
_CLOSE_TO_THE_LAST = {"li", "tr", "dd", "figcaption"}
_LAYOUT = {*_HEADINGS, "table", "pre", "ul", "ol", "dl"}  # a table that contains one of these is there for layout
_BREAK = "\0"  # stands for <br>, and never in a page, until a block is whole
_AROUND_BREAK = re.compile(r" ?\0[ \0]*")


def tree(page: str) -> Element:
    """The <html> element of a page; for an empty page, an empty one."""
    parser = etree.HTMLParser(encoding="utf-8", remove_pis=True, no_network=True, recover=True, huge_tree=True)
    page = _LONG_TAG.sub(_with_few_attributes, _NOFRAMES.sub("", page.replace("\0", " ")))
    root = etree.fromstring(page.encode("utf-8", "replace"), parser) if page.strip() else None
    if any(entry.type_name == "ERR_NO_MEMORY" for entry in parser.error_log):
        raise MemoryError  # what was read so far is not the page
    return etree.Element("html") if root is None else root


def _with_few_attributes(tag: re.Match[str]) -> str:
    """The tag without its attributes if it has more than any page needs: the parser compares each with all others."""
    return f"<{tag[1]} " if tag[0].count("=") > MOST_ATTRIBUTES or len(tag[0].split()) > MOST_ATTRIBUTES else tag[0]


class Content:
    """The content of one page: the element `root`, from which `comments` are taken out; `dropped`, the elements below
    it to leave out, each by its kind; and `furniture`, those that lead elsewhere: lists of links, as of contents,
    neighbours, or a whole site.

    Within `main` and `article` only menus and what nobody sees is left out. Elsewhere, a box with a heading of its own
    is content, whatever it is called. Ids leave nothing out, as generators make them of headings; a short box without a
    heading is furniture if its id says footer.
    """

    def __init__(self, root: Element) -> None:
        body = root.find("body")
        self.root = root if body is None else body
        self._styles = [style.text or "" for style in root.iterfind("head/style")]
        comments = [comment.text or "" for comment in root.getroottree().xpath("//comment()")]
        self.comments = [text for text in comments if not text.startswith("?")]  # that begins an XML declaration
        etree.strip_tags(root, etree.Comment)
        self._sizes = _Sizes(self.root)
        self._switched = _switched(self._sizes.elements)
        self._main = self._find_main()
        above = set() if self._main is None else set(self._main.iterancestors())
        whole = self._sizes.letters[self.root]
        self.dropped: dict[Element, str] = {}
        self.furniture: set[Element] = set()
        below: set[Element] = set()
        sure: set[Element] = set()  # and all that is below them, as in the next two
        sections: set[Element] = set()
        openers: set[Element] = set()
        for element in self._sizes.elements:
            parent = element.getparent()
            if parent in self.dropped:
                self.dropped[element] = self.dropped[parent]
                continue
            if parent in sure or element.tag in _CONTENT or element.get("role") in _CONTENT:
                sure.add(element)
            if parent in sections or element.tag in _SECTIONS:
                sections.add(element)
            if parent in openers or _is_opener(element):
                openers.add(element)
            kind = self._unseen(element, opens=element in openers)
            if not kind and self._sizes.letters[element] < HALF * whole:
                kind = self._menu(element)
                if not kind and element not in sure and element not in above:
                    kind = self._furniture(element, is_part=parent not in sections, is_outside=parent in above)
            if kind:
                self.dropped[element] = kind
            elif parent in below:
                below.add(element)
                self.furniture.discard(element)
            elif (
                element in self.furniture
                or self._is_list_of_links(element, whole)
                or (element not in sure and self._leads_on(element, whole))
            ):
                self.furniture.add(element)
                below.add(element)

    def said(self) -> Iterator[tuple[str, str]]:
        """The texts in attributes, each with its kind, but for what abbreviations stand for; and those that a style in
        the head adds.
        """
        yield from (("style", _ESCAPED.sub("", text)) for style in self._styles for _, text in _STYLED.findall(style))
        for value in _ATTRIBUTES(self.root):
            name = value.attrname
            if name.startswith("data-"):
                if _DATA.search(name) or _SPACED.search(value):
                    yield "text for scripts", value
            elif name.startswith("aria-"):
                if _ARIA.fullmatch(name):
                    yield "label for screen readers", value
            elif kind := _SAID.get(name):
                element = value.getparent()
                if (name != "value" or element.tag in _VALUED) and not self._is_meaning(element):
                    yield kind, value

    def _is_meaning(self, element: Element) -> bool:
        return element.tag in _ABBREVIATIONS and element not in self.dropped

    def _find_main(self) -> Element | None:
        """<main>, or the only <article>, if it has a quarter of the text."""
        for kind in ("main", "article"):
            matching = [e for e in self._sizes.elements if e.tag == kind or e.get("role") == kind]
            if len(matching) == 1 and self._sizes.letters[matching[0]] >= HALF * HALF * self._sizes.letters[self.root]:
                return matching[0]
        return None

    def _unseen(self, element: Element, *, opens: bool) -> str:
        """The kind of an element that is no text, or that the page never shows; "" for any other.

        opens: the text of a button is a heading, of a tab or of an answer that it shows.
        """
        tag = element.tag
        if tag == "script" and "json" in (element.get("type") or ""):
            return "structured data"
        if tag in _NEVER and element.get("shadowrootmode") is None:
            return _NEVER[tag]
        if tag == "button" and not opens:
            return "form control"
        if _is_hidden(element) and not self._is_switched(element) and not self._is_most(element):
            return "hidden text"
        return "permalink" if _is_anchor(element) else ""

    def _menu(self, element: Element) -> str:
        """The kind of a box that says itself that it is a menu or a search form, and has no text of its own."""
        role = element.get("role") or ""
        if element.tag in ("nav", "menu") or role in _MENU_ROLES:
            return "" if self._is_text(element) else "navigation"
        return "search form" if role == "search" or element.tag == "search" else ""

    def _furniture(self, element: Element, *, is_part: bool, is_outside: bool) -> str:
        """The kind of a box around the content. is_part: of the page, not of a section; is_outside: beside <main>."""
        if self._is_text(element):
            return ""
        part = _PAGE_PARTS.get(element.tag) or _PAGE_PARTS.get(element.get("role") or "")
        named = (part if is_part else "") or self._kind_of_class(element)
        is_site_map = self._sizes.has_heading(element) and self._sizes.is_mostly_links(self.root)
        if not named and element.tag in ("p", "div") and self._sizes.is_link_bar(element) and not is_site_map:
            return "navigation"
        leads = self._sizes.is_mostly_links(element)
        if not named and is_outside and not _is_aside(element) and (leads or self._sizes.letters[element] < SHORT):
            named = "text beside the main part"
        if named and (leads or not self._says_something(element, named)):
            return named
        if named or self._is_footer_by_id(element):  # found, but after the content
            self.furniture.add(element)
        return ""

    def _is_footer_by_id(self, element: Element) -> bool:
        name = element.get("id")
        if not name or element.tag not in _BOXES or not _CLASSES["footer"].search(name):
            return False
        return self._sizes.letters[element] < SHORT and not self._sizes.has_heading(element)

    def _says_something(self, element: Element, kind: str) -> bool:
        """Whether it is longer than what the same box has on most pages, or a statement, as of opening hours."""
        letters = self._sizes.letters[element]
        is_statement = (
            kind not in ("cookie banner", "dialog") and letters >= LEAST_PROSE and not self._sizes.has_links(element)
        )
        return letters >= SHORT or is_statement

    def _kind_of_class(self, element: Element) -> str:
        classes = element.get("class")
        if not classes or element.tag not in _BOXES:
            return ""
        return next((kind for kind, pattern in _CLASSES.items() if pattern.search(classes)), "")

    def _is_text(self, element: Element) -> bool:
        """Whether it has a heading of its own, and more text than links."""
        return self._sizes.has_heading(element) and not self._sizes.is_mostly_links(element)

    def _is_list_of_links(self, element: Element, whole: int) -> bool:
        """Whether it is one that a reader would not miss; a short one among the content stays with what is around."""
        is_large = self._sizes.letters[element] >= min(LEAST_LIST, HALF * whole)
        return is_large and element.tag in _LISTS and self._sizes.is_link_bar(element)

    def _leads_on(self, element: Element, whole: int) -> bool:
        """Whether it is a small box of links below a heading: "You may also like"."""
        is_small = self._sizes.letters[element] < min(SHORT, HALF * whole)
        return is_small and element.tag in _HEADED and self._sizes.is_links_below_heading(element)

    def _is_most(self, element: Element) -> bool:
        """Whether it has most of the letters of the page, and so what the page is for: a script will show it."""
        return self._sizes.letters[element] > HALF * self._sizes.letters[self.root]

    def _is_switched(self, element: Element) -> bool:
        """Whether the reader can show it: as a tab panel, an answer below its question, a place found in the page."""
        return (
            (element.get("hidden") or "").lower() == "until-found"
            or element.get("role") == "tabpanel"
            or _SWITCHED.search(element.get("class") or "") is not None
            or element.get("id") in self._switched
        )


def _switched(elements: list[Element]) -> set[str]:
    """The ids of what a control of the page, such as a tab, shows and hides."""
    ids = {name for e in elements if (names := e.get("aria-controls")) for name in names.split()}
    tabs = {(e.get("href") or "").removeprefix("#") for e in elements if e.tag == "a" and e.get("role") == "tab"}
    return ids | tabs - {""}


class _Sizes:
    """The number of letters, and of letters in links, below each element. One pass, without recursion."""

    def __init__(self, root: Element) -> None:
        self.elements = [e for e in root.iter() if isinstance(e.tag, str)]
        self.letters: dict[Element, int] = dict.fromkeys(self.elements, 0)
        self._linked: dict[Element, int] = dict.fromkeys(self.elements, 0)
        self._links: dict[Element, int] = dict.fromkeys(self.elements, 0)
        self._headed: set[Element] = set()
        for element in reversed(self.elements):
            if element.tag not in _NEVER:
                self.letters[element] += _letters(element.text)
            if element.tag in _HEADINGS or element.get("role") == "heading":
                self._headed.add(element)
            is_link = element.tag == "a" and element.get("href") is not None
            if is_link and self.letters[element] <= LONGEST_LINK and element not in self._headed:
                self._links[element], self._linked[element] = 1, self.letters[element]
            if element is not root:
                parent = element.getparent()
                if element in self._headed:
                    self._headed.add(parent)
                self.letters[parent] += self.letters[element] + _letters(element.tail)
                self._linked[parent] += self._linked[element]
                self._links[parent] += self._links[element]

    def has_heading(self, element: Element) -> bool:
        """Whether it is a heading, or has one below it."""
        return element in self._headed

    def is_mostly_links(self, element: Element) -> bool:
        """Whether more of its letters are in links than elsewhere."""
        return self._linked[element] > HALF * self.letters[element]

    def has_links(self, element: Element) -> bool:
        """Whether it has several links."""
        return self._links[element] > 1

    def is_links_below_heading(self, element: Element) -> bool:
        """Whether it has hardly any letters but headings and links, and links that are no headings."""
        if element not in self._headed or not self._links[element]:
            return False
        headings = list(element.iter(*_HEADINGS))
        letters = self.letters[element] - sum(self.letters[each] for each in headings)
        linked = self._linked[element] - sum(self._linked[each] for each in headings)
        return linked > 0 and linked >= MOSTLY * letters

    def is_link_bar(self, element: Element) -> bool:
        """Whether it has several links and hardly any other letters: "Home > Docs > Version 2"."""
        return self._links[element] > 1 and self._linked[element] >= MOSTLY * self.letters[element]


def _letters(text: str | None) -> int:
    return sum(map(len, _LETTERS.findall(text))) if text and not text.isspace() else 0


def _is_hidden(element: Element) -> bool:
    return (
        element.get("hidden") is not None
        or (element.tag == "dialog" and element.get("open") is None)
        or element.get("aria-hidden") == "true"
        or _HIDDEN.search(element.get("style") or "") is not None
    )


def _is_aside(element: Element) -> bool:
    """Whether it stands beside the content and belongs to it: an aside, or footnotes."""
    role = element.get("role") or ""
    is_note = role.startswith("doc-") or _NOTES.search(element.get("class") or "") is not None
    return element.tag == "aside" or role in ("complementary", "note") or is_note


def _is_opener(element: Element) -> bool:
    return (
        element.tag in _HEADINGS
        or element.tag in ("summary", "dt")
        or element.get("role") in ("tab", "heading")
        or element.get("aria-expanded") is not None
    )


def _is_anchor(element: Element) -> bool:
    return element.tag == "a" and (element.text or "").strip() in _ANCHORS and not len(element)


def text_of(content: Content, writer: TextWriter | None = None) -> TextWriter:
    """`writer`, or a new one, with the text and the headings of a page."""
    page = _Page(writer or TextWriter())
    for comment in content.comments:
        page.writer.omit("comment", comment)
    for kind, said in content.said():
        page.writer.omit(kind, said)
    stack = [("open", "", content.root)]  # no recursion: an element may be nested a thousand deep
    while stack:
        event, text, element = stack.pop()
        if event == "text":
            page.text(text)
        elif event == "end":
            page.end(element.tag)
            if element in content.furniture:
                page.furniture(begins=False)
        elif element in content.dropped:
            kind, text = content.dropped[element], "".join(element.itertext()).strip()
            if text and kind != HEAD:
                page.writer.omit(kind, text)
        elif isinstance(element.tag, str):
            if element in content.furniture:
                page.furniture(begins=True)
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
        self._brackets: list[tuple[str, str]] = []  # around each open reading
        self._meaning = ""  # of the open abbreviation
        self._meanings: set[str] = set()  # that were written
        self._tables: list[bool] = []  # whether each open table is one of data

    def start(self, element: Element) -> None:
        tag = element.tag
        if tag in _ABBREVIATIONS:  # what it stands for follows it once
            self._meaning = element.get("title", "")
            self._meaning = "" if self._meaning in self._meanings else self._meaning
            self._meanings.add(self._meaning)
        elif tag == "img" and element.get("alt") is None:
            self.writer.omit("picture")
        elif tag == "rt":  # a reading, which browsers show above the word
            self._brackets.append(
                ("", "") if element.getnext() is not None and element.getnext().tag == "rp" else ("(", ")")
            )
            self._buffer.append(self._brackets[-1][0])
        elif tag == "a" and "#" in element.get("href", "") and _NOTE_NUMBER.fullmatch("".join(element.itertext())):
            self._buffer.append(" ")  # or it would be a part of the word before
        elif tag == "br":
            self._buffer.append(_BREAK)
        elif tag == "button":  # a tab stands beside another one
            self._buffer.append(" ")
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
        if tag in _ABBREVIATIONS and self._meaning:
            self._buffer.append(f" ({self._meaning})")
            self._meaning = ""
        if tag == "button":
            self._buffer.append(" ")
        elif tag == "rt":
            self._buffer.append(self._brackets.pop()[1])
        elif tag in _HEADINGS and self._is_block(tag):
            heading, self._buffer = "".join(self._buffer).replace(_BREAK, " "), []
            self.writer.heading(heading.removeprefix("- "), int(tag[1:]))
        elif self._is_block(tag):
            self.flush()
            self._verbatim -= tag == "pre"
        if tag == "table":
            self._tables.pop()

    def text(self, text: str) -> None:
        if text := text.replace(_SOFT_HYPHEN, ""):
            self._buffer.append(text)
            self._has_text = self._has_text or not text.isspace()

    def furniture(self, *, begins: bool) -> None:
        """What follows is furniture, or no more; a row of data stays whole."""
        if not (self._tables and self._tables[-1]):
            self.flush()
            self.writer.furniture(begins)

    def flush(self) -> None:
        block = "".join(self._buffer)
        if self._verbatim:
            block = newlines(block).replace(_BREAK, "\n")
        else:
            block = " ".join(block.split())
            if _BREAK in block:
                block = _AROUND_BREAK.sub("\n", block).strip()
        if block == "-" and not self._verbatim:  # <li><p>: the paragraph belongs to the item
            self._buffer = ["- "]
            return
        self._buffer, self._has_text = [], False
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
