"""Texts of a sample of what is indexed, and the share of them in languages that an encoder reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TypeVar

from semsearch.documents import loaders
from semsearch.documents.isolation.limits import Limits
from semsearch.errors import SemsearchError
from semsearch.indexing.sources import Roots, SourceFile, SyncOptions, plan, walked
from semsearch.stores import base
from semsearch.stores.protocol import StoreReader
from semsearch.types import Document
from semsearch.utils.languages import detection

FILES, DOCUMENTS, PARTS = 24, 5, 4  # of all files; of one of them; of a document
LETTERS = 500  # of a part
LARGEST = 2**18  # bytes of a file that is read for this: it is read again when it is indexed
SECONDS = 5  # for a document, with its loader's first import: one that hangs has the whole limit when it is indexed
ENOUGH = 0.1  # the share that an encoder may fail to read before it is worth a word
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LanguageSample:
    """Texts, each of which is judged by itself."""

    texts: tuple[str, ...]

    def unread(self, languages: Collection[str]) -> float:
        """The share of texts in other languages than these, in 0 … 1; 0 where an encoder states no languages."""
        return len(_unreadable(self.texts, tuple(languages))) / len(self.texts) if self.texts else 0.0

    def others(self, languages: Collection[str]) -> str:
        """The names of the languages of texts that are in none of `languages`, the most frequent first."""
        counts = Counter(map(detection.language, _unreadable(self.texts, tuple(languages))))
        codes = [code for code, _ in counts.most_common(detection.MOST) if code]
        return detection.listed(codes) if codes else "other languages"


@lru_cache(maxsize=16)  # a page asks again with every letter that is typed
def _unreadable(texts: tuple[str, ...], languages: tuple[str, ...]) -> list[str]:
    return [text for text in texts if not detection.is_readable(text, languages) and detection.is_prose(text)]


def of_files(paths: Sequence[Path], options: SyncOptions) -> LanguageSample:
    """A sample of the files below `paths`. What cannot be read is left out: the run that indexes it says so."""
    try:
        roots, scopes = plan(paths, options, Roots())
        files = [each for each in walked(scopes, roots, options, [], []) if isinstance(each, SourceFile)]
    except SemsearchError:
        return LanguageSample(())
    small = [file for file in files if file.entry.size <= LARGEST]
    return LanguageSample(tuple(text for file in _spread(small, FILES) for text in _texts(file)))


def of_passages(reader: StoreReader) -> LanguageSample:
    """A sample of what is stored."""
    return LanguageSample(base.sampled_texts(reader))


def _texts(file: SourceFile) -> Iterator[str]:
    root = file.naming.root
    try:
        limits = Limits.current()
        if not root.fields.ocr:
            limits = replace(limits, seconds=min(limits.seconds, SECONDS))
        items = loaders.load(file.entry.path, root.kind, root.fields, limits)
        for document in islice((item for item in items if isinstance(item, Document)), DOCUMENTS):
            starts = range(0, max(1, len(document.text) - LETTERS // 2), LETTERS)  # no end of a few words
            yield from (document.text[start : start + LETTERS] for start in _spread(starts, PARTS))
    except SemsearchError:
        return


def _spread(items: Sequence[T], most: int) -> Iterable[T]:
    """At most so many of the items, evenly."""
    step = max(1, -(-len(items) // most))
    return items[::step]
