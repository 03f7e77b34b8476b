"""A real store on disk, filled without an encoder: for tests of what reads it by words and filters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from helpers.opened import reader_of
from semsearch.stores.local import LocalWriter, create
from semsearch.stores.records import Entry, Source, Space
from semsearch.types import Document, Passage


def filled(
    folder: Path, documents: Sequence[Document], *, mtime_ns: int | None = None, root: str = "/notes"
) -> LocalWriter:
    """A store whose documents have one passage each; with `mtime_ns` each of them is a file of that time."""
    store = create(folder)
    space = store.put_space(Space(0, "none", "none", 4, {}))
    entries = [Entry(d, _source(store, d, mtime_ns, root), _passages(d), _vectors(_passages(d))) for d in documents]
    store.replace(entries, space.id)
    return store


def names(store: LocalWriter, ids: Sequence[int]) -> list[str]:
    """The documents of passages, in their order."""
    return [passage.document for passage in reader_of(store).passages(np.asarray(ids, dtype=np.int64))]


def _passages(document: Document) -> list[Passage]:
    return [Passage(0, len(document.text), document.text, page=document.metadata.get("at_page"))]


def _vectors(passages: Sequence[Passage]) -> np.ndarray:
    return np.tile(np.eye(1, 4, dtype=np.float32), (len(passages), 1))


def _source(store: LocalWriter, document: Document, mtime_ns: int | None, root: str) -> int | None:
    if mtime_ns is None:
        return None
    return store.put_sources([Source(root, document.id, mtime_ns, len(document.text), "", "text")])[0]
