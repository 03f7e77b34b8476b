"""Reasons for skipping something, cut to a length that a report can show."""

from __future__ import annotations

from dataclasses import replace

from semsearch.types import Skipped

MOST_LETTERS = 300
MOST_LETTERS_OF_PATH = 4096  # no file has a longer one, but a record's id is in it


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
