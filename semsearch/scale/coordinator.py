"""The coordinator of a job: an actor beside the driver that hands out the encoder and counts attempts.

Actors that embed fetch the encoder's files from it, since machines need not share a disk, and since arguments in Ray's
object store can be lost with a node when an actor is started again. It reads the files on the driver's machine.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from semsearch.scale.cluster import NAMESPACE, Ray

CHUNK = 2**24  # bytes of a file that are passed at a time


class Coordinator:
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
def started(ray: Ray, files: dict[str, str]) -> Iterator[tuple[str, Ray]]:
    """The actor of the driver's machine from which the others fetch the encoder, and its name."""
    strategies: Ray = import_module("ray.util.scheduling_strategies")
    name = f"coordinator-{os.getpid()}-{secrets.token_hex(6)}"
    here = strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(Coordinator).options(name=name, num_cpus=0, scheduling_strategy=here, namespace=NAMESPACE)
    handle = actor.remote(files)
    try:
        yield name, handle
    finally:
        with suppress(Exception):  # the cluster may be gone
            ray.kill(handle)
