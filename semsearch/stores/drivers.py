"""Drivers of stores: one package of `stores/` each, found by its name."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from semsearch.stores.protocol import StoreReader, StoreWriter


class StoreDriver(Protocol):
    """The members of a package of `stores/`: an index is created, opened, renamed, removed and copied through it."""

    def create(self, location: Path, fill: Callable[[StoreWriter], None] | None = None, /) -> StoreWriter:
        """A new store with what `fill` writes, or nothing. Raises UsageError for a location in use."""

    def exists(self, location: Path, /) -> bool:
        """Whether a store is at `location`."""

    def names(self, home: Path, /) -> list[str]:
        """The stores directly below `home`, sorted."""

    def open_reader(self, location: Path, /) -> StoreReader:
        """Raises NotFound, Corrupt."""

    def open_writer(self, location: Path, /) -> StoreWriter:
        """Raises NotFound, Corrupt, Locked."""

    def rename(self, location: Path, target: Path, /) -> None:
        """Raises NotFound, Locked, UsageError for a `target` in use."""

    def remove(self, location: Path, /) -> list[str]:
        """Remove the store; the names of the files that stay, as they are not part of it. Raises NotFound, Locked."""

    def dump(self, reader: StoreReader, file: Path, /) -> None:
        """Write the present content of a store to `file`. Raises Corrupt."""

    def restore(self, file: Path, location: Path, /) -> None:
        """Make a new store from a dump. Raises NotFound, UsageError where `location` exists, Corrupt."""

    def check_installation(self) -> str:
        """The software that the store needs, with its version. Raises SemsearchError where it is missing."""


def names() -> tuple[str, ...]:
    """Every store there is, sorted."""
    package = import_module("semsearch.stores")
    return tuple(sorted(found.name for found in pkgutil.iter_modules(package.__path__) if found.ispkg))


def load(name: str = "local") -> StoreDriver:
    """The driver called `name`."""
    return cast(StoreDriver, import_module(f"semsearch.stores.{name}"))
