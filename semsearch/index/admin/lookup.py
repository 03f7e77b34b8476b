"""The names and folders of indexes. Nothing here imports numpy: every command asks for them."""

from __future__ import annotations

from pathlib import Path

from semsearch import settings
from semsearch.stores import drivers


def names(home: Path | None = None) -> list[str]:
    """The indexes of the home of indexes, sorted."""
    return drivers.stores_below(settings.home(home))


def folder(name: str | Path, home: Path | None = None) -> Path:
    """The folder of the index called `name`, which need not exist. Raises UsageError for what cannot be a name."""
    return settings.index_folder(name, home)


def exists(name: str | Path, home: Path | None = None) -> bool:
    """Whether there is an index called `name`, or at the path `name`. Raises UsageError for an invalid name."""
    return drivers.exists(settings.index_folder(name, home))


def identity(name: str | Path, home: Path | None = None) -> tuple[int, int]:
    """Two numbers that change when an index is removed and another is created in its place. Raises NotFound."""
    place = settings.index_folder(name, home)
    return drivers.find(place).identity(place)
