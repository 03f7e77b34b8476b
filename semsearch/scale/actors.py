"""What runs on the machines of a cluster: the actor that embeds parts, and the tasks that read shards.

Ray imports this module there, so semsearch has to be installed on every machine, in the same version.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from semsearch import __version__
from semsearch.chunking.splitter import Splitter
from semsearch.encoders.encoder import Encoder
from semsearch.encoders.index_encoder import LazyEncoder
from semsearch.errors import SemsearchError
from semsearch.scale import desk, parts, worker_writes
from semsearch.scale.cluster import NAMESPACE, imported
from semsearch.scale.encoding import Embedding
from semsearch.scale.known import Known
from semsearch.scale.shards.shard import Piece, Shard
from semsearch.scale.worker_writes import Target
from semsearch.types import JsonMapping, JsonObject

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class How:
    """How documents are split and embedded: the same for every part of a job."""

    reference: str
    name: str
    fingerprint: str
    dim: int
    splitter: JsonMapping
    context: bool
    target: Target | None = None

    def job(self) -> JsonObject:
        """What the folder of shards records."""
        return {
            "encoder": self.name,
            "fingerprint": self.fingerprint,
            "dim": self.dim,
            "splitter": dict(self.splitter),
            "context": self.context,
        }

    def way(self) -> str:
        """A text that is the same where the vectors of a document, and the place where they go, are the same."""
        place = self.target.collection if self.target else ""
        return json.dumps([self.fingerprint, self.context, sorted(self.splitter.items()), place])


class Worker:
    """An actor of a pool. `desk_name`: of the actor that hands out files; version: that of the driver."""

    def __init__(self, desk_name: str, version: str) -> None:
        self._ray = imported()
        self._desk = self._ray.get_actor(desk_name, namespace=NAMESPACE)
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        try:
            if version != __version__:
                raise SemsearchError(
                    f"a worker has semsearch {__version__}, and the driver {version}.", "Install the same version."
                )
            self.begin()
        except SemsearchError as error:
            self._get("tell", f"{error.message} (on {socket.gethostname()})")
            raise

    def begin(self) -> None:
        """Open what the actor works with. Raises SemsearchError."""

    def alive(self) -> None:
        """Say that a part goes on; nobody waits for that."""
        self._desk.alive.remote()

    def encoder(self, reference: str, fingerprint: str, threads: int, device: str) -> Encoder:
        """The encoder of the driver, whose files are fetched unless they are here."""
        found = desk.fetched(reference, fingerprint, self._get("files"), self._read)
        return Encoder.load(found, threads=threads, device=device)

    def _read(self, name: str, at: int) -> bytes:
        content: bytes = self._get("read", name, at)
        return content

    def _get(self, question: str, *arguments: object) -> Any:
        return self._ray.get(getattr(self._desk, question).remote(*arguments))


class Embedder(Worker):
    """An actor that embeds parts."""

    def __init__(self, desk_name: str, version: str, how: How, threads: int, device: str) -> None:
        self._how, self._power = how, (threads, device)
        super().__init__(desk_name, version)

    def __call__(self, rows: pyarrow.Table) -> Iterator[pyarrow.Table]:
        for row in rows.to_pylist():
            yield self._embedding.answer(parts.part_of(row)).table()

    def begun(self, what: str) -> int:
        """How often `what` was begun and not ended, over all actors of the job."""
        count: int = self._get("begun", what)
        return count

    def ended(self, what: str) -> None:
        """Say that `what` went well; nobody waits for that."""
        self._desk.ended.remote(what)

    def begin(self) -> None:
        """Raises EncoderMismatch for another encoder."""
        how = self._how
        model = self.encoder(how.reference, how.fingerprint, *self._power)
        encoder = LazyEncoder("the job", how.name, how.fingerprint, how.dim, recorded=None, wanted=model, owned=True)
        _ = encoder.model  # raises EncoderMismatch
        store = worker_writes.Writing(how.target) if how.target else None
        self._embedding = Embedding(
            encoder, Splitter(**how.splitter), context=how.context, attempts=self, worker=self.name, store=store
        )


def source(shards: Sequence[Shard], known: Any) -> Any:
    """A data source of Ray Data with a task for each shard.

    known: a reference to the keys of documents to leave out. Files are read on the machine of the driver.
    """
    data: Any = import_module("ray.data.datasource")
    described: Any = import_module("ray.data.block").BlockMetadata

    class Shards(data.Datasource):  # type: ignore[misc]  # of Ray, which is not imported where it is not used
        @property
        def supports_distributed_reads(self) -> bool:
            return False

        def estimate_inmemory_data_size(self) -> int:
            return sum(shard.size for shard in shards)

        def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[Any]:
            return [data.ReadTask(reading(shard, known), _metadata(described, shard)) for shard in shards]

        def get_name(self) -> str:
            return "Shards"

    return Shards()


def reading(shard: Shard, known: Any) -> Callable[[], Iterable[pyarrow.Table]]:
    """The function of a task that reads a shard."""
    name, pieces = shard.name, [piece.to_json() for piece in shard.pieces]

    def read() -> Iterator[pyarrow.Table]:
        keys = None if known is None else Known(imported().get(known))
        items = parts.located([Piece.from_json(piece) for piece in pieces])
        yield from (part.table() for part in parts.parts(name, items, keys))

    return read


def _metadata(kind: Any, shard: Shard) -> Any:
    """A description of what a task will read, which differs between versions of Ray."""
    known: Mapping[str, Any] = {"num_rows": None, "size_bytes": shard.size, "input_files": None, "exec_stats": None}
    fields = getattr(kind, "__dataclass_fields__", known)
    return kind(**{name: value for name, value in known.items() if name in fields})
