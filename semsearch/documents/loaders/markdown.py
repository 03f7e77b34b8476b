"""Markdown: the text of the file, with headings as marks and the front matter as metadata.

Of YAML, `key: value`, `[a, b]` and "- item" lists are read, and of TOML values and lists. Nested mappings, and
multi-line strings in YAML, are left out of the metadata; their text stays searchable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, time
from functools import cache
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.documents.parsing import front_matter
from semsearch.documents.parsing.charset import read_text, storable_value
from semsearch.documents.parsing.records import Fields, number_or_text
from semsearch.documents.parsing.text_writer import MOST_HEADING, letters
from semsearch.types import Document, Mark, Omission

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

ISOLATED = False
MOST_PARSED = 500_000  # characters; the parser needs up to 10 s and 100 MB for so many, and for more in proportion
MOST_HEADINGS = 100_000
_LINE = re.compile(r"^ {0,3}(?:(?P<level>#{1,6})[ \t]+(?P<heading>[^\n]+)|(?P<fence>`{3,}|~{3,}))", re.M)
MOST_RAW = 4 * MOST_HEADING  # a heading with its links
_PAIR = re.compile(r"([\w][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.+)$")
_LINK = re.compile(r"!?\[([^\[\]\n]*)\](?:\([^)\n]{0,1000}\)|\[[^\[\]\n]*\])")
_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`")
_CODE_OR_COMMENT = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)|^(?: {4}|\t)[^\n]*$"
    r"|(?<!`)(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\2(?!`)|<!--.*?-->",
    re.M | re.S,
)
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document, titled as in its front matter, else by its first heading of level one."""
    text, note = read_text(path)
    text, comments = _without_comments(text)
    fence, front = front_matter.block(text)
    data = _toml(front) if fence == "+++" else _key_values(front)
    headings = _headings(text, front_matter.end(text))
    title = data.pop("title", None) or next((mark.heading for mark, level in headings if level == 1), None)
    marks = tuple(mark for mark, _ in headings)
    omissions = (Omission("comment", letters(comments)),) if comments else ()
    yield Document(
        "", text, {**data, **note}, None if title is None else str(title), marks, lines=True, omissions=omissions
    )


def _without_comments(text: str) -> tuple[str, str]:
    """The text with its HTML comments replaced by their line ends, except in code; and the comments."""
    comments: list[str] = []

    def kept(part: re.Match[str]) -> str:
        if not part[0].startswith("<!--"):
            return part[0]
        comments.append(part[0])
        return "\n" * part[0].count("\n")

    return _CODE_OR_COMMENT.sub(kept, text) if "<!--" in text else text, "".join(comments)


def _headings(text: str, begin: int) -> list[tuple[Mark, int]]:
    """Every heading from offset `begin` on with its level, without lines of fenced code that begin with `#`."""
    if len(text) > MOST_PARSED:
        return list(islice(_found_by_line(text, begin), MOST_HEADINGS))
    lines = text[begin:].split("\n")
    offsets = list(accumulate((len(line) + 1 for line in lines), initial=begin))
    tokens = _parser().parse("\n".join(lines))
    pairs = pairwise(tokens)
    headings = [(t.map[0], inner.content, int(t.tag[1:])) for t, inner in pairs if t.type == "heading_open" and t.map]
    return [
        (Mark(offsets[line], heading=name), level)
        for line, content, level in headings
        if (name := _plain(content[:MOST_RAW])[:MOST_HEADING])
    ]


def _found_by_line(text: str, begin: int) -> Iterator[tuple[Mark, int]]:
    """The headings that begin with `#`, without those in fenced code."""
    fence = ""
    for line in _LINE.finditer(text, begin):
        if line["fence"] and (not fence or line["fence"].startswith(fence)):
            fence = "" if fence else line["fence"]
        elif line["heading"] and not fence and (name := _plain(_unclosed(line["heading"][:MOST_RAW]))[:MOST_HEADING]):
            yield Mark(line.start(), heading=name), len(line["level"])


def _unclosed(heading: str) -> str:
    """A heading without the `#` that may close its line."""
    heading = heading.rstrip()
    bare = heading.rstrip("#")
    return bare if bare[-1:].isspace() else heading


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # 0.1 s

    return MarkdownIt("commonmark").disable(["inline"])  # block structure is all we need


def _plain(heading: str) -> str:
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", heading)).split())


def _toml(block: str) -> dict[str, object]:
    import tomllib  # 5 ms, and few notes need it

    try:
        read = tomllib.loads(block)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    values = {key: storable_value(_dates_as_text(value)) for key, value in read.items() if not isinstance(value, dict)}
    return {key: value for key, value in values.items() if not (isinstance(value, list) and dict in map(type, value))}


def _dates_as_text(value: object) -> object:
    if isinstance(value, list):
        return [_dates_as_text(one) for one in value]
    return value.isoformat() if isinstance(value, date | time) else value


def _key_values(block: str) -> dict[str, object]:
    data: dict[str, object] = {}
    key = ""
    for line in block.split("\n"):
        if (item := _ITEM.match(line)) and key:
            listed = data.setdefault(key, [])
            if isinstance(listed, list):
                listed.append(_value(item.group(1)))
        elif pair := _PAIR.match(line):
            key, value = pair.group(1), (pair.group(2) or "").strip()
            if value and value[0] not in "|>{&*!":  # neither block strings nor mappings nor anchors
                data[key] = _value(value)
        elif line[:1].strip():
            key = ""
    return data


def _value(text: str) -> object:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.startswith("[") and text.endswith("]"):
        return [_value(part) for part in text[1:-1].split(",") if part.strip()]
    text = text.split(" #", 1)[0].rstrip()
    return _CONSTANTS[text.lower()] if text.lower() in _CONSTANTS else number_or_text(text)
