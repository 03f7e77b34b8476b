"""HTML to a tree of elements: lxml where it is installed, else a small reader of our own.

html.parser is no choice: on Python 3.11 ten thousand unfinished tags, 30 KB, take it 14 s (quadratic time).
Ours is linear, but knows less about repairing broken pages than libxml2.
"""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]*)([^<>]*)>")
_ATTRIBUTE = re.compile(r"([a-zA-Z][\w:-]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
_RAW = {"script", "style", "textarea", "title", "noscript"}  # no tags inside
_ENDING_PARAGRAPHS = "div ul ol dl table pre h1 h2 h3 h4 h5 h6 p section article blockquote form"
_CLOSES = {  # a start tag that ends an open one of the same kind: their end tags may be left out
    "li": {"li"},
    "dt": {"dt", "dd"},
    "dd": {"dt", "dd"},
    "tr": {"tr", "td", "th"},
    "td": {"td", "th"},
    "th": {"td", "th"},
    "option": {"option"},
} | {tag: {"p"} for tag in _ENDING_PARAGRAPHS.split()}
_DECLARATION = re.compile(r"<[!?][^<>]*>")
_MAX_DEPTH = 250  # as libxml2


def tree(page: str) -> Any:
    """The root of `page` with the interface of ElementTree: tag, attrib, text, tail, children."""
    try:
        from lxml import etree
        from lxml import html as lxml_html
    except ImportError:
        return own_tree(page)
    parser = lxml_html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return lxml_html.document_fromstring(page.encode("utf-8"), parser=parser)
    except etree.ParserError:  # nothing in it
        return Element("html")


def own_tree(page: str) -> Element:
    """The tree without lxml: end tags that may be left out are supplied, stray ones ignored."""
    page = _without_comments(page)
    builder = TreeBuilder()
    builder.start("html", {})
    open_tags: list[str] = []
    at = 0
    while found := _TAG.search(page, at):
        builder.data(html.unescape(page[at : found.start()]))
        at = found.end()
        closing, tag = found.group(1), found.group(2).lower()
        if closing:
            _end(tag, open_tags, builder)
        elif tag != "html":
            _start(tag, found.group(3), open_tags, builder)
            if tag in _RAW:
                end = re.compile(f"</{tag}", re.I).search(page, at)
                builder.data(html.unescape(page[at : end.start() if end else len(page)]))
                at = end.start() if end else len(page)
    builder.data(html.unescape(page[at:]))
    for tag in [*reversed(open_tags), "html"]:
        builder.end(tag)
    return builder.close()


def _start(tag: str, attributes: str, open_tags: list[str], builder: TreeBuilder) -> None:
    if open_tags and open_tags[-1] in _CLOSES.get(tag, ()):
        builder.end(open_tags.pop())
    if len(open_tags) >= _MAX_DEPTH:
        return
    builder.start(tag, {name.lower(): html.unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(attributes)})
    if tag in _VOID or attributes.endswith("/"):
        builder.end(tag)
    else:
        open_tags.append(tag)


def _end(tag: str, open_tags: list[str], builder: TreeBuilder) -> None:
    if tag in open_tags:
        while (last := open_tags.pop()) != tag:
            builder.end(last)
        builder.end(tag)


def _without_comments(page: str) -> str:
    """`page` without comments, declarations and CDATA brackets; an unfinished comment ends the page."""
    parts = []
    at = 0
    while (start := page.find("<!--", at)) >= 0:
        parts.append(page[at:start])
        end = page.find("-->", start + 4)
        at = len(page) if end < 0 else end + 3
    return _DECLARATION.sub("", "".join(parts) + page[at:])
