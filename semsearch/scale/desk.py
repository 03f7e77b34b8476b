"""The desk of a job: an actor beside the driver that hands out the encoder and counts attempts.

Actors that embed fetch the encoder's files from it, since machines need not share a disk, and since arguments in Ray's
object store can be lost with a node when an actor is started again. It reads the files on the driver's machine.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from semsearch.encoders.base import BaseEncoder
from semsearch.errors import Corrupt, Locked, UsageError
from semsearch.models import bundle as bundles
from semsearch.models.model_ref import Reference
from semsearch.scale.cluster import NAMESPACE
from semsearch.utils import user_cache
from semsearch.utils.writer_lock import WriterLock

CHUNK = 2**24  # bytes of a file that are passed at a time
READY = ".complete"  # the file that says that a folder has all files of its encoder


class Desk:
    """Answers the actors of one job.

    files: those of the encoder, by their path below its folder: paths on this machine.
    """

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files
        self._begun: Counter[str] = Counter()
        self._problems: list[str] = []
        self._beats = 0

    def files(self) -> dict[str, int]:
        """The encoder's files, with their sizes in bytes."""
        return {name: Path(one).stat().st_size for name, one in self._files.items()}

    def read(self, name: str, at: int) -> bytes:
        """At most CHUNK bytes of a file, from byte `at` on."""
        self._beats += 1
        with Path(self._files[name]).open("rb") as file:
            file.seek(at)
            return file.read(CHUNK)

    def begun(self, what: str) -> int:
        """How often `what` was begun and not ended, this time included."""
        self._beats += 1
        self._begun[what] += 1
        return self._begun[what]

    def ended(self, what: str) -> None:
        """Say that `what` went well."""
        self._begun.pop(what, None)

    def alive(self) -> None:
        """Say that an actor goes on with a part that takes long."""
        self._beats += 1

    def beats(self) -> int:
        """How often an actor has asked or said something that shows that it goes on."""
        return self._beats

    def tell(self, problem: str) -> None:
        """Say why an actor cannot work."""
        self._problems.append(problem)

    def problems(self) -> Sequence[str]:
        """What the actors said."""
        return self._problems


@contextmanager
def opened(ray: Any, files: dict[str, str]) -> Iterator[tuple[str, Any]]:
    """The actor of the driver's machine from which the others fetch the encoder, and its name."""
    strategies: Any = import_module("ray.util.scheduling_strategies")
    name = f"desk-{os.getpid()}-{secrets.token_hex(6)}"
    here = strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(Desk).options(name=name, num_cpus=0, scheduling_strategy=here, namespace=NAMESPACE)
    handle = actor.remote(files)
    try:
        yield name, handle
    finally:
        with suppress(Exception):  # the cluster may be gone
            ray.kill(handle)


def encoder_files(encoder: BaseEncoder) -> dict[str, str]:
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
    return {file.relative_to(folder).as_posix(): str(file) for file in names if file.is_relative_to(folder)}


def fetched(reference: str, fingerprint: str, sizes: dict[str, int], read: Callable[[str, int], bytes]) -> str:
    """The reference of the encoder on this machine, where its files are fetched unless they are here.

    read: gives bytes of a file from a place on. Actors of one machine wait for the one that fetches. Raises Corrupt.
    """
    if not sizes:
        return reference
    which = hashlib.sha256(repr(sorted(sizes.items())).encode()).hexdigest()[:8]
    folder = user_cache.folder() / "encoders" / f"{fingerprint}-{which}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / READY).exists():
        _fetch(folder, sizes, read)
    return str(replace(Reference.parse(reference), model=str(folder), revision=""))


def _fetch(folder: Path, sizes: dict[str, int], read: Callable[[str, int], bytes]) -> None:
    lock = _turn(folder)
    try:
        if (folder / READY).exists():
            return
        for name, size in sizes.items():
            path = folder / name
            if not path.resolve().is_relative_to(folder.resolve()):
                raise Corrupt(f"the encoder has a file outside its folder: {name}.")
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                while file.tell() < size and (chunk := read(name, file.tell())):
                    file.write(chunk)
            if path.stat().st_size != size:
                raise Corrupt(f"the encoder's file {name} arrived with {path.stat().st_size} of {size} bytes.")
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
