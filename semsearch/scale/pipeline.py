"""The pipeline of Ray Data that embeds shards: shards ─ reading tasks ─ parts ─ actors ─ answers.

Ray gives a part to another actor where one is lost, may have a part answered twice, and a task run twice.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING

from semsearch import __version__
from semsearch.errors import SemsearchError
from semsearch.scale.cluster import Engine, Ray, imported, most_workers
from semsearch.scale.embedding_actor import EmbeddingActor, JobSettings
from semsearch.scale.keys import DocumentKeys
from semsearch.scale.parts import Answer, parts
from semsearch.scale.shards import Piece, Shard
from semsearch.utils.untrusted import one_line

if TYPE_CHECKING:
    import pyarrow

SERVED = 8  # workers by a reading task: a core reads some thousand documents a second, and embeds some hundred
BLOCK_BYTES = 1  # Ray puts rows together up to this size: a row is a block, and each goes to the next free actor
WAITING = 64  # answers in memory that the driver has not taken yet; the cluster waits for it then
IN_FLIGHT = 2  # parts sent to an actor: one is worked on while the next arrives
AGAIN = "What is embedded stays: run the same command again."


def dataset(
    ray: Ray, shards: Sequence[Shard], how: JobSettings, engine: Engine, coordinator: str, present: DocumentKeys
) -> Ray:
    """The answers to all parts as a dataset, not begun yet; documents that are `present` are left out.

    Raises UsageError where the workers do not fit on the nodes that are alive now.
    """
    most = most_workers(engine, [node["Resources"] for node in ray.nodes() if node["Alive"]])
    threads, device = max(1, int(engine.cpus)), "cuda" if engine.gpus else "cpu"
    keys = ray.put(present.keys) if len(present) else None  # one copy for all tasks of a machine
    with _context(ray):
        read = ray.data.read_datasource(
            _source(shards, keys),
            override_num_blocks=len(shards),
            concurrency=-(-most // SERVED),  # a process each, which takes seconds to start
            num_cpus=0.0,  # on the driver's machine, which may offer no processor
        )
        return read.map_batches(
            EmbeddingActor,
            batch_size=1 if engine.gpus else None,  # Ray refuses None with GPUs; a block is one row either way
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(
                min_size=engine.least, max_size=most, max_tasks_in_flight_per_actor=IN_FLIGHT
            ),
            fn_constructor_args=(coordinator, __version__, how, threads, device),
            num_cpus=engine.cpus,
            num_gpus=engine.gpus or None,
        )


@contextmanager
def _context(ray: Ray) -> Iterator[None]:
    """Settings of Ray Data for the dataset that is made inside."""
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    current = ray.data.DataContext.get_current()
    before = current.target_max_block_size, current.enable_progress_bars
    current.target_max_block_size, current.enable_progress_bars = BLOCK_BYTES, False
    try:
        yield
    finally:
        current.target_max_block_size, current.enable_progress_bars = before


def answers(ray: Ray, dataset: Ray, coordinator: Ray, patience: float) -> Generator[Answer, None, None]:
    """The answers as they arrive; one may come twice.

    Raises SemsearchError after so many seconds without one, in which no actor has said that it goes on either.
    """
    arrived: queue.Queue[tuple[Answer] | BaseException | None] = queue.Queue(WAITING)
    ended = threading.Event()

    def put(arrival: tuple[Answer] | BaseException | None) -> None:
        while not ended.is_set():
            with suppress(queue.Full):
                arrived.put(arrival, timeout=1)
                return

    def follow() -> None:
        try:
            for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1):
                for row in batch.to_pylist():
                    put((Answer.of_row(row),))
                if ended.is_set():
                    return
            put(None)
        except BaseException as error:  # it belongs to the thread that waits
            put(error)

    threading.Thread(target=follow, daemon=True, name="ray-data").start()
    beats = 0
    try:
        while True:
            try:
                arrival = arrived.get(timeout=patience)
            except queue.Empty:
                before, beats = beats, _beats(ray, coordinator)
                if beats > before:  # a document of many passages
                    continue
                reason = f"the job stands still: no result for {patience:g} s."
                raise SemsearchError(reason, f"See `ray status`. {AGAIN}") from None
            if arrival is None:
                return
            if isinstance(arrival, BaseException):
                raise _failure(ray, coordinator, arrival) from arrival
            yield arrival[0]
    finally:
        ended.set()


def _beats(ray: Ray, coordinator: Ray) -> int:
    """How often actors have said so far that they go on."""
    try:
        count_: int = ray.get(coordinator.beats.remote(), timeout=5)
    except Exception:  # the coordinator cannot begin, or its machine is gone
        return 0
    return count_


def _failure(ray: Ray, coordinator: Ray, error: BaseException) -> BaseException:
    """What the job ended with, as an error of our own where it is one."""
    if not isinstance(error, Exception):
        return error
    try:
        problems = ray.get(coordinator.problems.remote(), timeout=5)
    except Exception:
        problems = []
    if problems:
        return SemsearchError(f"a worker cannot begin: {problems[0]}", AGAIN)
    cause: object = error
    for _ in range(10):
        if isinstance(cause, SemsearchError):
            return cause
        cause = getattr(cause, "cause", None) or getattr(cause, "__cause__", None)
    lines = [line for line in str(error).splitlines() if line.strip()]
    return SemsearchError(f"the job failed on Ray: {one_line(lines[-1] if lines else repr(error))}", AGAIN)


def _source(shards: Sequence[Shard], keys: Ray) -> Ray:
    """A data source of Ray Data with a task for each shard, on the machine of the driver.

    keys: a reference to the keys of documents to leave out.
    """
    data: Ray = import_module("ray.data.datasource")
    metadata: Ray = import_module("ray.data.block").BlockMetadata
    sizes = [sum(piece.size for piece in shard) for shard in shards]

    class Shards(data.Datasource):  # type: ignore[misc]  # of Ray, which is not imported where it is not used
        @property
        def supports_distributed_reads(self) -> bool:
            return False

        def estimate_inmemory_data_size(self) -> int:
            return sum(sizes)

        def get_read_tasks(self, parallelism: int, *_: object, **__: object) -> list[Ray]:
            return [
                data.ReadTask(_reading(number, shard, keys), _metadata(metadata, size))
                for number, (shard, size) in enumerate(zip(shards, sizes, strict=True))
            ]

    return Shards()


def _reading(number: int, shard: Shard, keys: Ray) -> Callable[[], Iterable[pyarrow.Table]]:
    """The function of a task that reads a shard."""
    pieces = [asdict(piece) for piece in shard]

    def read() -> Iterator[pyarrow.Table]:
        present = None if keys is None else DocumentKeys(imported().get(keys))
        for part in parts(number, tuple(map(Piece.from_json, pieces)), present):
            yield part.table()

    return read


def _metadata(kind: Ray, size: int) -> Ray:
    """A description of what a task will read, which differs between versions of Ray."""
    values = {"num_rows": None, "size_bytes": size, "input_files": None, "exec_stats": None}
    return kind(**{name: value for name, value in values.items() if name in kind.__dataclass_fields__})
