"""Makes a folder of shards searchable, its parts in threads of this process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from semsearch.encoders.encoder import Encoder
from semsearch.errors import EncoderMismatch
from semsearch.stores.shards import building, planning
from semsearch.stores.shards import manifest as manifests
from semsearch.stores.shards.building import Task
from semsearch.types import Progress, Skipped, SyncReport
from semsearch.utils.writer_lock import WriterLock

Tell = Callable[[Progress], None]
AGAIN = "The parts that are there stay: run the same command again."
TAKEN = "its id is already used in another shard"


def build(location: Path, model: str | None = None, tell: Tell = lambda _: None) -> SyncReport:
    """Make the shards at `location` searchable with the encoder that made them.

    model: its name; None for the one that the folder names. Raises NotFound, EncoderMismatch, Corrupt, Locked while a
    job writes the shards, SemsearchError where some are missing.
    """
    began = time.perf_counter()
    location = location.absolute()
    job = manifests.job(location)
    encoder = Encoder.load(model or job["encoder"])
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
        plan = planning.prepared(location, tell)
        tasks = list(building.tasks(plan))
        for done, name in enumerate(_here(tasks), start=1):
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
