"""The place of a Lance store on this machine: a folder with a link. Without the library."""

from __future__ import annotations

from pathlib import Path

from semsearch.stores.remote import links

STORE = "lance"


def exists(location: Path) -> bool:
    """Whether `location` has a link to a table of Lance."""
    return links.store(location) == STORE


def names(home: Path) -> list[str]:
    """The folders with such a link directly below `home`, sorted."""
    return links.names(home, STORE)


def identity(location: Path) -> tuple[int, int]:
    """Two numbers of the collection's id. Raises NotFound."""
    return links.identity(location)
