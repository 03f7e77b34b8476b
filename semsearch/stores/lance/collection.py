"""Collections at an address: created, linked from another machine, opened, renamed and removed.

Each is one table, named by its id; a small table beside them, the catalogue, has their names. So a collection appears
with its name once all of it is there, and is found by its link after another machine has renamed it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.stores.lance import maintenance
from semsearch.stores.lance.address import CATALOGUE, Address
from semsearch.stores.lance.client import explained, is_conflict, lance, pa
from semsearch.stores.lance.location import STORE
from semsearch.stores.lance.reader import LanceReader
from semsearch.stores.lance.table import PRIMARY, SCHEMA, Table, text
from semsearch.stores.lance.writer import LanceWriter
from semsearch.stores.protocol import SalvageReader
from semsearch.stores.remote import dumps, links
from semsearch.stores.remote.dumps import dump as dump
from semsearch.stores.remote.links import Link
from semsearch.stores.remote.links import accept_loss as accept_loss
from semsearch.types import SqlRows

Fill: TypeAlias = Callable[[LanceWriter], None]
_CATALOGUE = pa.schema([pa.field("name", pa.string(), nullable=False, metadata=PRIMARY), ("id", pa.string())])


def create(location: Path, fill: Fill | None = None, /, *, address: str = "") -> LanceWriter:
    """A new collection with what `fill` writes, and a link to it; it appears with all of it, or not at all.

    Raises UsageError for a location in use, and where the address has a collection of that name.
    """
    place = _checked(location, address)
    if location.name in _catalogue(place, location.name):
        raise _taken(place, location.name)
    link = Link(STORE, address if "://" in address else place.where, location.name, links.new_id())
    uri = place.table(link.id)
    with explained(location.name, place.where):
        dataset = lance.write_dataset(SCHEMA.empty_table(), uri, storage_options=dict(place.options))
        maintenance.create_word_indexes(dataset)
    try:
        writer = LanceWriter(Table(location, link))
        writer.is_new = True
        with writer.transaction():
            if fill is not None:
                fill(writer)
        _register(place, location.name, link.id)
        links.write(location, link)
    except BaseException:
        _unregister(place, location.name, link.id)
        _drop(place, link.id)
        raise
    writer.is_new = False
    return writer


def link(location: Path, address: str, /) -> bool:
    """Make `location` a link to the collection of that name; False where the address has none."""
    place = _checked(location, address)
    identity = _catalogue(place, location.name).get(location.name)
    if identity is not None:
        stored = address if "://" in address else place.where
        links.write(location, Link(STORE, stored, location.name, identity))
    return identity is not None


def open_reader(location: Path, /) -> LanceReader:
    """Raises NotFound, Corrupt, SemsearchError for an object store that does not answer."""
    return LanceReader(Table(location, links.read(location)))


def open_writer(location: Path, /) -> LanceWriter:
    """As `open_reader`. Others may have it open for writing, too."""
    return LanceWriter(Table(location, links.read(location)))


def rename(location: Path, target: Path, /) -> None:
    """Rename the link, and the collection. Links of other machines lead to it as before.

    Raises NotFound, UsageError for a `target` in use.
    """
    link = links.read(location)
    links.check_target(location, target)
    place = Address.of(link.address)
    there = {identity: name for name, identity in _catalogue(place, location.name).items()}
    if there.get(link.id) not in (None, target.name):
        _register(place, target.name, link.id)
        _unregister(place, there[link.id], link.id)
    links.rename(location, target)


def remove(location: Path, /) -> list[str]:
    """Remove the collection, for all machines, and the link of this one; the names of the files that stay.

    Raises NotFound.
    """
    link = links.read(location)
    place = Address.of(link.address)
    for name, identity in _catalogue(place, location.name).items():
        if identity == link.id:
            _unregister(place, name, identity)
    _drop(place, link.id)
    return links.remove(location)


def salvage(location: Path, /) -> SalvageReader:
    """Raises UsageError: the files of a table are copied by other tools."""
    links.read(location)
    raise UsageError(
        f"index {location.name} is a table of Lance, which semsearch cannot salvage.",
        "Restore a dump, or a copy of the folder or bucket.",
    )


def sql(location: Path, /, *_: object) -> SqlRows:
    """Raises UsageError: the table answers other programs, such as DuckDB."""
    link = links.read(location)
    table = Address.of(link.address).table(link.id)
    raise UsageError(
        f"index {location.name} is a table of Lance, without SQL.", f"Ask it with DuckDB or pylance: {table}"
    )


restore = dumps.restoring(create)
unlink = links.remove  # the table stays


def _checked(location: Path, address: str) -> Address:
    """Raises UsageError without an address, and for a location in use."""
    place = Address.of(address)
    links.check_free(location, STORE)
    return place


def _catalogue(place: Address, name: str) -> dict[str, str]:
    """The ids of the collections at an address by their names; `name`: of the index, for messages."""
    try:
        with explained(name, place.where):
            dataset = lance.dataset(place.table(CATALOGUE), storage_options=dict(place.options))
            return {row["name"]: row["id"] for row in dataset.to_table().to_pylist()}
    except NotFound as error:
        if "NoSuchBucket" in str(error.__cause__):
            raise
        return {}


def _register(place: Address, name: str, identity: str) -> None:
    """Give a collection a name. Raises UsageError where another one has it."""
    row, options = pa.table({"name": [name], "id": [identity]}, schema=_CATALOGUE), dict(place.options)
    uri = place.table(CATALOGUE)
    with explained(name, place.where):
        try:
            lance.write_dataset(_CATALOGUE.empty_table(), uri, storage_options=options)
        except (OSError, ValueError) as error:
            if "already exists" not in str(error) and not is_conflict(error):
                raise
        merge = lance.dataset(uri, storage_options=options).merge_insert("name").when_not_matched_insert_all()
        merge.execute(row)
    if _catalogue(place, name)[name] != identity:
        raise _taken(place, name)


def _unregister(place: Address, name: str, identity: str) -> None:
    if _catalogue(place, name).get(name) == identity:
        with explained(name, place.where):
            dataset = lance.dataset(place.table(CATALOGUE), storage_options=dict(place.options))
            dataset.delete(f"name = {text(name)} AND id = {text(identity)}")


def _drop(place: Address, identity: str) -> None:
    try:
        with explained(identity, place.where):
            lance.LanceDataset.drop(place.table(identity), storage_options=dict(place.options))
    except NotFound:
        pass


def _taken(place: Address, name: str) -> SemsearchError:
    return UsageError(f"{place.where} has a collection called {name!r}.", "Link it, or choose another name.")
