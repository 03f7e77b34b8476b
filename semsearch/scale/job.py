"""A job: shards are read, embedded by a pool of actors on Ray, and written by the driver, which survives none of it.

shards ─ reading tasks ─ parts ─ actors ─ vectors ─ driver: file, marker

Ray may run a task twice where a machine is lost; every part has one place, so that twice is harmless. After a kill of
the driver the same command goes on: a shard with a marker is not embedded again.
"""

from __future__ import annotations

import logging
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from semsearch import __version__
from semsearch.errors import SemsearchError, UsageError
from semsearch.scale.actors import Embedder, How, source
from semsearch.scale.cluster import NAMESPACE, READING_CPUS, Engine, connected, most_workers
from semsearch.scale.desk import Desk
from semsearch.scale.parts import Done, Failed, done_of
from semsearch.scale.shard_folder import ShardFolder
from semsearch.scale.shards import Shard
from semsearch.types import Progress
from semsearch.utils.quantities import count
from semsearch.utils.reasons import one_line

READERS = 2  # reading tasks at a time: a core reads some thousand documents a second, and embeds some hundred
BLOCK_BYTES = 1  # Ray puts rows together up to this size: a part is a block, and each goes to the next free actor
WAITING = 64  # answers in memory that the driver has not stored yet; the cluster waits for it then
IN_FLIGHT = 2  # parts sent to an actor: one is embedded while the next arrives


@dataclass
class JobReport:
    """What a job came to. `before`: shards that were done. changed: of the documents, those that workers replaced.

    worker_seconds: the time that actors spent on parts; squares: the sum of the squares of these times; first_seconds:
    until the first answer; seconds: until the last.
    """

    shards: int = 0
    before: int = 0
    documents: int = 0
    changed: int = 0
    passages: int = 0
    embedded: int = 0
    cut_passages: int = 0
    cut_tokens: int = 0
    parts: int = 0
    seconds: float = 0.0
    first_seconds: float = 0.0
    worker_seconds: float = 0.0
    squares: float = 0.0
    cores: float = 1.0
    gpus: float = 0.0
    written: bool = False  # by the workers, into a store
    failed: list[Failed] = field(default_factory=list)
    workers: set[str] = field(default_factory=set)

    def add(self, done: Done) -> None:
        """Count the answer to a part."""
        self.documents += done.documents
        self.changed += done.changed
        self.passages += done.passages
        self.embedded += done.embedded
        self.cut_passages += done.cut_passages
        self.cut_tokens += done.cut_tokens
        self.parts += 1
        self.worker_seconds += done.seconds
        self.squares += done.seconds**2
        self.failed += done.failed
        self.workers.add(done.worker)

    def summary(self) -> str:
        """Throughput and cost in a line."""
        if not self.workers:
            return f"nothing to embed: {count(self.shards, 'shard')} of {self.shards:,} were complete."
        rate = self.passages / max(self.seconds, 1e-9)
        hours = self.worker_seconds / 3600
        paid = f"{hours * self.gpus:.3g} GPU-hours" if self.gpus else f"{hours * self.cores:.3g} core-hours"
        busy = self.worker_seconds / max(self.seconds * len(self.workers), 1e-9)
        done = f"{self.before:,} of {count(self.shards, 'shard')} were complete; " if self.before else ""
        return (
            f"{done}{count(self.documents, 'document')} in {count(self.passages, 'passage')} embedded by "
            f"{count(len(self.workers), 'worker')} in {self.seconds:.1f} s: {rate:,.0f} passages/s, {paid}, "
            f"workers busy {min(busy, 1):.0%} of the time."
        )


def run(
    shards: Sequence[Shard],
    how: How,
    files: dict[str, str],
    engine: Engine,
    folder: ShardFolder,
    tell: Callable[[Progress], None],
    *,
    known: frozenset[bytes] = frozenset(),
    everywhere: bool = False,
) -> JobReport:
    """Embed the shards that `folder` does not have yet.

    files: those of the encoder. known: keys of documents to leave out. everywhere: the input can be read on every
    machine. Raises NotFound, UsageError where the cluster cannot be used; SemsearchError where it stands still.
    """
    report = JobReport(shards=len(shards), cores=engine.cpus, gpus=engine.gpus, written=how.target is not None)
    pending = [shard for shard in shards if shard.name not in folder.done]
    report.before = len(shards) - len(pending)
    if not pending:
        return report
    began = time.monotonic()
    sizes = {shard.name: shard.size for shard in pending}
    total, finished = sum(sizes.values()), 0
    if engine.is_client and not everywhere:
        raise UsageError(
            f"{engine.address} leads into a cluster whose machines do not have the files of this one.",
            "Run the command on a machine of the cluster with --ray-address auto, or read from an object store.",
        )
    with connected(engine) as ray, _desk(ray, files, as_content=engine.is_client) as (desk_name, desk):
        dataset = _dataset(ray, pending, how, engine, desk_name, known, everywhere=everywhere)
        with closing(_answers(ray, dataset, desk, engine.stall_seconds)) as answers:  # before Ray is left
            for done in answers:
                report.first_seconds = report.first_seconds or time.monotonic() - began
                report.add(done)
                if folder.put(done):
                    finished += sizes.get(done.shard, 0)
                tell(Progress(finished, total, "bytes", f"{len(report.workers)} workers", report.passages))
    report.seconds = time.monotonic() - began
    if missing := [shard.name for shard in pending if shard.name not in folder.done]:
        raise SemsearchError(f"{count(len(missing), 'shard')} of {len(shards):,} did not arrive.", "Run it again.")
    return report


def _dataset(
    ray: Any, shards: Sequence[Shard], how: How, engine: Engine, desk: str, known: frozenset[bytes], *, everywhere: bool
) -> Any:
    """The pipeline of Ray Data, not begun yet. Raises UsageError where the workers do not fit."""
    reading_cpus = READING_CPUS if everywhere else 0.0  # on the driver's machine, which may offer no processor
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    most = most_workers(engine, nodes, reading_cpus=reading_cpus)
    keys = ray.put(known) if known else None
    with _context(ray):
        read = ray.data.read_datasource(
            source(shards, keys, everywhere=everywhere),
            override_num_blocks=len(shards),
            concurrency=READERS if not everywhere else None,
            num_cpus=reading_cpus,
        )
        return read.map_batches(
            Embedder,
            batch_size=None,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(
                min_size=engine.least, max_size=most, max_tasks_in_flight_per_actor=IN_FLIGHT
            ),
            fn_constructor_args=(desk, how, engine.threads, "cuda" if engine.gpus else "cpu", __version__),
            num_cpus=engine.cpus,
            num_gpus=engine.gpus or None,
        )


@contextmanager
def _context(ray: Any) -> Iterator[None]:
    """Settings of Ray Data for the dataset that is made inside."""
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    current = ray.data.DataContext.get_current()
    wanted = {"target_max_block_size": BLOCK_BYTES, "enable_progress_bars": False}
    before = {name: getattr(current, name) for name in wanted}
    ordered = current.execution_options.preserve_order
    try:
        for name, setting in wanted.items():
            setattr(current, name, setting)
        current.execution_options.preserve_order = True
        yield
    finally:
        for name, setting in before.items():
            setattr(current, name, setting)
        current.execution_options.preserve_order = ordered


@contextmanager
def _desk(ray: Any, files: dict[str, str], *, as_content: bool) -> Iterator[tuple[str, Any]]:
    """The actor of the driver's machine from which the others fetch the encoder, and its name.

    as_content: the driver is on no machine of the cluster, so the files are sent along.
    """
    strategies: Any = import_module("ray.util.scheduling_strategies")
    name = f"desk-{os.getpid()}-{secrets.token_hex(6)}"
    here = strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(Desk).options(name=name, num_cpus=0, scheduling_strategy=here, namespace=NAMESPACE)
    handle = actor.remote({name: Path(path).read_bytes() for name, path in files.items()} if as_content else files)
    try:
        yield name, handle
    finally:
        with suppress(Exception):  # the cluster may be gone
            ray.kill(handle)


def _answers(ray: Any, dataset: Any, desk: Any, patience: float) -> Generator[Done, None, None]:
    """The answers to the parts as they arrive.

    Raises SemsearchError after so many seconds without one, in which no actor has said that it goes on either.
    """
    arrived: queue.Queue[Done | BaseException | None] = queue.Queue(WAITING)
    ended = threading.Event()

    def put(found: Done | BaseException | None) -> None:
        while not ended.is_set():
            with suppress(queue.Full):
                arrived.put(found, timeout=1)
                return

    def follow() -> None:
        try:
            for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1):
                for row in batch.to_pylist():
                    put(done_of(row))
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
                found = arrived.get(timeout=patience)
            except queue.Empty:
                before, beats = beats, _beats(ray, desk)
                if beats > before:  # a document of many passages
                    continue
                raise SemsearchError(
                    f"the job stands still: no result for {patience:g} s.",
                    "See `ray status`. What is embedded stays: run the same command again.",
                ) from None
            if found is None:
                return
            if isinstance(found, BaseException):
                raise _failure(ray, desk, found) from found
            yield found
    finally:
        ended.set()


def _beats(ray: Any, desk: Any) -> int:
    """How often actors have said so far that they go on."""
    try:
        count_: int = ray.get(desk.beats.remote(), timeout=5)
    except Exception:  # the desk cannot begin, or its machine is gone
        return 0
    return count_


def _failure(ray: Any, desk: Any, error: BaseException) -> BaseException:
    """What the job ended with, as an error of our own where it is one."""
    again = "What is embedded stays: run the same command again."
    if not isinstance(error, Exception):
        return error
    try:
        told = ray.get(desk.problems.remote(), timeout=5)
    except Exception:
        told = []
    if told:
        return SemsearchError(f"a worker cannot begin: {told[0]}", again)
    cause: Any = error
    for _ in range(10):
        if isinstance(cause, SemsearchError):
            return cause
        cause = getattr(cause, "cause", None) or getattr(cause, "__cause__", None)
    lines = [line for line in str(error).splitlines() if line.strip()]
    return SemsearchError(f"the job failed on Ray: {one_line(lines[-1] if lines else repr(error))}", again)
