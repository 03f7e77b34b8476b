"""Status of the files that documents came from, as they are on disk now; none is opened."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from semsearch.documents.file_access import FilePresence
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import UNFINISHED, UNSURE
from semsearch.types import DocumentState


def states(reader: StoreReader, ids: Sequence[str] | None = None) -> dict[str, DocumentState]:
    """The result of `Index.states`, by document. A file is checked once, even if it has many records."""
    state = cache(partial(_state, FilePresence()))
    return {
        document: "kept" if root is None or path is None else state(root, path, mtime_ns, size)
        for document, root, path, mtime_ns, size in reader.origins(ids)
    }


def _state(presence: FilePresence, root: str, path: str, mtime_ns: int | None, size: int | None) -> DocumentState:
    if presence.is_gone(root, path):
        return "gone"
    try:
        now = Path(root, path).stat()
    except OSError:
        return "unseen"
    if size == UNFINISHED:
        return "unfinished"
    return "current" if now.st_mtime_ns == mtime_ns and size in (now.st_size, UNSURE) else "changed"
