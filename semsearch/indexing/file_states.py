"""The files that documents came from: their status on disk now, without opening them, and what was left out of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.documents.file_access import FilePresence
from semsearch.errors import NotFound
from semsearch.indexing.sources import Roots
from semsearch.stores.records import UNFINISHED, UNSURE

if TYPE_CHECKING:
    from semsearch.stores.protocol import StoreReader
    from semsearch.stores.records import Source
    from semsearch.types import DocumentState


def states(reader: StoreReader, ids: Sequence[str] | None = None) -> dict[str, DocumentState]:
    """The result of `Analysis.states`, by document. A file is checked once, even if it has many records."""
    state = cache(partial(_state, FilePresence()))
    with reader.snapshot():
        files = {source.id: source for source in reader.sources()}
        owners = {row.uri: files.get(row.source or 0) for row in reader.document_rows(ids)}
    return {
        document: "kept" if file is None else state(file.root, file.path, file.mtime_ns, file.size)
        for document, file in owners.items()
    }


def left_out(reader: StoreReader, document: str | None = None) -> dict[str, dict[str, int]]:
    """The result of `Analysis.left_out`, by file."""
    with reader.snapshot():
        prefixes = dict(Roots.of(reader.state().recipe).bases)
        every = reader.sources() if document is None else _sources(reader, document)
        sources = [source for source in every if source.omissions]
        alone = reader.document_rows([source.path for source in sources if not source.root])
        present = {row.uri for row in alone if row.source is None}
        return {
            prefixes.get(source.root, "") + source.path: dict(source.omissions)
            for source in sources
            if (source.documents if source.root else source.path in present)
        }


def _sources(reader: StoreReader, document: str) -> Iterator[Source]:
    """What the omissions of a document are on record with: its file, or itself."""
    for row in reader.document_rows([document]):
        yield from reader.sources(keys=[("", document)]) if row.source is None else reader.sources(ids=[row.source])


def source_of(reader: StoreReader, document: str) -> Source | None:
    """The file that a document came from, None for a document without one. Raises NotFound."""
    for row in reader.document_rows([document]):
        return None if row.source is None else next(reader.sources(ids=[row.source]), None)
    raise NotFound(f"index {reader.name} has no document {document!r}.", "It may have been deleted.")


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
