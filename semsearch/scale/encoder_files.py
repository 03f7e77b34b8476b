"""The files of an encoder on their way to the machines of a cluster, which need not share a disk."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, TypeVar

from semsearch.encoders.base import BaseEncoder
from semsearch.errors import Corrupt, Locked, UsageError
from semsearch.models import bundle as bundles
from semsearch.models.model_ref import Reference
from semsearch.utils import user_cache
from semsearch.utils.writer_lock import WriterLock

T = TypeVar("T")
Files: TypeAlias = Mapping[str, tuple[int, T]]  # name -> bytes, and by what it is fetched
READY = ".complete"  # the file that says that a folder has all files of its encoder


def files_of(encoder: BaseEncoder) -> dict[str, Path]:
    """The files that a worker needs to run the encoder, by their path below its folder; none for one without a model.

    Raises UsageError for an encoder that is no saved one: what else its code would read is not known.
    """
    backend = encoder.backend
    if backend is None:
        raise UsageError(f"the encoder {encoder.name} is an object of this program.", "Use one with a name.")
    if backend.bundle is None:
        return {}
    folder = backend.bundle.folder
    if not (folder / bundles.MANIFEST).is_file():
        raise UsageError(
            f"{encoder.name} is no saved encoder, so it cannot be sent to the workers.",
            "Export it with semsearch.export, and use the folder.",
            f"Export it: semsearch export {encoder.reference} -o DIR. Then use -m DIR.",
        )
    names = [folder / bundles.MANIFEST, *backend.bundle.files()]
    return {file.relative_to(folder).as_posix(): file for file in names if file.is_relative_to(folder)}


def fetched(reference: str, fingerprint: str, files: Files[T], read: Callable[[T], bytes]) -> str:
    """The reference of the encoder on this machine, where its files are fetched unless they are here.

    read: gives the content of one of the `files`. Actors of one machine wait for the one that fetches. Raises Corrupt.
    """
    if not files:
        return reference
    which = hashlib.sha256(repr(sorted((name, size) for name, (size, _) in files.items())).encode()).hexdigest()[:8]
    folder = user_cache.folder() / "encoders" / f"{fingerprint}-{which}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / READY).exists():
        _fetch(folder, files, read)
    return str(replace(Reference.parse(reference), model=str(folder), revision=""))


def _fetch(folder: Path, files: Files[T], read: Callable[[T], bytes]) -> None:
    lock = _turn(folder)
    try:
        if (folder / READY).exists():
            return
        for name, (_, file) in files.items():
            path = folder / name
            if not path.resolve().is_relative_to(folder.resolve()):
                raise Corrupt(f"the encoder has a file outside its folder: {name}.")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(read(file))
        (folder / READY).touch()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        lock.release()


def _turn(folder: Path) -> WriterLock:
    """The lock of a folder, waited for: the others on this machine fetch the same files."""
    while True:
        try:
            return WriterLock(folder)
        except Locked:
            time.sleep(0.2)
