"""The words of files that are not indexed yet, to answer from before they are embedded."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from semsearch.documents import loaders
from semsearch.errors import SemsearchError
from semsearch.index.index import Index
from semsearch.indexing.file_reader import named
from semsearch.indexing.sources import Roots, SourceFile, SyncOptions, ordered, plan, walked
from semsearch.types import Document
from semsearch.utils.atomic_write import scratch_folder

MOST_LETTERS = 3_000_000  # which the full-text index takes in a second


@contextmanager
def words_of_files(paths: Sequence[Path], seconds: float) -> Iterator[tuple[Index, dict[str, Path], int]]:
    """A passing index of the words of files, for searches by keyword; by the id of each document its file; and how many
    files there are.

    It has what can be read in so many seconds, at most MOST_LETTERS, small and new files first; a document is one
    passage. What cannot be read is left out. Raises as `Index.sync`.
    """
    options = SyncOptions()
    roots, scopes = plan(paths, options, Roots())
    files = ordered((each for each in walked(scopes, roots, options, [], []) if isinstance(each, SourceFile)), ())
    documents: dict[str, Document] = {}
    read: dict[str, Path] = {}
    letters, end = 0, math.inf
    for file in files:
        if letters >= MOST_LETTERS or time.monotonic() >= end:
            break
        for document in _documents(file):
            documents[document.id], read[document.id] = document, file.entry.path
            letters += len(document.text)
        end = min(end, time.monotonic() + seconds)  # from the first one on, which loads the loaders
    with scratch_folder() as place, Index.create(place / "words", encoder=None, dimensions=1) as index:
        index.add(documents.values(), vectors=np.ones((len(documents), 1)))
        yield index, read, len(files)


def _documents(file: SourceFile) -> Iterator[Document]:
    root = file.naming.root
    with suppress(SemsearchError):
        for item in loaders.load(file.entry.path, root.kind, root.fields):
            if isinstance(item, Document) and item.text.strip():
                document = named(file.uri, file.entry.path, item)
                if isinstance(document, Document):
                    yield document
