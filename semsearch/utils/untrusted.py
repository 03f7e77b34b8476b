"""Texts of others, made harmless: for terminals and pages, whose display some characters change, and for spreadsheets.

Documents, file names and records come from anywhere; in a report they are cut to a length that it can show.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from semsearch.types import Skipped

T = TypeVar("T")
# C0 and C1 controls, line and paragraph separators, and what reverses the direction of text
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_BREAK = re.compile(r"\r\n|[\r\f\v]")  # a page break of a PDF is one
_IN_LINES = re.compile(r"(?![\t\n])" + CONTROLS.pattern)
MOST_LETTERS = 300
MOST_LETTERS_OF_PATH = 4096  # no file has a longer one, but a record's id is in it
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def escaped(text: str) -> str:
    r"""`text` with every control character as \x1b or \u202e, tabs and line breaks too.

    >>> print(escaped("a\nb\x1b"))
    a\x0ab\x1b
    """
    return CONTROLS.sub(_escape, text)


def visible(text: str) -> str:
    r"""`text` with its lines (each break as \n), spaces and tabs; other control characters as \x1b or \u202e.

    >>> print(visible("two\n  lines, \x1b[31mred"))
    two
      lines, \x1b[31mred
    """
    return _IN_LINES.sub(_escape, _BREAK.sub("\n", text))


def cell(value: T) -> T | str:
    """A cell that no spreadsheet takes for a formula: a text that could be one begins with an apostrophe.

    >>> cell("=1+1"), cell(-0.5), cell("plain")
    ("'=1+1", -0.5, 'plain')
    """
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(FORMULA) else value


def one_line(text: str, most: int = MOST_LETTERS) -> str:
    """`text` with its white space as single spaces, cut after `most` characters.

    >>> one_line("a page\\nloop"), one_line("a b c d e", 5)
    ('a page loop', 'a b …')
    """
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 2].rstrip()} …"


def shortened(skipped: Skipped) -> Skipped:
    """The same, with a path and a reason of sensible lengths."""
    path = skipped.path if len(skipped.path) <= MOST_LETTERS_OF_PATH else f"{skipped.path[:MOST_LETTERS_OF_PATH]} …"
    return replace(skipped, path=path, reason=one_line(skipped.reason))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
