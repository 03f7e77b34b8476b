"""Makes a folder of shards searchable, its parts in threads of this process or by actors of a Ray cluster."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch import __version__
from semsearch.encoders.encoder import Encoder
from semsearch.errors import EncoderMismatch, SemsearchError
from semsearch.scale import desk as desks
from semsearch.scale import pool
from semsearch.scale.actors import Worker
from semsearch.scale.cluster import Engine, connected
from semsearch.scale.parts import one_row
from semsearch.stores.shards import building, planning
from semsearch.stores.shards import manifest as manifests
from semsearch.stores.shards.building import Task
from semsearch.types import JsonObject, Progress, Skipped, SyncReport
from semsearch.utils.writer_lock import WriterLock

if TYPE_CHECKING:
    import pyarrow

Tell = Callable[[Progress], None]
AGAIN = "The parts that are there stay: run the same command again."
TAKEN = "its id is already used in another shard"


def build(
    location: Path,
    model: str | None = None,
    engine: Engine | None = None,
    tell: Tell = lambda _: None,
    *,
    load: Callable[[str], Encoder] = Encoder.load,
) -> SyncReport:
    """Make the shards at `location` searchable with the encoder that made them.

    model: its name; None for the one that the folder names. engine: of a cluster whose machines see the folder; None
    for this process. load: gives the encoder of a name. Raises NotFound, EncoderMismatch, Corrupt, Locked while a job
    writes the shards, SemsearchError where some are missing, and as `job.run` does.
    """
    began = time.perf_counter()
    location = location.absolute()
    job = manifests.job(location)
    encoder = load(model or job["encoder"])
    if encoder.fingerprint != job["fingerprint"]:
        raise EncoderMismatch(
            str(location),
            built_with=f"{job['encoder']}@{job['fingerprint'][:8]}",
            got=f"{encoder.name}@{encoder.fingerprint[:8]}",
            fix="Name the encoder that made the shards.",
            command="Name the encoder that made the shards: -m MODEL.",
        )
    lock = WriterLock(location)
    try:
        plan = planning.prepared(location, partial(encoder.encode, role="query"), tell)
        tasks = list(building.tasks(plan))
        for done, name in enumerate(_here(tasks) if engine is None else _on_ray(tasks, engine), start=1):
            tell(Progress(1, 4, "steps", f"part {done:,} of {len(tasks):,}, of shard {name}"))
        found = building.finished(plan, encoder, encoder.reference, encoder.info, tell)
    finally:
        lock.release()
        encoder.close()
    return SyncReport(
        index=str(location),
        added=found.documents,
        skipped=tuple(Skipped(name, TAKEN) for name in found.left_out),
        passages=found.passages,
        vectors=found.passages,
        took_s=round(time.perf_counter() - began, 3),
    )


def _here(tasks: Sequence[Task]) -> Iterator[str]:
    """Make the parts in threads, as many as processors; the names of their shards."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        try:
            for task, _ in zip(tasks, threads.map(building.part_of, tasks), strict=True):
                yield task.name
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def _on_ray(tasks: Sequence[Task], engine: Engine) -> Iterator[str]:
    """Make the parts on a cluster; the names of their shards."""
    if not tasks:
        return
    with connected(engine) as ray, desks.opened(ray, {}) as (desk_name, desk):
        rows = [one_row({"task": json.dumps(asdict(task))}) for task in tasks]
        dataset = pool.over(ray, rows, PartMaker, (desk_name, __version__), engine, pool.most(ray, engine))
        with closing(pool.answers(ray, dataset, desk, engine.stall_seconds, _name, AGAIN)) as answers:
            yield from answers


class PartMaker(Worker):
    """An actor that makes parts of a folder that its machine sees."""

    def __call__(self, rows: pyarrow.Table) -> Iterator[pyarrow.Table]:
        for row in rows.to_pylist():
            task = Task(**{**(found := json.loads(row["task"])), "without": tuple(found["without"])})
            answer = {"name": task.name}
            try:
                building.part_of(task)
            except SemsearchError as error:
                answer |= {"error": self.told(error)}
            yield one_row({"error": "", **answer})


def _name(row: JsonObject) -> str:
    """The shard of an answer. Raises the error that it is."""
    return str(pool.checked(row)["name"])
