"""The actor of a job, which embeds parts on a machine of the cluster.

Ray imports this module there, so semsearch has to be installed on every machine, in the same version.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from semsearch import __version__
from semsearch.chunking.splitter import Splitter
from semsearch.encoders.encoder import Encoder
from semsearch.encoders.index_encoder import LazyEncoder
from semsearch.errors import SemsearchError
from semsearch.scale import encoder_files
from semsearch.scale.cluster import NAMESPACE, Ray, imported
from semsearch.scale.part_encoder import PartEncoder
from semsearch.scale.parts import Part
from semsearch.scale.store_writes import StoreWrites, Target
from semsearch.types import JsonMapping, JsonObject

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class JobSettings:
    """How documents are split and embedded: the same for every part of a job. `target`: where workers write."""

    reference: str
    name: str
    fingerprint: str
    dim: int
    splitter: JsonMapping
    context: bool
    target: Target | None = None

    def to_json(self) -> JsonObject:
        """What is recorded beside vectors that have arrived."""
        return {key: one for key, one in asdict(self).items() if key not in ("reference", "target")}


class EmbeddingActor:
    """Embeds parts. `coordinator`: its name; version: that of the driver; device: of the encoder, with its `threads`.

    Raises EncoderMismatch for another encoder, SemsearchError for another version, after it has told the coordinator.
    """

    def __init__(self, coordinator: str, version: str, how: JobSettings, threads: int, device: str) -> None:
        self._ray = imported()
        self._coordinator = self._ray.get_actor(coordinator, namespace=NAMESPACE)
        try:
            if version != __version__:
                raise SemsearchError(
                    f"a worker has semsearch {__version__}, and the driver {version}.", "Install the same version."
                )
            self._encoder = self._part_encoder(how, threads, device)
        except SemsearchError as error:
            self._get("tell", f"{error.message} (on {socket.gethostname()})")
            raise

    def __call__(self, rows: pyarrow.Table) -> Iterator[pyarrow.Table]:
        for row in rows.to_pylist():
            yield self._encoder.answer(Part.of_row(row)).table()

    def alive(self) -> None:
        """Say that a part goes on; nobody waits for that."""
        self._coordinator.alive.remote()

    def begun(self, what: str) -> int:
        """How often `what` was begun and not ended, over all actors of the job."""
        count: int = self._get("begun", what)
        return count

    def ended(self, what: str) -> None:
        """Say that `what` went well; nobody waits for that."""
        self._coordinator.ended.remote(what)

    def _part_encoder(self, how: JobSettings, threads: int, device: str) -> PartEncoder:
        """Raises EncoderMismatch for another encoder than the driver's. Its files are fetched unless they are here."""
        here = encoder_files.fetched(how.reference, how.fingerprint, self._get("files"), self._read)
        model = Encoder.load(here, threads=threads, device=device)
        encoder = LazyEncoder("the job", how.name, how.fingerprint, how.dim, recorded=None, encoder=model, owned=True)
        _ = encoder.model  # raises EncoderMismatch
        store = StoreWrites(how.target) if how.target else None
        worker = f"{socket.gethostname()}:{os.getpid()}"
        return PartEncoder(
            encoder, Splitter(**how.splitter), context=how.context, attempts=self, worker=worker, store=store
        )

    def _read(self, name: str, at: int) -> bytes:
        content: bytes = self._get("read", name, at)
        return content

    def _get(self, question: str, *arguments: object) -> Ray:
        return self._ray.get(getattr(self._coordinator, question).remote(*arguments))
