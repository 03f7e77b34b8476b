"""Cache files: a vector index on disk beside its store, which can be deleted at any time.

A file is written under another name, synced, hashed and renamed; then the store commits the row with its name, and that
commit is the switch. Names are never reused, so no incomplete file is ever read. On opening, a file is read once, its
sha256 compared, and those bytes are parsed: mutated FAISS files load silently and answer wrongly in one case of ten.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.errors import Corrupt, SemsearchError
from semsearch.utils import plugins
from semsearch.utils.atomic_write import sync_file, sync_folder
from semsearch.utils.late_numpy import np
from semsearch.vector_index import backends, planner

if TYPE_CHECKING:
    from semsearch.types import VectorIndex

DELTA = 10_000  # passages newer than the cache are scanned one by one: 0.5 ms at 384 dimensions
DELTA_SHARE = 0.05  # … or this share of a large index, which is expensive to rebuild
DEAD_SHARE = 0.20  # of a cache; with more, every search fetches far more than it shows
FILES = "vectors-*.cache*"  # every file made here, also unfinished ones and those set aside
FIRST_CODES = "SQ8"  # in the spec of a file in the first format of `ivf` and `compressed`, which is not read any more
REQUESTED = "was requested"  # a reason for a backend
FIX = "The next update of the index builds a new one; so does compacting it, at once."


@dataclass(frozen=True, slots=True)
class CacheFile:
    """A vector index on disk that was built from the store up to passage `highest_id`."""

    id: int
    space: int
    file: str
    bytes: int
    sha256: str
    highest_id: int
    count: int
    spec: str
    faiss_version: str
    why: str

    @property
    def backend(self) -> str:
        """The name of the backend that built it: the first word of its spec."""
        return self.spec.partition(" ")[0]


@dataclass(frozen=True)
class OpenCache:
    """The cache to use with its record, or None, and the problems of newer ones."""

    index: VectorIndex | None = None
    record: CacheFile | None = None
    warnings: tuple[str, ...] = ()


def open_newest(folder: Path, records: Sequence[CacheFile], dim: int, *, parse: bool = True) -> OpenCache:
    """The first of `records` whose file has the recorded bytes, if any.

    A file with other bytes is set aside as `.corrupt-<time>`, never deleted. parse: False only compares the
    bytes, for a small index, whose store is read as fast.
    """
    warnings: list[str] = []
    for record in records:
        try:
            buffer = _checked_or_set_aside(folder, record)
            if not parse:
                return OpenCache(warnings=tuple(warnings))
            return OpenCache(_parsed(buffer, record, dim), record, tuple(warnings))
        except FileNotFoundError:
            warnings.append(f"the cache {record.file} is missing.")
        except (SemsearchError, OSError) as error:
            warnings.append(f"the cache {record.file} was not used: {getattr(error, 'message', error)}")
    if warnings:
        warnings.append(f"Searching without a cache: correct, but slower. {FIX}")
    return OpenCache(warnings=tuple(warnings))


def read(folder: Path, record: CacheFile, dim: int) -> VectorIndex:
    """The vector index in a file. Raises Corrupt, FileNotFoundError, OSError, SemsearchError."""
    return _parsed(_checked(folder / record.file, record), record, dim)


def is_useful(newest: CacheFile | None, count: int, backend: str) -> bool:
    """Whether `count` vectors have a cache: searches read few from the store. One that exists or was named is kept."""
    return count > planner.SMALL or newest is not None or backend != "auto"


def staleness(folder: Path, newest: CacheFile | None, count: int, newer: int, dim: int, backend: str) -> str | None:
    """Why a new cache is due, in words; None if the newest one is still good.

    count: vectors in the store now; newer: those beyond the cache; backend: the requested one, or "auto".
    """
    if count == 0 or not is_useful(newest, count, backend):
        return None
    if newest is None:
        return "there is no cache yet"
    if FIRST_CODES in newest.spec:
        return "the newest cache has the format of an older version"
    dead = newest.count - (count - newer)
    if not is_complete(folder, newest):
        return "the file of the newest cache is missing or truncated"
    if dead < 0:
        return f"{-dead:,} vectors are older than the cache but not in it"
    if newer > max(DELTA, DELTA_SHARE * newest.count):
        return f"{newer:,} passages are newer than the cache of {newest.count:,}"
    if dead > DEAD_SHARE * newest.count:
        return f"{dead:,} of {newest.count:,} cached passages are deleted"
    if backend == "auto" and planner.fits(newest.backend, count, dim, memory=planner.allowed_memory()):
        return None
    choice = choose(backend, count, dim).backend
    return None if choice == newest.backend else f"the cache is {newest.backend}, and {choice} is wanted"


def has_grown(newest: CacheFile | None, highest_id: int, share: float) -> bool:
    """Whether passages are newer than the newest cache: more than are quickly scanned, and than `share` of the cache.

    Asked after every batch of a run, so the highest id is compared, and the newer passages are not counted.
    """
    covered, count = (newest.highest_id, newest.count) if newest else (0, 0)
    return highest_id - covered > max(DELTA, share * count)


def write(folder: Path, space: int, index: VectorIndex, why: str) -> CacheFile:
    """Write, sync, hash, rename, sync the folder; the record of the file. Raises SemsearchError."""
    highest = int(index.ids[-1]) if len(index) else 0
    path = folder / f"vectors-{space}-{highest}-{secrets.token_hex(4)}.cache"
    temporary = path.with_name(path.name + ".tmp")
    try:
        index.save(temporary)
        sync_file(temporary)
        with temporary.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        temporary.rename(path)
        sync_folder(folder)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise SemsearchError(
            f"{folder}: the vector cache could not be written: {error.strerror or error}.",
            "Every search is correct without it, but slower.",
        ) from error
    spec = f"{index.name} {index.spec}"
    return CacheFile(0, space, path.name, size, digest, highest, len(index), spec, index.engine, why)


def sweep(folder: Path, named: Collection[str]) -> None:
    """Remove the files that are not in `named`: old and unfinished ones, but none that was set aside."""
    for path in folder.glob(FILES):
        if path.name not in named and path.name.endswith((".cache", ".cache.tmp")):
            with suppress(OSError):  # on some systems while a reader has it open: removed the next time
                path.unlink()


def is_complete(folder: Path, record: CacheFile) -> bool:
    """Whether the file exists in full length; its content is not read."""
    try:
        return (folder / record.file).stat().st_size == record.bytes
    except OSError:
        return False


def choose(backend: str, count: int, dim: int) -> planner.Choice:
    """The backend to build: the planner's choice for "auto", else `backend`."""
    if backend == "auto":
        return planner.choose(count, dim, memory=planner.allowed_memory())
    return planner.Choice(backend, f"{count:,} vectors; {backend} {REQUESTED}")


def reason(record: CacheFile | None, count: int, dim: int) -> str:
    """Why the backend of `record` serves `count` vectors, which may be more or fewer than when it was built."""
    if record is None:
        why = f"read from the store up to {planner.SMALL:,}" if count <= planner.SMALL else "there is no cache yet"
        return f"{count:,} vectors; {why}" if count else "empty"
    if REQUESTED in record.why:
        return f"{count:,} vectors; {record.backend} {REQUESTED}"
    present = choose("auto", count, dim)
    near = f"{count:,} vectors; near the limit at which {present.backend} takes its place"
    return present.why if present.backend == record.backend else near


def _checked_or_set_aside(folder: Path, record: CacheFile) -> memoryview:
    path = folder / record.file
    try:
        return _checked(path, record)
    except Corrupt:
        with suppress(OSError):  # on read-only media, or renamed by another reader: it is not used in any case
            path.rename(path.with_name(f"{path.name}.corrupt-{time.strftime('%Y%m%dT%H%M%S')}"))
        raise


def _checked(path: Path, record: CacheFile) -> memoryview:
    """All bytes of a file. Raises Corrupt if they are not those of `record`, FileNotFoundError, OSError.

    The hashed bytes are the ones used; a second read, or a memory map, might give others.
    """
    if path.name != record.file:
        raise SemsearchError(f"{record.file!r} is not the name of a file in this folder.")
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size != record.bytes:
            raise Corrupt(f"it has {size:,} bytes where {record.bytes:,} were written.")
        buffer = np.empty(size, dtype=np.uint8).data
        digest = hashlib.sha256()
        at = 0
        while at < size and (got := file.readinto(buffer[at : at + (1 << 22)])):
            digest.update(buffer[at : at + got])
            at += got
    if digest.hexdigest() != record.sha256:
        raise Corrupt("its sha256 is not the recorded one.")
    return buffer


def _parsed(buffer: memoryview, record: CacheFile, dim: int) -> VectorIndex:
    index: VectorIndex = plugins.load(backends, record.backend).Backend.read(buffer)
    highest = int(index.ids[-1]) if len(index) else 0
    if (index.dim, len(index), highest) != (dim, record.count, record.highest_id):
        raise SemsearchError("width, number of vectors or highest id are not those of its record.")
    return index
