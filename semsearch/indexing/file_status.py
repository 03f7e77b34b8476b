"""Status of the files that documents came from, as they are on disk now; none is opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semsearch.documents.presence import FilePresence
from semsearch.stores.protocol import StoreReader
from semsearch.types import DocumentState

# in place of a file's size
UNFINISHED = -1  # something of it is not in the store, so the next run reads it again
UNSURE = -2  # the next run compares the content


def states(reader: StoreReader, ids: Sequence[str] | None = None) -> dict[str, DocumentState]:
    """By document: what `Index.states` says. A file is looked at once, however many records it has."""
    presence = FilePresence()
    files: dict[tuple[str, str], DocumentState] = {}
    found: dict[str, DocumentState] = {}
    for document, root, path, mtime_ns, size in reader.origins(ids):
        if root is None or path is None:
            found[document] = "kept"
            continue
        if (root, path) not in files:
            files[root, path] = _state(presence, root, path, mtime_ns, size)
        found[document] = files[root, path]
    return found


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
