"""A pool of actors through which rows pass, what they answer, and how their failures are told: for jobs of any kind.

Ray gives a row to another actor where one is lost, and may have a row answered twice.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from semsearch.errors import SemsearchError
from semsearch.scale.cluster import Engine, most_workers
from semsearch.types import JsonObject
from semsearch.utils.untrusted import one_line

T = TypeVar("T")
BLOCK_BYTES = 1  # Ray puts rows together up to this size: a row is a block, and each goes to the next free actor
WAITING = 64  # answers in memory that the driver has not taken yet; the cluster waits for it then
IN_FLIGHT = 2  # rows sent to an actor: one is worked on while the next arrives


def power(engine: Engine) -> tuple[int, str]:
    """Threads and device of an actor's encoder."""
    return engine.threads, "cuda" if engine.gpus else "cpu"


def most(ray: Any, engine: Engine) -> int:
    """As `cluster.most_workers`, for the nodes that are alive now. Raises UsageError."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return most_workers(engine, nodes)


def through(ray: Any, rows: Any, actor: type, arguments: tuple[object, ...], engine: Engine, most: int) -> Any:
    """A dataset of what actors answer to the rows of another one. Not begun yet; call it inside `context`."""
    return rows.map_batches(
        actor,
        batch_size=1 if engine.gpus else None,  # Ray refuses None with GPUs; a block is one row either way
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(
            min_size=engine.least, max_size=most, max_tasks_in_flight_per_actor=IN_FLIGHT
        ),
        fn_constructor_args=arguments,
        num_cpus=engine.cpus,
        num_gpus=engine.gpus or None,
    )


@contextmanager
def context(ray: Any) -> Iterator[None]:
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


def answers(
    ray: Any, dataset: Any, desk: Any, patience: float, read: Callable[[JsonObject], T], again: str
) -> Generator[T, None, None]:
    """The answers as they arrive, as `read` reads them. again: what to do after a failure.

    Raises SemsearchError after so many seconds without one, in which no actor has said that it goes on either.
    """
    arrived: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(WAITING)
    ended = threading.Event()

    def put(found: tuple[T] | BaseException | None) -> None:
        while not ended.is_set():
            with suppress(queue.Full):
                arrived.put(found, timeout=1)
                return

    def follow() -> None:
        try:
            for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1):
                for row in batch.to_pylist():
                    put((read(row),))
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
                    f"See `ray status`. {again}",
                ) from None
            if found is None:
                return
            if isinstance(found, BaseException):
                raise _failure(ray, desk, found, again) from found
            yield found[0]
    finally:
        ended.set()


def _beats(ray: Any, desk: Any) -> int:
    """How often actors have said so far that they go on."""
    try:
        count_: int = ray.get(desk.beats.remote(), timeout=5)
    except Exception:  # the desk cannot begin, or its machine is gone
        return 0
    return count_


def _failure(ray: Any, desk: Any, error: BaseException, again: str) -> BaseException:
    """What the job ended with, as an error of our own where it is one."""
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
