"""Headings and paragraphs of technical documents: Python's enhancement proposals, and the manual of a web server."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from scripts.encoders.texts import Pair
from scripts.shared.places import DATA

FOLDERS = {"peps": "docs_peps_rst", "httpd": "docs_httpd_html"}
PATTERNS = {"peps": "pep-*.rst", "httpd": "*.html*"}
LEAST_WORDS = 25  # of a paragraph


def manuals(without: Collection[Path] = ()) -> Iterator[Pair]:
    """(heading, paragraph) of every file but those `without`."""
    for name in FOLDERS:
        for path in files(name):
            if path not in without:
                yield from paragraphs(path)


def files(name: str) -> list[Path]:
    """The files of a collection of FOLDERS."""
    return sorted((DATA / FOLDERS[name]).rglob(PATTERNS[name]))


def paragraphs(path: Path) -> list[Pair]:
    """The paragraphs of 25 words and more, each with the last shorter line above it, "" for none."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix != ".rst":
        text = html.unescape(re.sub(r"<(script|style).*?</\1>|<[^>]+>", "\n", text))
    heading, sections = "", []
    for block in re.split(r"\n\s*\n", text):
        words = re.sub(r"[=~`*^-]{3,}", " ", block).split()
        if len(words) >= LEAST_WORDS:
            sections.append((heading, " ".join(words)))
        elif words:
            heading = " ".join(words)
    return sections
