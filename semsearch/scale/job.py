"""A job: shards are read, embedded by a pool of actors on Ray, and written by the driver, which survives none of it.

Ray may run a task twice where a machine is lost; every part has one place, so that twice is harmless. After a kill of
the driver the same command goes on: a shard with a marker is not embedded again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing

from semsearch.errors import SemsearchError
from semsearch.scale import desk as desks
from semsearch.scale import pipeline, pool
from semsearch.scale.actors import How
from semsearch.scale.cluster import Engine, connected
from semsearch.scale.job_report import JobReport
from semsearch.scale.known import Known
from semsearch.scale.parts import done_of
from semsearch.scale.shards.shard import Shard
from semsearch.scale.stored.shard_folder import ShardFolder
from semsearch.types import Progress
from semsearch.utils.quantities import count

AGAIN = "What is embedded stays: run the same command again."


def run(
    shards: Sequence[Shard],
    how: How,
    files: dict[str, str],
    engine: Engine,
    folder: ShardFolder,
    tell: Callable[[Progress], None],
    *,
    known: Known | None = None,
) -> JobReport:
    """Embed the shards that `folder` does not have yet.

    files: those of the encoder. known: documents to leave out.
    Raises NotFound, UsageError where the cluster cannot be used; SemsearchError where it stands still.
    """
    report = JobReport(shards=len(shards), cores=engine.cpus, gpus=engine.gpus, written=how.target is not None)
    pending = [shard for shard in shards if shard.name not in folder.done]
    report.before = len(shards) - len(pending)
    if not pending:
        return report
    began = time.monotonic()
    sizes = {shard.name: shard.size for shard in pending}
    total, finished = sum(sizes.values()), 0
    with connected(engine) as ray, desks.opened(ray, files) as (desk_name, desk):
        dataset = pipeline.dataset(ray, pending, how, engine, desk_name, known)
        given = pool.answers(ray, dataset, desk, engine.stall_seconds, done_of, AGAIN)
        with closing(given) as answers:  # before Ray is left
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
