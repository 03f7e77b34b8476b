"""Plain text and source code, line by line.

The character set is detected; the metadata has `charset` where it was guessed and `replaced` where bytes were lost.
Words are made whole: lines that a calendar or an address book has folded, and letters that JSON has escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from semsearch.documents.parsing.charset import read_text, storable
from semsearch.documents.parsing.records import Fields
from semsearch.types import Document

ISOLATED = False
_FOLDING = (".ics", ".ifb", ".vcf", ".ldif")  # RFC 5545, 6350, 2849
_ESCAPING = (".json", ".geojson", ".json5", ".webmanifest", ".properties")
_FOLDED = re.compile(r"(?:\n[ \t][^\n]*)+")
_ESCAPED = re.compile(r"\\(?:\\|((?:u[0-9a-fA-F]{4})(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?))")


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document without a title, whose lines are those of the file."""
    text, note = read_text(path)
    suffix = path.suffix.lower()
    if suffix in _FOLDING:
        text = _FOLDED.sub(_unfolded, text)
    elif suffix in _ESCAPING and "\\u" in text:
        text = storable(_ESCAPED.sub(_letters, text))
    yield Document(id="", text=text, metadata=note, lines=True)


def _unfolded(lines: re.Match[str]) -> str:
    """The ends of a line, with as many line ends behind them."""
    ends = lines[0].split("\n")
    return "".join(end[1:] for end in ends) + "\n" * (len(ends) - 1)


def _letters(escaped: re.Match[str]) -> str:
    """The letters, unless they are signs of JSON, or its line ends."""
    if not escaped[1]:
        return escaped[0]
    units = b"".join(bytes.fromhex(code) for code in escaped[1].replace("\\", "").split("u")[1:])
    letters = units.decode("utf-16-be", "replace")
    return letters if letters.isprintable() and letters not in '"\\' and "\ufffd" not in letters else escaped[0]
