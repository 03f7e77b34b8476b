"""What has become of the files that documents came from, without opening one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.indexing.ingest import UNFINISHED
from semsearch.indexing.sync import UNSURE
from semsearch.types import DocumentState

if TYPE_CHECKING:
    from semsearch.stores.local.store import Store


def states(store: Store, ids: Sequence[str] | None = None) -> dict[str, DocumentState]:
    """By document: what `Index.states` says. A file is looked at once, however many records it holds."""
    folders: dict[str, bool] = {}
    files: dict[tuple[str, str], DocumentState] = {}
    found: dict[str, DocumentState] = {}
    for document, root, path, mtime_ns, size in store.origins(ids):
        if root is None or path is None:
            found[document] = "kept"
            continue
        if root not in folders:
            folders[root] = _there(root)
        if (root, path) not in files:
            files[root, path] = _state(Path(root), path, mtime_ns, size) if folders[root] else "unseen"
        found[document] = files[root, path]
    return found


def _there(folder: str) -> bool:
    try:
        return Path(folder).is_dir()
    except OSError:
        return False


def _state(folder: Path, path: str, mtime_ns: int, size: int) -> DocumentState:
    """Of a file in a folder that is there."""
    try:
        now = (folder / path).stat()
    except FileNotFoundError:
        return "unseen" if "\\x" in path else "gone"  # \\xe9 stands for a name that is not UTF-8
    except OSError:
        return "unseen"
    if size == UNFINISHED:
        return "unfinished"
    return "current" if now.st_mtime_ns == mtime_ns and size in (now.st_size, UNSURE) else "changed"
