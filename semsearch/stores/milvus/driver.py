"""Indexes on a Milvus server: created, linked, opened, renamed and removed. See `stores.drivers.StoreDriver`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.errors import NotFound, UsageError
from semsearch.stores import links
from semsearch.stores.links import Link
from semsearch.stores.milvus.catalogue import Catalogue, Found
from semsearch.stores.milvus.index_tables import IndexTables
from semsearch.stores.milvus.location import STORE
from semsearch.stores.milvus.reader import MilvusReader
from semsearch.stores.milvus.server import schema
from semsearch.stores.milvus.server.address import TOKEN, absolute, parse
from semsearch.stores.milvus.server.calls import Server, client_class
from semsearch.stores.milvus.writer import MilvusWriter
from semsearch.utils.writer_lock import LOCK, PID, WriterLock

if TYPE_CHECKING:
    from semsearch.stores.protocol import SalvageReader
    from semsearch.types import SqlRows


def create(location: Path, fill: Callable[[MilvusWriter], None] | None = None, *, address: str = "") -> MilvusWriter:
    """A new index with the name of the folder, and a link to it. Raises UsageError where the server has one already.

    A kill or an error before the end leaves no index, at worst collections that no name stands for.
    """
    server, where = _server(address)
    catalogue, name = Catalogue(server), location.name
    _refuse_content(location)
    if catalogue.find(name) is not None:
        raise UsageError(f"the Milvus server at {server.address.uri} has an index called {name!r}.", "Link it.")
    link = Link(STORE, where, name, links.new_id())
    found = Found(name, link.id, schema.VERSION, schema.prefix(name, link.id))
    tables = IndexTables(server, found.prefix)
    try:
        for table in tables.every():
            server.make(table.collection, table.columns)
        if fill is not None:
            with MilvusWriter(location, tables, None) as writer:
                fill(writer)
        catalogue.put(found)
        links.write(location, link)
    except BaseException:
        if server.has(schema.CATALOGUE):
            catalogue.remove(found)
        _drop(server, link.id)
        raise
    return open_writer(location)


def link(location: Path, address: str) -> bool:
    """Link the index with the name of the folder; False where the server has none. Raises UsageError."""
    server, where = _server(address)
    found = Catalogue(server).find(location.name)
    if found is None:
        return False
    links.write(location, Link(STORE, where, location.name, found.id))
    return True


def unlink(location: Path) -> list[str]:
    """Remove the link; the index stays on the server."""
    _locked(location).release()
    return _without_lock_files(location)


def open_reader(location: Path) -> MilvusReader:
    """Raises NotFound, Corrupt, SemsearchError where the server is away, too old, or refuses the token."""
    return MilvusReader(location, _tables(links.read(location)))


def open_writer(location: Path) -> MilvusWriter:
    """As `open_reader`; raises Locked while another process of this machine writes through the link."""
    tables = _tables(links.read(location))
    lock = WriterLock(location)
    try:
        return MilvusWriter(location, tables, lock)
    except BaseException:
        lock.release()
        raise


def rename(location: Path, target: Path) -> None:
    """Give the link and the index another name; links of other machines lead to it as before.

    Raises NotFound, Locked, UsageError for a `target` in use, here or on the server.
    """
    found = links.read(location)
    if target.exists() and not target.samefile(location):
        raise UsageError(f"an index or file called {target.name!r} already exists.", "Choose another name.")
    lock = _locked(location)
    try:
        server, _ = _server(found.address)
        catalogue = Catalogue(server)
        there = catalogue.require(found.collection, found.id)
        if there.name != target.name:
            if catalogue.find(target.name) is not None:
                raise UsageError(f"the server has an index called {target.name!r} already.", "Choose another name.")
            catalogue.put(there._replace(name=target.name))
        links.rename(location, target)
        (target / PID).unlink(missing_ok=True)
    finally:
        lock.release()


def remove(location: Path) -> list[str]:
    """Remove the index from its server, and the link; what is not there any more is no error."""
    found = links.read(location)
    lock = _locked(location)
    try:
        server, _ = _server(found.address)
        catalogue = Catalogue(server)
        there = catalogue.by_id(found.id)
        if there is not None:
            catalogue.remove(there)
        _drop(server, found.id)  # also what a kill in the middle of this left
    finally:
        lock.release()
    return _without_lock_files(location)


def accept_loss(location: Path) -> str | None:
    """None: what a server acknowledged is its matter. Raises NotFound, Locked."""
    links.read(location)
    _locked(location).release()
    return None


def salvage(location: Path) -> SalvageReader:
    """Raises NotFound: no files are here that could be damaged."""
    found = links.read(location)
    raise NotFound(
        f"the documents of {location.name} are on the Milvus server at {found.address}.",
        "Restore a backup of the server (milvus-backup), or index the files again.",
    )


def sql(location: Path, *_: object) -> SqlRows:
    """Raises UsageError: Milvus knows no SQL."""
    links.read(location)
    raise UsageError(
        f"{location.name} is stored in Milvus, which knows no SQL.", "Search with a filter.", "Use filters: --where."
    )


def check_installation() -> str:
    """The version of the client. Raises MissingExtra."""
    client_class()
    return f"pymilvus {version('pymilvus')}"


def _server(address: str) -> tuple[Server, str]:
    """The server at an address, which answers and is not too old, and the address as links have it."""
    if not address:
        raise UsageError("the Milvus store needs the address of a server.", "Write milvus:http://host:19530.")
    links.refuse_secrets(address, TOKEN)
    where = absolute(address)
    server = Server(parse(where))
    server.version()
    return server, where


def _tables(found: Link) -> IndexTables:
    server, _ = _server(found.address)
    return IndexTables(server, Catalogue(server).require(found.collection, found.id).prefix)


def _refuse_content(location: Path) -> None:
    if location.is_file():
        raise UsageError(f"{location} cannot be a folder: a file is in its place.", "Choose another.")
    if location.is_dir() and (there := sorted(file.name for file in location.iterdir())):
        raise UsageError(f"{location} is not empty ({there[0]}).", "Choose an empty or a new folder.")


def _locked(location: Path) -> WriterLock:
    """The lock of a link. Raises NotFound, Locked."""
    links.read(location)
    return WriterLock(location)


def _without_lock_files(location: Path) -> list[str]:
    for file in (location / LOCK, location / PID):
        file.unlink(missing_ok=True)
    return links.remove(location)


def _drop(server: Server, index_id: str) -> None:
    """Drop every collection of an index, whatever its name was when it was made."""
    own = {one: match[0] for one in server.collections() if (match := schema.prefix_of(index_id).match(one))}
    for prefix in sorted({*own.values()}):
        server.unpoint(f"{prefix}_vectors")
    for collection in own:
        server.drop(collection)
