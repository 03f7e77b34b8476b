"""Drivers of stores: one package of `stores/` each, found by its name, or by the location of a store.

Nothing here imports numpy, as shell completion calls `stores_below`. So a driver imports its parts on first use.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from semsearch.errors import NotFound, UnknownName
from semsearch.stores.remote import links

if TYPE_CHECKING:
    from semsearch.stores.protocol import SalvageReader, StoreReader, StoreWriter
    from semsearch.types import Progress, SqlRows, SqlValue

DEFAULT = "local"
SHARED = {"sql", "remote"}  # the packages of what stores have in common, which are none


class StoreDriver(Protocol):
    """The members of a package of `stores/`: an index is created, opened, renamed, removed and copied through it.

    A transaction is written whole or not at all, whatever ends the process; a snapshot is of one moment; passage ids
    ascend.
    """

    def create(
        self, location: Path, fill: Callable[[StoreWriter], None] | None = None, /, *, address: str = ""
    ) -> StoreWriter:
        """A new store with what `fill` writes, or nothing. Raises UsageError for a location in use.

        address: that of the server for a remote store, which becomes a link at `location` to a collection with the
        name of the folder. Raises UsageError where one is missing, or not wanted, or the server has that collection.
        """

    def link(self, location: Path, address: str, /) -> bool:
        """Make `location` a link to the collection with that name on a server; False where it has none.

        Raises UsageError for a location in use, or a store without a server.
        """

    def unlink(self, location: Path, /) -> list[str]:
        """Remove the link alone; the names of the files that stay. Raises NotFound, UsageError without a server."""

    def exists(self, location: Path, /) -> bool:
        """Whether a store is at `location`."""

    def identity(self, location: Path, /) -> tuple[int, int]:
        """Two numbers by which the store at `location` differs from any other created there. Raises NotFound."""

    def names(self, home: Path, /) -> list[str]:
        """The stores directly below `home`, sorted."""

    def open_reader(self, location: Path, /) -> StoreReader:
        """Raises NotFound, Corrupt."""

    def open_writer(self, location: Path, /) -> StoreWriter:
        """Raises NotFound, Corrupt, Locked."""

    def rename(self, location: Path, target: Path, /) -> None:
        """Raises NotFound, Locked, UsageError for a `target` in use."""

    def accept_loss(self, location: Path, /) -> str | None:
        """Go on with what is there, though acknowledged changes are missing: which; None for none. Raises Locked."""

    def remove(self, location: Path, /) -> list[str]:
        """Remove the store; the names of the files that stay, as they are not part of it. Raises NotFound, Locked."""

    def dump(self, reader: StoreReader, file: Path, progress: Callable[[Progress], None], /) -> None:
        """Write the present content of a store to `file`. Raises Corrupt."""

    def restore(
        self,
        file: Path,
        location: Path,
        prepare: Callable[[StoreWriter], None] | None,
        progress: Callable[[Progress], None],
        /,
        *,
        address: str = "",
    ) -> None:
        """Make a new store from a dump, with what `prepare` changes before anybody can open it; `address` as above.

        Raises NotFound, UsageError where `location` exists, Corrupt.
        """

    def salvage(self, location: Path, /) -> SalvageReader:
        """What can still be read of a damaged store. Raises NotFound, Corrupt where that is nothing."""

    def sql(
        self,
        location: Path,
        statement: str,
        values: Sequence[object] | Mapping[str, object],
        functions: Mapping[str, Callable[..., SqlValue]],
        seconds: float,
        /,
    ) -> SqlRows:
        """The rows of a statement that reads, which may call `functions`. Raises NotFound; UsageError where it is none,
        or the store knows no SQL; SemsearchError after `seconds`.
        """

    def check_installation(self) -> str:
        """The software that the store needs, with its version. Raises SemsearchError where it is missing."""


def names() -> tuple[str, ...]:
    """Every store there is, sorted."""
    return _packages(*import_module("semsearch.stores").__path__)


@cache  # a page asks for the names of the indexes a dozen times
def _packages(*folders: str) -> tuple[str, ...]:
    packages = {module.name for module in pkgutil.iter_modules(folders) if module.ispkg}
    return tuple(sorted(packages - SHARED))


def load(name: str = DEFAULT) -> StoreDriver:
    """The driver called `name`. Raises UnknownName."""
    if name not in names():
        raise UnknownName("store", name, names())
    return cast(StoreDriver, import_module(f"semsearch.stores.{name}"))


def parse(store: str) -> tuple[StoreDriver, str]:
    """The driver and the address in NAME or NAME:ADDRESS. Raises UnknownName.

    >>> parse("local")[1], parse("local:x://y")[1]
    ('', 'x://y')
    """
    name, _, address = store.partition(":")
    return load(name), address


def exists(location: Path) -> bool:
    """Whether any driver has a store at `location`, or a link to a store that this version does not have is there."""
    return any(load(name).exists(location) for name in names()) or links.store(location) is not None


def find(location: Path) -> StoreDriver:
    """The driver of the store at `location`; the default one, which raises NotFound, where there is none.

    Raises NotFound for a link to a store that this version does not have.
    """
    default_first = sorted(names(), key=lambda name: name != DEFAULT)  # most indexes are local, and load no other one
    if driver := next((driver for driver in map(load, default_first) if driver.exists(location)), None):
        return driver
    if store := links.store(location):
        raise NotFound(
            f"the documents of {location.name} are in a store called {store!r}, which this version of semsearch does "
            f"not have; it has {', '.join(names())}.",
            "Dump it with the version that made it, and restore that dump here: semsearch.admin.restore(…).",
            "Dump it with the version that made it (semsearch dump), and restore that dump here: semsearch restore.",
        )
    return load()


def stores_below(home: Path) -> list[str]:
    """The stores directly below `home`, sorted; links to stores that this version does not have among them."""
    return sorted({store for name in names() for store in load(name).names(home)} | set(links.names(home)))
