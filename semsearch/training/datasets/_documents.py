"""Texts of documents: sentences, or passages of about the length that an index has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from semsearch.chunking.sentences import sentences
from semsearch.chunking.splitter import Splitter, passages
from semsearch.documents import loaders, walk
from semsearch.documents.loaders import text as plain
from semsearch.errors import Unreadable, UsageError
from semsearch.training.datasets.dataset import SkipCounts
from semsearch.types import Document, Skipped
from semsearch.utils.writing_systems import EAST_ASIAN

Granularity = Literal["sentences", "passages"]
PASSAGE = Splitter(size=128)  # words: about 192 tokens of English, as in an index
MIN_LETTERS = 8  # of a sentence: shorter ones are list numbers, rules between paragraphs, single words
_WORD = re.compile(rf"[{EAST_ASIAN}]|[^\W_]+")
_LINES = (".txt", ".text", "")  # corpora with one text per line


def is_document(path: Path) -> bool:
    """Whether a file is read as `index` does; otherwise it has one text per line. Raises Unreadable."""
    suffix = path.suffix.lower()
    return loaders.loader_for(path) != "text" or (suffix in plain.SUFFIXES and suffix not in _LINES)


def texts(root: Path, granularity: Granularity, skipped: SkipCounts, *, yes: bool = False) -> Iterator[tuple[str, str]]:
    """(path, text) of all that `index` would read at `root`. Raises GuardRail for a whole disk, unless `yes`."""
    walk.guard(root, None, yes=yes)
    for found in walk.files(root, walk.Rules()):
        if isinstance(found, Skipped):
            skipped.add(found.reason, found.path)
            continue
        try:
            for document in loaders.load(found.path):
                if isinstance(document, Skipped):
                    skipped.add(document.reason, document.path)
                else:
                    yield from ((found.relative, text) for text in split(document, granularity))
        except (Unreadable, UsageError) as error:
            skipped.add(error.message, found.relative)


def split(document: Document, granularity: Granularity) -> Iterator[str]:
    """The sentences of a document, their lines joined, or its passages. Sentences with few letters are left out."""
    if granularity == "passages":
        yield from (passage.text for passage in passages(document, PASSAGE, _words))
        return
    for start, end in sentences(document.text):
        text = " ".join(document.text[start:end].split())
        if sum(map(str.isalnum, text)) >= MIN_LETTERS:
            yield text


def _words(pieces: Sequence[str]) -> list[int]:
    return [len(_WORD.findall(piece)) for piece in pieces]
