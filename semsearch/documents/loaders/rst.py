"""reStructuredText: the text of the file, with section titles as marks and its first fields as metadata.

The fields are a block like the head of an e-mail ("Title: Style Guide", as in PEPs) or a field list (":Author: …").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from semsearch.documents.parsing.charset import read_text
from semsearch.documents.parsing.records import Fields, number_or_text
from semsearch.types import Document, Mark

ISOLATED = False  # one line after the other
_FIELD = re.compile(r":?([A-Za-z][\w-]{0,40}):[ \t]+(\S.*)$")
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")  # a line of one kind of punctuation
_MARKUP = re.compile(r":[\w:]+:(?=`)|[`*|]")


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document, titled by its field "Title", else by its section title above all others."""
    text, note = read_text(path)
    data = _leading_fields(text)
    title = next((str(data.pop(key)) for key in list(data) if key.casefold() == "title"), None)
    sections = _sections(text)
    styles = [style for _, _, style in sections]
    if title is None and styles and styles.count(styles[0]) == 1:  # else it is one of several chapters
        title = sections[0][1]
    marks = tuple(Mark(start, heading=name) for start, name, _ in sections)
    yield Document("", text, {**data, **note}, title, marks, lines=True)


def _leading_fields(text: str) -> dict[str, object]:
    """The fields before the first blank line; {} where there is anything else, or one line only."""
    block = text.lstrip("\n").split("\n\n", 1)[0].split("\n")
    lines = [line for line in block if not line[:1].isspace()]  # a field goes on in indented lines, which are left out
    pairs = [_FIELD.match(line) for line in lines]
    fields: dict[str, object] = {pair[1]: number_or_text(pair[2].strip()) for pair in pairs if pair}
    return fields if len(fields) == len(lines) > 1 else {}


def _sections(text: str) -> list[tuple[int, str, str]]:
    """Section titles: offset, name, and style, the character of the underline, twice with a line above."""
    lines = text.split("\n")
    offsets = list(accumulate((len(line) + 1 for line in lines), initial=0))
    sections: list[tuple[int, str, str]] = []
    for at in range(1, len(lines)):
        name, under = lines[at - 1].strip(), lines[at]
        if not _ADORNMENT.match(under) or not name or _ADORNMENT.match(name) or len(under.rstrip()) < len(name):
            continue
        above = lines[at - 2] if at > 1 else ""
        framed = above.rstrip() == under.rstrip()
        if framed or not (above.strip() or lines[at - 1][:1].isspace()):
            title = " ".join(_MARKUP.sub("", name).split())
            sections.append((offsets[at - 1 - framed], title, under[0] * (1 + framed)))
    return sections
