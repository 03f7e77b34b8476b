"""The pipeline of Ray Data that embeds shards, and the watch over it.

shards ─ reading tasks ─ parts ─ actors ─ answers
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from semsearch import __version__
from semsearch.errors import SemsearchError
from semsearch.scale.actors import Embedder, How, source
from semsearch.scale.cluster import READING_CPUS, Engine, most_workers
from semsearch.scale.known import Known
from semsearch.scale.parts import Done, done_of
from semsearch.scale.shards.shard import Shard
from semsearch.utils.reasons import one_line

READERS = 2  # reading tasks at a time: a core reads some thousand documents a second, and embeds some hundred
BLOCK_BYTES = 1  # Ray puts rows together up to this size: a part is a block, and each goes to the next free actor
WAITING = 64  # answers in memory that the driver has not stored yet; the cluster waits for it then
IN_FLIGHT = 2  # parts sent to an actor: one is embedded while the next arrives


def dataset(
    ray: Any, shards: Sequence[Shard], how: How, engine: Engine, desk: str, known: Known | None, *, everywhere: bool
) -> Any:
    """The pipeline of Ray Data, not begun yet. Raises UsageError where the workers do not fit."""
    reading_cpus = READING_CPUS if everywhere else 0.0  # on the driver's machine, which may offer no processor
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    most = most_workers(engine, nodes, reading_cpus=reading_cpus)
    keys = ray.put(known.keys) if known else None  # one copy for all tasks of a machine
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
    try:
        for name, setting in wanted.items():
            setattr(current, name, setting)
        yield
    finally:
        for name, setting in before.items():
            setattr(current, name, setting)


def answers(ray: Any, dataset: Any, desk: Any, patience: float) -> Generator[Done, None, None]:
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
