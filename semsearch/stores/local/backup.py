"""Dump of the whole index to one file, and restoring.

A dump is a zip of a header (what it is, and the SHA-256 of the rest) and a copy of the SQLite file; an encoder may be
beside them. SQLite's VACUUM INTO makes the copy: of one moment, while others read and write, without deleted rows, and
exact, ids included. A format of our own would be a second definition of every table. The caches are left out: they are
built again. Nothing in a dump names a path to write to, and nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from semsearch.errors import Corrupt, SemsearchError, UsageError
from semsearch.stores.base import check_restore
from semsearch.stores.local.database import schema, sqlite
from semsearch.stores.local.database.steps import Steps, watched
from semsearch.stores.local.folder import refuse_address
from semsearch.stores.local.integrity.verify import verify
from semsearch.stores.local.location import DATABASE
from semsearch.stores.local.reader import LocalReader
from semsearch.stores.local.writer import LocalWriter
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import StoreState
from semsearch.types import JsonObject, Progress
from semsearch.utils.atomic_write import sync_file, sync_folder, workplace
from semsearch.utils.writer_lock import LOCK, PID

FORMAT = 1
HEADER = "dump.json"
BESIDE = "encoder/"  # of files that are not the store's: an encoder that whoever dumps has put beside it
LONGEST_HEADER = 2**16
PIECE = 2**20
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same index gives the same file
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, KeyError, TypeError,
    OverflowError,
)  # fmt: skip
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # other methods have errors of their own


def dump(reader: StoreReader, file: Path, progress: Callable[[Progress], None] = lambda _: None) -> None:
    """Write the present content of a store to `file`, in place of a file with that name.

    The copy is verified first: raises Corrupt if it could not be restored, UsageError where `file` is a device or the
    like. Needs disk space for the copy beside `file`. Memory is bounded, also by the page caches. An exception of
    `progress` ends it, and leaves nothing.
    """
    steps = Steps(progress, "steps", "copying the database", "verifying the copy", "compacting the copy", "packing it")
    if not isinstance(reader, LocalReader):
        raise UsageError(f"{reader.name} is no local store ({type(reader).__name__}).", "Dump it with its own driver.")
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise UsageError(f"{file} is a device, a pipe or a socket, and no file.", "Choose another name for the dump.")
    with _file_errors(file), workplace(file, "dumping") as place:
        steps.begin()
        with reader.connection.exclusive() as connection, watched(connection, lambda: _copied(place / DATABASE, steps)):
            reader.connection.rows("VACUUM INTO ?", (str(place / DATABASE),))
        with LocalWriter.open(place) as copy:
            steps.begin()
            _prepare(copy, f"{reader.location} is damaged, and a dump of it could not be restored", steps)
            steps.begin()
            copy.compact(steps.part)  # the full-text index has deleted words until it is merged
            header = {"format": FORMAT, "schema": schema.VERSION, "counts": _counts(copy.reader.state())}
        packed = place / "dump.zip"
        steps.begin()
        _pack(place / DATABASE, packed, header, steps)
        sync_file(packed)
        packed.replace(file)
        sync_folder(file.absolute().parent)


def restore(
    file: Path,
    folder: Path,
    prepare: Callable[[LocalWriter], None] | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    *,
    address: str = "",
) -> None:
    """Make the new folder `folder` from a dump. It appears when everything in it has been verified and `prepare` ran.

    Raises NotFound without the file, UsageError where `folder` exists, Corrupt for a file that is not a whole dump.
    """
    refuse_address(address)
    check_restore(file, folder)
    with _file_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
    steps = Steps(progress, "steps", "unpacking", "verifying")
    with _file_errors(folder), workplace(folder, "restoring") as place:
        steps.begin()
        _unpack(file, place / DATABASE, steps)
        with LocalWriter.open(place) as copy:
            steps.begin()
            _prepare(copy, f"{file} is damaged", steps)
            if prepare is not None:
                prepare(copy)
        for left in (LOCK, PID):
            (place / left).unlink(missing_ok=True)
        sync_file(place / DATABASE)
        sync_folder(place)
        if folder.exists():
            raise UsageError(f"{folder} has appeared meanwhile.", "Restore under another name.")
        place.rename(folder)
        sync_folder(folder.absolute().parent)


def _counts(state: StoreState) -> JsonObject:
    return {"documents": state.documents, "passages": state.passages, "vectors": state.vectors}


def _copied(database: Path, steps: Steps) -> None:
    steps.tell(f"{database.stat().st_size / 1e6:,.0f} MB" if database.exists() else "")


def _prepare(copy: LocalWriter, complaint: str, steps: Steps) -> None:
    if problems := verify(copy.connection, steps.part):
        if error := sqlite.unreadable(copy.connection.folder):
            raise error
        raise Corrupt(f"{complaint}: {' '.join(problems[:3])}", "Nothing was written.")
    with copy.transaction():
        copy.connection.execute("DELETE FROM caches")


def _pack(database: Path, packed: Path, header: dict[str, Any], steps: Steps) -> None:
    with database.open("rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    size = database.stat().st_size
    header = {"semsearch": "dump", **header, "bytes": size, "sha256": sha256}
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_member(HEADER), json.dumps(header, indent=1))
        with database.open("rb") as content, archive.open(_member(DATABASE), "w", force_zip64=True) as to:
            for piece in _reported(content, size, steps):
                to.write(piece)


def _reported(content: IO[bytes], size: int, steps: Steps) -> Iterator[bytes]:
    """The pieces of a file of `size` bytes, reported as they pass."""
    done = 0
    for piece in iter(lambda: content.read(PIECE), b""):
        done += len(piece)
        steps.tell(f"{done / 1e6:,.0f} of {size / 1e6:,.0f} MB")
        yield piece


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _EPOCH)
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


def _unpack(file: Path, database: Path, steps: Steps) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            packed = {member.compress_type for member in archive.infolist()}
            own = sorted(name for name in archive.namelist() if not name.startswith(BESIDE))
            if own != sorted([HEADER, DATABASE]) or not packed <= set(_PACKED):
                raise Corrupt(f"{file} is not a dump of semsearch.")
            with archive.open(HEADER) as member:
                header = json.loads(member.read(LONGEST_HEADER))
            if not isinstance(header, dict) or header.get("semsearch") != "dump":
                raise Corrupt(f"{file} is not a dump of semsearch.")
            if header["format"] > FORMAT or header["schema"] > schema.VERSION:
                raise SemsearchError(f"{file} was made by a newer semsearch.", schema.UPGRADE)
            with archive.open(DATABASE) as member, database.open("xb") as to:
                _copy_exactly(member, to, int(header["bytes"]), str(header["sha256"]), steps)
    except _DAMAGE as error:
        raise Corrupt(f"{file} is damaged, or is not a dump of semsearch ({error}).", "Nothing was written.") from error


def _copy_exactly(member: IO[bytes], to: IO[bytes], size: int, sha256: str, steps: Steps) -> None:
    """Copy `size` bytes, and never more, even from a larger archive. Raises ValueError."""
    digest, done = hashlib.sha256(), 0
    for piece in _reported(member, size, steps):
        done += len(piece)
        if done > size:
            break
        digest.update(piece)
        to.write(piece)
    if done != size or digest.hexdigest() != sha256:
        raise ValueError("size or checksum are not those in its header")


@contextmanager
def _file_errors(target: Path) -> Iterator[None]:
    """Errors of the disk, also those of a database in the making, as one about `target`."""
    try:
        yield
    except OSError as error:
        raise SemsearchError(
            f"{target} cannot be written: {error.strerror or error}.", "Choose another place."
        ) from error
    except SemsearchError as error:
        if not isinstance(error.__cause__, sqlite3.Error) or not (reason := sqlite.write_failure(error.__cause__)):
            raise
        raise SemsearchError(
            f"{target} cannot be written: {reason}.", "Free some space, or choose another place."
        ) from error
