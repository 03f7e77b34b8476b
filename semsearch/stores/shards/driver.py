"""A folder of shards as a store that is only read. See `stores.drivers.StoreDriver`."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from semsearch.documents.vector_files import arrow
from semsearch.errors import NotFound, UsageError
from semsearch.stores.shards import manifest as manifests
from semsearch.stores.shards.location import SEARCH
from semsearch.stores.shards.reader import ShardsReader
from semsearch.utils.writer_lock import WriterLock

if TYPE_CHECKING:
    from semsearch.types import SqlRows

CHANGE = (
    "Write the shards again: semsearch index FILES --engine ray --to-shards DIR; "
    "then semsearch index --store shards:DIR."
)


def create(location: Path, *_: object, address: str = "") -> NoReturn:
    """Raises UsageError."""
    raise UsageError(f"a store of shards takes no documents, so {location.name} cannot be made in it.", CHANGE)


def link(location: Path, address: str) -> NoReturn:
    """Raises UsageError: a folder needs no link."""
    raise UsageError("a folder of shards needs no link.", f"Open it by its path: {address or 'DIR'}")


def unlink(location: Path) -> NoReturn:
    """Raises NotFound, UsageError."""
    manifests.job(location)
    raise UsageError(
        f"{location} is on this machine, and no link.",
        "Remove what makes it searchable.",
        "Remove what makes it searchable: semsearch rm.",
    )


def open_reader(location: Path) -> ShardsReader:
    """Raises NotFound, also for shards that cannot be searched yet, and Corrupt."""
    manifests.job(location)
    return ShardsReader(location)


def open_writer(location: Path) -> NoReturn:
    """Raises NotFound, UsageError."""
    manifests.job(location)
    raise UsageError(f"{location} is a folder of shards, which is only searched.", CHANGE)


def rename(location: Path, target: Path) -> NoReturn:
    """Raises NotFound, UsageError."""
    manifests.job(location)
    raise UsageError(f"{location} is a folder of shards, which has no other name.", "Rename the folder itself.")


def remove(location: Path) -> list[str]:
    """Remove what makes it searchable; the shards stay. Raises NotFound, Locked."""
    manifests.job(location)
    lock = WriterLock(location)
    try:
        shutil.rmtree(location / SEARCH, ignore_errors=True)
    finally:
        lock.release()
    return sorted(file.name for file in location.iterdir())


def accept_loss(location: Path) -> str | None:
    """None: nothing is acknowledged here. Raises NotFound, Locked."""
    manifests.job(location)
    WriterLock(location).release()
    return None


def dump(reader: ShardsReader, *_: object) -> NoReturn:
    """Raises UsageError."""
    raise UsageError(
        f"{reader.name} is a folder of shards, which is no dump of an index.",
        "Copy the folder, or load it into an index.",
        "Copy the folder, or load it into an index: semsearch index --from-vectors DIR -n NAME.",
    )


def restore(file: Path, location: Path, *_: object, address: str = "") -> NoReturn:
    """Raises UsageError."""
    raise UsageError(
        f"{file.name} cannot be restored as shards.",
        "Restore it as an index.",
        "Restore it without --store, as an index.",
    )


def salvage(location: Path) -> NoReturn:
    """Raises NotFound: a damaged shard is embedded again."""
    manifests.job(location)
    raise NotFound(f"{location} is a folder of shards, which can be written again.", CHANGE)


def sql(location: Path, *_: object) -> SqlRows:
    """Raises NotFound, UsageError."""
    manifests.job(location)
    raise UsageError(
        f"{location} is a folder of shards, which knows no SQL.", "Read its Parquet files with DuckDB or polars."
    )


def check_installation() -> str:
    """The version of pyarrow. Raises MissingExtra."""
    arrow("a store of shards", parquet=True)
    return f"pyarrow {version('pyarrow')}"
