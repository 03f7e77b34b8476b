"""What is said of an index, a document, a passage and a run: plain dictionaries, as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semsearch.types import Document, SyncReport

if TYPE_CHECKING:
    from semsearch.indexing.ingest import Ingest
    from semsearch.stores.local.store import Space, Store, StoredPassage


def index(store: Store) -> dict[str, Any]:
    """Counts, recipe, spaces with their backends, and the last run, as of one moment."""
    with store.snapshot():
        counts = store.counts()
        spaces = [_space(store, space, counts) for space in store.spaces()]
        recipe, last = store.recipe(), store.last_run()
    return {
        "name": store.folder.name,
        "path": str(store.folder),
        "documents": counts["documents"],
        "passages": counts["passages"],
        "vectors": sum(counts["vectors"].values()),
        "bytes": _size(store.folder),
        "recipe": recipe,
        "spaces": spaces,
        "last_run": last,
    }


def document(found: Document) -> dict[str, Any]:
    """A document with its whole text."""
    return {"document": found.id, "title": found.title, "text": found.text, "metadata": dict(found.metadata)}


def passage(found: StoredPassage) -> dict[str, Any]:
    """A passage, and where it stands in its document."""
    return {
        "id": found.id,
        "document": found.document,
        "start": found.start,
        "end": found.end,
        "line": found.line,
        "page": found.page,
        "heading": found.heading,
        "title": found.title,
        "text": found.text,
        "metadata": found.metadata,
    }


def run(store: Store, ingest: Ingest, seconds: float, *, dry_run: bool) -> SyncReport:
    """What a run did, and what the index holds after it."""
    tally, counts = ingest.tally, store.counts()
    return SyncReport(
        index=store.folder.name,
        added=tally.added,
        changed=tally.changed,
        unchanged=tally.unchanged,
        moved=tally.moved,
        deleted=tally.deleted,
        skipped=tuple(tally.skipped),
        passages=counts["passages"],
        vectors=sum(counts["vectors"].values()),
        **ingest.counters(),
        took_s=round(seconds, 3),
        dry_run=dry_run,
        warnings=tuple(tally.warnings),
    )


def _size(folder: Path) -> int:
    """Bytes of the files in `folder`; one that a writer renames or removes meanwhile counts as gone."""
    total = 0
    for file in folder.iterdir():
        with suppress(FileNotFoundError):
            total += file.stat().st_size if file.is_file() else 0
    return total


def _space(store: Store, space: Space, counts: Mapping[str, Any]) -> dict[str, Any]:
    rows = store.caches(space.id)
    newest = rows[0] if rows else None
    told = {key: value for key, value in space.info.items() if key != "background"}
    return {
        "encoder": {**told, "name": space.name, "fingerprint": space.fingerprint},
        "dim": space.dim,
        "vectors": counts["vectors"].get(space.id, 0),
        "backend": newest.spec if newest else "exact",
        "why": newest.why if newest else "there is nothing to cache yet",
        "cache": {"file": newest.file, "bytes": newest.bytes, "vectors": newest.count} if newest else None,
        "newer_than_cache": store.count_after(space.id, newest.highest_id if newest else 0),
    }
