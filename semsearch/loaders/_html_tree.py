"""HTML to a tree of elements, in linear time and without a dependency.

Why our own: html.parser of Python 3.11 is quadratic (30 KB of unfinished tags take it 14 s). lxml gives the same
text on all 262 English pages of the httpd manual, and on those with the end tags of their paragraphs, items and
cells removed; it is no faster here (most of the time goes into choosing what to keep) and weighs 12 MB.
trafilatura 2.3 loses the headings of that manual, takes 0.8 s to import and brings 60 MB.
Not covered: the rules of HTML5 for misnested inline tags and for tags outside of their table.
"""

from __future__ import annotations

import html
import re
from xml.etree.ElementTree import Element, TreeBuilder

_QUOTED = r"\"[^\"]{0,1000}\"|'[^']{0,1000}'"  # bounded: a quote left open must not be looked for to the end each time
_TAG = re.compile(rf"<(/?)([a-zA-Z][a-zA-Z0-9:-]*)((?:[^<>\"']|{_QUOTED})*+|[^<>]*)>")
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


def tree(page: str) -> Element:
    """The root of `page`. End tags that may be left out are supplied, stray ones ignored."""
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
                end = _end_of_raw(tag, page, at)
                builder.data(html.unescape(page[at:end]))
                at = end
    builder.data(html.unescape(page[at:]))
    for tag in [*reversed(open_tags), "html"]:
        builder.end(tag)
    return builder.close()


def _end_of_raw(tag: str, page: str, at: int) -> int:
    """Where the end tag begins; without one a script is the rest of the page, a title is nothing."""
    found = re.compile(f"</{tag}", re.I).search(page, at)
    if found:
        return found.start()
    return len(page) if tag in ("script", "style") else at


def _start(tag: str, attributes: str, open_tags: list[str], builder: TreeBuilder) -> None:
    while open_tags and open_tags[-1] in _CLOSES.get(tag, ()):
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
