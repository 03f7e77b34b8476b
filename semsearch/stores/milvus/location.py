"""The place of a Milvus index on this machine: a folder with a link. Without numpy and the client library."""

from __future__ import annotations

from pathlib import Path

from semsearch.stores import links

STORE = "milvus"
TRANSACTIONAL = False  # Milvus has no transactions: see `commit`
READ_ONLY = False
CHOSEN_BACKEND = False  # the address names it


def exists(location: Path) -> bool:
    """Whether `location` has a link to an index on a Milvus server."""
    return links.exists(location, STORE)


def names(home: Path) -> list[str]:
    """The folders with such a link directly below `home`, sorted."""
    return links.names(home, STORE)


def identity(location: Path) -> tuple[int, int]:
    """Two numbers of the index's id. Raises NotFound."""
    return links.identity(location)
