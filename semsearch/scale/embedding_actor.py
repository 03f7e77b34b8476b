"""The actor of a job, which embeds parts on a machine of the cluster.

Ray imports this module there, so semsearch has to be installed on every machine, in the same version.
"""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass

from semsearch import __version__
from semsearch.chunking.splitter import Splitter
from semsearch.encoders.encoder import Encoder
from semsearch.encoders.index_encoder import LazyEncoder
from semsearch.errors import SemsearchError
from semsearch.scale import encoder_files
from semsearch.scale.cluster import Engine, Ray, imported
from semsearch.scale.encoder_files import Files
from semsearch.scale.part_encoder import PartEncoder
from semsearch.scale.parts import Answer, Part
from semsearch.scale.worker_pool import Worker
from semsearch.types import JsonMapping, JsonObject


@dataclass(frozen=True, slots=True)
class JobSettings:
    """How documents are split and embedded: the same for every part of a job."""

    reference: str
    name: str
    fingerprint: str
    dim: int
    splitter: JsonMapping
    context: bool

    def to_json(self) -> JsonObject:
        """What is recorded beside vectors that have arrived."""
        return {key: one for key, one in asdict(self).items() if key != "reference"}


class EmbeddingActor:
    """Embeds parts, once it has begun."""

    def begin(self, version: str, how: JobSettings, files: Files[Ray], threads: int, device: str) -> str:
        """Load the encoder, unless that cannot be done: why, in a line.

        version: that of the driver; files: those of the encoder, in Ray's object store; device: of the encoder.
        """
        try:
            if version != __version__:
                reason = f"a worker has semsearch {__version__}, and the driver {version}."
                raise SemsearchError(reason, "Install the same version.")
            ray = imported()
            here = encoder_files.fetched(how.reference, how.fingerprint, files, ray.get)
            model = Encoder.load(here, threads=threads, device=device)
            encoder = LazyEncoder(
                "the job", how.name, how.fingerprint, how.dim, recorded=None, encoder=model, owned=True
            )
            _ = encoder.model  # raises EncoderMismatch
            worker = f"{socket.gethostname()}:{os.getpid()}"
            splitter = Splitter(**how.splitter)
            self._encoder = PartEncoder(encoder, splitter, context=how.context, worker=worker)
        except SemsearchError as error:
            return f"{error.message} (on {socket.gethostname()})"
        return ""

    def embed(self, part: Part) -> Answer:
        """The answer to a part."""
        return self._encoder.answer(part)


def started(ray: Ray, engine: Engine, how: JobSettings, files: Files[Ray]) -> Worker:
    """An actor that begins once Ray has room for it."""
    resources = {"num_cpus": engine.cpus, "num_gpus": engine.gpus}
    actor = ray.remote(EmbeddingActor).options(**resources, max_restarts=0).remote()
    threads, device = max(1, int(engine.cpus)), "cuda" if engine.gpus else "cpu"
    return Worker(actor, actor.begin.remote(__version__, how, files, threads, device))
