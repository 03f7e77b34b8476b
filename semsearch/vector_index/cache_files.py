"""Files of vectors beside the store: built from a snapshot, switched to by a commit, deleted at any time.

A cache is written under another name, synced, hashed and renamed; then its row in `caches` is committed, and that is
the switch. Names are never used twice, so a file is complete or nobody reads it. On opening a file is read once, its
sha256 compared, and those bytes are parsed: mutated FAISS files load silently and answer wrongly in one case of ten.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from semsearch.errors import Corrupt, SemsearchError
from semsearch.stores.local.store import Store
from semsearch.stores.records import CacheRow
from semsearch.types import Progress
from semsearch.utils import plugins
from semsearch.utils.atomic_write import sync_file, sync_folder
from semsearch.vector_index import backends, planner

if TYPE_CHECKING:
    from semsearch.stores.local.store import Space
    from semsearch.types import Ids, VectorIndex, Vectors

TAIL = 10_000  # passages newer than the cache are scanned one by one: 0.5 ms at 384 dimensions
TAIL_SHARE = 0.05  # … or this share of a large index, whose cache is dear
DEAD_SHARE = 0.20  # of a cache; more make every search fetch more than it shows
FILES = "vectors-*.cache*"  # every file that is made here, half-written ones and those set aside too
KEPT = 2  # files: the newest, and one to fall back to
PROBES = 32  # stored vectors that `check` looks up
NEAR = 0.95  # cosine at which a stored vector has found itself; SQ8 is off by 0.01 at most
FIX = "The next `semsearch index` builds a new one, or at once: semsearch compact"


@dataclass(frozen=True)
class Opened:
    """The cache that is fit for use, its row, and what was wrong with the ones passed over."""

    backend: VectorIndex | None = None
    row: CacheRow | None = None
    warnings: tuple[str, ...] = ()


def open_newest(store: Store, space: Space, *, parse: bool = True) -> Opened:
    """The newest cache whose bytes are what was written, else the one before, else none.

    A file with other bytes is set aside as `.corrupt-<time>`, never deleted. parse: False only compares the
    bytes, for an index so small that its store is read as fast.
    """
    warnings: list[str] = []
    for row in store.caches(space.id):
        try:
            buffer = _sound(store.folder, row)
            if not parse:
                return Opened(warnings=tuple(warnings))
            return Opened(_parsed(space, row, buffer), row, tuple(warnings))
        except FileNotFoundError:
            warnings.append(f"the cache {row.file} is missing.")
        except (SemsearchError, OSError) as error:
            warnings.append(f"the cache {row.file} was not used: {getattr(error, 'message', error)}")
    if warnings:
        warnings.append(f"Searching without a cache: right, but slower. {FIX}")
    return Opened(warnings=tuple(warnings))


def why_rebuild(store: Store, space: Space, backend: str | None = None) -> str | None:
    """Why a new cache is due, in words; None while the present one will do.

    backend: what is wanted; None for what the recipe says.
    """
    count = store.counts()["vectors"].get(space.id, 0)
    rows = store.caches(space.id)
    if count == 0:
        return None
    if not rows:
        return "there is no cache yet"
    row = rows[0]
    tail = store.count_after(space.id, row.highest_id)
    dead = row.count - (count - tail)
    if not _complete(store.folder / row.file, row):
        return "the file of the newest cache is missing or cut short"
    if dead < 0:
        return f"{-dead:,} vectors are older than the cache but not in it"
    if tail > max(TAIL, TAIL_SHARE * row.count):
        return f"{tail:,} passages are newer than the cache of {row.count:,}"
    if dead > DEAD_SHARE * row.count:
        return f"{dead:,} of {row.count:,} cached passages are gone"
    return _why_other(backend or str(store.recipe().get("backend", "auto")), row, count, space.dim)


def rebuild(
    store: Store, space: Space, backend: str = "auto", progress: Callable[[Progress], None] | None = None
) -> CacheRow:
    """Build a cache of every vector of `space`, switch to it, and remove all but the one before.

    Raises UnknownName for a backend that is not there, SemsearchError where the file cannot be written; the present
    cache is untouched then.
    """
    with Store.open(store.folder) as reader, reader.snapshot():  # threads that share `store` go on meanwhile
        count = reader.counts()["vectors"].get(space.id, 0)
        choice = _choice(backend, count, space.dim)
        made: VectorIndex = plugins.load(backends, choice.backend).Backend.build(
            space.dim, lambda: _chunks(reader, space, count, progress), count=count
        )
    row = _written(store.folder, space, made, choice.why)
    with store.transaction():
        old = [known for known in store.caches(space.id) if _complete(store.folder / known.file, known)]
        kept = {known.id for known in old[: KEPT - 1]}
        for known in store.caches(space.id):
            if known.id not in kept:
                store.drop_cache(known.id)
        switched = store.add_cache(row)
    _sweep(store, space)
    return switched


def check(store: Store, space: Space) -> list[str]:
    """Everything that is off between the caches of `space` and the store; empty is good."""
    problems: list[str] = []
    for row in store.caches(space.id):
        try:
            backend = _parsed(space, row, _checked(store.folder / row.file, row))
            problems += [f"cache {row.file}: {problem}" for problem in _against_store(store, space, row, backend)]
        except FileNotFoundError:
            problems.append(f"cache {row.file}: the file is missing.")
        except (SemsearchError, OSError) as error:
            problems.append(f"cache {row.file}: {getattr(error, 'message', error)}")
    return problems


def backend_of(row: CacheRow) -> str:
    """The name of the backend that built a cache: the first word of its spec."""
    return row.spec.partition(" ")[0]


# ---- opening


def _sound(folder: Path, row: CacheRow) -> memoryview:
    path = folder / row.file
    try:
        return _checked(path, row)
    except Corrupt:
        _set_aside(path)
        raise


def _checked(path: Path, row: CacheRow) -> memoryview:
    """All bytes of a file, once. Raises Corrupt where they are not those of `row`, FileNotFoundError, OSError.

    The bytes that were hashed are the bytes that are used; reading again, or mapping the file, would not give that.
    """
    if path.name != row.file:
        raise SemsearchError(f"{row.file!r} is not the name of a file in this folder.")
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size != row.bytes:
            raise Corrupt(f"it has {size:,} bytes where {row.bytes:,} were written.")
        buffer = np.empty(size, dtype=np.uint8).data
        digest = hashlib.sha256()
        at = 0
        while at < size and (got := file.readinto(buffer[at : at + (1 << 22)])):
            digest.update(buffer[at : at + got])
            at += got
    if digest.hexdigest() != row.sha256:
        raise Corrupt("its sha256 is not that of what was written.")
    return buffer


def _parsed(space: Space, row: CacheRow, buffer: memoryview) -> VectorIndex:
    backend: VectorIndex = plugins.load(backends, backend_of(row)).Backend.read(buffer)
    highest = int(backend.ids[-1]) if len(backend) else 0
    if (backend.dim, len(backend), highest) != (space.dim, row.count, row.highest_id):
        raise SemsearchError("width, number of vectors or highest id are not those of its row.")
    return backend


def _set_aside(path: Path) -> None:
    with suppress(OSError):  # read-only media, or another reader was faster: it is not used in any case
        path.rename(path.with_name(f"{path.name}.corrupt-{time.strftime('%Y%m%dT%H%M%S')}"))


def _complete(path: Path, row: CacheRow) -> bool:
    try:
        return path.stat().st_size == row.bytes
    except OSError:
        return False


# ---- building


def _choice(backend: str, count: int, dim: int) -> planner.Choice:
    if backend == "auto":
        return planner.choose(count, dim, memory=planner.allowed_memory())
    return planner.Choice(backend, f"{count:,} vectors of width {dim}: {backend} was asked for.")


def _why_other(wanted: str, row: CacheRow, count: int, dim: int) -> str | None:
    built = backend_of(row)
    if wanted == "auto":
        if planner.fits(built, count, dim, memory=planner.allowed_memory()):
            return None
        wanted = _choice("auto", count, dim).backend
    return None if wanted == built else f"the cache is {built}, and {wanted} is wanted"


def _chunks(
    store: Store, space: Space, total: int, progress: Callable[[Progress], None] | None
) -> Iterator[tuple[Ids, Vectors]]:
    done = 0
    for ids, vectors in store.vectors(space.id):
        yield ids, vectors
        done += len(ids)
        if progress:
            progress(Progress(done, total, "passages", "vector cache"))


def _written(folder: Path, space: Space, made: VectorIndex, why: str) -> CacheRow:
    """Write, sync, hash, rename, sync the folder; the row that will name the file."""
    highest = int(made.ids[-1]) if len(made) else 0
    path = folder / f"{_prefix(space)}{highest}-{secrets.token_hex(4)}.cache"
    temporary = path.with_name(path.name + ".tmp")
    try:
        made.save(temporary)
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
            f"the vector cache could not be written: {error}.", "Every search is right without it, but slower."
        ) from error
    return CacheRow(
        id=0,
        space=space.id,
        file=path.name,
        bytes=size,
        sha256=digest,
        highest_id=highest,
        count=len(made),
        spec=f"{made.name} {made.spec}",
        faiss_version=made.engine,
        why=why,
    )


def _sweep(store: Store, space: Space) -> None:
    """Remove files of this space that no row names: old ones, and what a killed process left. Not the set aside."""
    named = {row.file for row in store.caches(space.id)}
    for path in store.folder.glob(f"{_prefix(space)}*"):
        if path.name not in named and path.name.endswith((".cache", ".cache.tmp")):
            with suppress(OSError):  # a reader on some systems still holds it: the next time
                path.unlink()


def _prefix(space: Space) -> str:
    return f"vectors-{space.id}-"


# ---- checking


def _against_store(store: Store, space: Space, row: CacheRow, backend: VectorIndex) -> Iterator[str]:
    """What a cache lacks of the store's vectors up to its highest id, and whether it finds some of them."""
    missing, blind, probed = 0, 0, 0
    for ids, vectors in store.vectors(space.id):
        old = ids <= row.highest_id
        missing += int((~np.isin(ids[old], backend.ids, assume_unique=True)).sum())
        step = max(1, row.count // PROBES)
        asked = vectors[old][:: min(step, len(vectors))]
        if probed < 2 * PROBES and len(asked):
            probed += len(asked)
            blind += int((backend.search(asked, 1)[1][:, 0] < NEAR).sum())
    if missing:
        yield f"{missing:,} stored vectors are not in it."
    if blind > probed * 0.1:
        yield f"{blind} of {probed} stored vectors do not find themselves."
