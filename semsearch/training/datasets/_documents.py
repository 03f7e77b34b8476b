"""Documents to texts: sentences, or passages of about as many words as an index would cut."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from semsearch.chunking.sentences import sentences
from semsearch.chunking.splitter import Splitter, passages
from semsearch.documents import loaders, walk
from semsearch.documents.loaders import text as plain
from semsearch.errors import Unreadable, UsageError
from semsearch.training.datasets._tally import Tally
from semsearch.types import Document, Skipped
from semsearch.utils.writing_systems import EAST_ASIAN

Unit = Literal["sentences", "passages"]
PASSAGE = Splitter(size=128)  # words: about 192 tokens of English, the passages that `index` makes
FEWEST_LETTERS = 8  # of a sentence: less is a number of a list, a rule between paragraphs, a word alone
_WORD = re.compile(rf"[{EAST_ASIAN}]|[^\W_]+")
_LINES = (".txt", ".text", "")  # of these a file has a text a line, as corpora are handed out


def is_document(path: Path) -> bool:
    """Whether a file is read as `index` reads it; else it has one text a line. Raises Unreadable."""
    suffix = path.suffix.lower()
    return loaders.loader_for(path) != "text" or (suffix in plain.SUFFIXES and suffix not in _LINES)


def texts(root: Path, unit: Unit, tally: Tally, *, yes: bool = False) -> Iterator[tuple[str, str]]:
    """(place, text) of all that `index` would read at `root`. Raises GuardRail for a whole disk, unless `yes`."""
    walk.guard(root, None, yes=yes)
    for found in walk.files(root, walk.Rules()):
        if isinstance(found, Skipped):
            tally.skip(found.reason, found.path)
            continue
        try:
            for document in loaders.load(found.path):
                if isinstance(document, Skipped):
                    tally.skip(document.reason, document.path)
                else:
                    yield from ((found.relative, text) for text in cut(document, unit))
        except (Unreadable, UsageError) as error:
            tally.skip(error.message, found.relative)


def cut(document: Document, unit: Unit) -> Iterator[str]:
    """The sentences of a document, their lines joined, or its passages. What has hardly a letter is left out."""
    if unit == "passages":
        yield from (passage.text for passage in passages(document, PASSAGE, _words))
        return
    for start, end in sentences(document.text):
        text = " ".join(document.text[start:end].split())
        if sum(map(str.isalnum, text)) >= FEWEST_LETTERS:
            yield text


def parted(whole: Iterable[str], unit: Unit) -> Iterator[str]:
    """Texts as they are, or their sentences."""
    empty = Document("", "")
    for text in whole:
        yield from cut(replace(empty, text=text), unit) if unit == "sentences" else (text,)


def _words(pieces: Sequence[str]) -> list[int]:
    return [len(_WORD.findall(piece)) for piece in pieces]
