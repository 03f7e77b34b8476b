"""Collections on a server: created, linked from another machine, opened, renamed and removed.

A collection is known by its id, which the link on each machine has too. So it is found after another machine has
renamed it, and a link to a collection that was removed leads to no other one of the same name.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

from semsearch.errors import SemsearchError, UsageError
from semsearch.stores.postgres.location import STORE
from semsearch.stores.postgres.reader import PostgresReader
from semsearch.stores.postgres.server import schema
from semsearch.stores.postgres.server.address import Raw, Server
from semsearch.stores.postgres.server.client import errors
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.postgres.writer import PostgresWriter
from semsearch.stores.protocol import SalvageReader
from semsearch.stores.remote import dumps, links
from semsearch.stores.remote.dumps import dump as dump
from semsearch.stores.remote.links import Link
from semsearch.stores.remote.links import accept_loss as accept_loss
from semsearch.types import SqlRows

Fill: TypeAlias = Callable[[PostgresWriter], None]
LOCK_SECONDS = 10  # that a rename or removal waits for those who are at work
ADDRESS = "Write --store postgres:postgresql://USER@HOST:PORT/DATABASE"


def create(location: Path, fill: Fill | None = None, /, *, address: str = "") -> PostgresWriter:
    """A new collection with what `fill` writes, and a link to it; it appears with all of it, or not at all.

    Raises UsageError for a location in use, and where the server has a collection of that name.
    """
    server = _checked(location, address)
    if _id_of(server, location.name) is not None:
        raise _taken(server, location.name)
    link = Link(STORE, address, location.name, links.new_id())
    name = schema.schema_name(location.name)
    connection = Connection(location, link, write=True, creating=name)
    writer = PostgresWriter(connection)
    try:
        with connection.transaction():
            connection.on_session(lambda raw: schema.create(raw, name, link.id))
            if fill is not None:
                fill(writer)
        connection.created()
        _link_or_undo(location, link)
    except SemsearchError as error:
        connection.close()
        if isinstance(error.__cause__, errors.DuplicateSchema | errors.UniqueViolation):  # another one was faster
            raise _taken(server, location.name) from error
        raise
    except BaseException:
        connection.close()
        raise
    return writer


def _link_or_undo(location: Path, link: Link) -> None:
    """Write the link to a new collection; where that fails, remove the collection, so that the name is free."""
    try:
        links.write(location, link)
    except BaseException as error:
        try:
            _drop(location, link)
        except SemsearchError as another:
            if isinstance(error, SemsearchError):
                reason = f"The collection {link.collection!r} was made and could not be removed: {another.message}"
                store = shlex.quote(f"{STORE}:{link.address}")
                error.add(f"{reason} To link it: semsearch index -n {shlex.quote(location.name)} --store {store}")
        raise


def link(location: Path, address: str, /) -> bool:
    """Make `location` a link to the collection of that name; False where the server has none."""
    server = _checked(location, address)
    identity = _id_of(server, location.name)
    if identity is None:
        return False
    made = Link(STORE, address, location.name, identity)
    Connection(location, made, write=False).close()  # of a newer schema, it is refused here
    links.write(location, made)
    return True


def open_reader(location: Path, /) -> PostgresReader:
    """Raises NotFound, Corrupt, SemsearchError for a newer schema or a server that does not answer."""
    return PostgresReader(Connection(location, links.read(location), write=False))


def open_writer(location: Path, /) -> PostgresWriter:
    """As `open_reader`. Others may have it open for writing, too."""
    return PostgresWriter(Connection(location, links.read(location), write=True))


def rename(location: Path, target: Path, /) -> None:
    """Rename the link, and the collection. Links of other machines lead to it as before.

    Raises NotFound, UsageError for a `target` in use, Locked where others are at work for long.
    """
    link = links.read(location)
    links.check_target(location, target)
    new = schema.schema_name(target.name)
    with _administration(location, link) as (raw, old):
        if old is not None and old != new:
            if schema.id_of(raw, new) is not None:
                raise UsageError(f"the server has a collection {target.name!r} already.", "Choose another name.")
            raw.execute(f"ALTER SCHEMA {schema.quoted(old)} RENAME TO {schema.quoted(new)}".encode())
    links.rename(location, target)


def remove(location: Path, /) -> list[str]:
    """Remove the collection, for all machines, and the link of this one.

    The names of the files that stay, as they are no part of it. Raises NotFound, Locked where others are at work.
    """
    _drop(location, links.read(location))
    return links.remove(location)


def salvage(location: Path, /) -> SalvageReader:
    """Raises UsageError: a damaged server is repaired with its own tools."""
    links.read(location)
    raise UsageError(
        f"index {location.name} is on a PostgreSQL server, which semsearch cannot salvage.",
        "Restore a backup of the server, or copy what it can still read with pg_dump.",
    )


def sql(location: Path, /, *_: object) -> SqlRows:
    """Raises UsageError: the server answers SQL by itself, with the rights of who asks."""
    link = links.read(location)
    view = f"{schema.quoted(schema.schema_name(link.collection))}.documents_view"
    reason = f"index {location.name} is on a PostgreSQL server, which answers SQL by itself."
    raise UsageError(reason, f"Ask it with psql, for example: SELECT * FROM {view}")


restore = dumps.restoring(create)
unlink = links.remove  # the server keeps the collection


def _checked(location: Path, address: str) -> Server:
    """The server of an address. Raises UsageError without one, and for a location in use."""
    if not address:
        raise UsageError("a store on PostgreSQL needs the address of a server.", ADDRESS)
    links.check_free(location, STORE)
    return Server.at(address)


def _id_of(server: Server, collection: str) -> str | None:
    """The id of the collection of this name; None for none. Raises UsageError where its schema is not ours."""
    with server.explained(collection), closing(server.connect()) as raw:
        schema.require_extension(raw, server.where)
        identity = schema.id_of(raw, schema.schema_name(collection))
    if identity == "":
        raise UsageError(
            f"the database at {server.where} has a schema {schema.schema_name(collection)!r} that is not of semsearch.",
            "Choose another name.",
        )
    return identity


def _taken(server: Server, name: str) -> UsageError:
    return UsageError(
        f"the server at {server.where} has a collection called {name!r}.", "Link it, or choose another name."
    )


def _drop(location: Path, link: Link) -> None:
    with _administration(location, link) as (raw, name):
        if name is not None:
            raw.execute(f"DROP SCHEMA {schema.quoted(name)} CASCADE".encode())


@contextmanager
def _administration(location: Path, link: Link) -> Iterator[tuple[Raw, str | None]]:
    """A connection to change a collection as a whole, and its schema; None where it is gone."""
    server = Server.at(link.address)
    with server.explained(location.name), closing(server.connect()) as raw:
        raw.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'".encode())
        yield raw, schema.of_collection(raw, link.id)
