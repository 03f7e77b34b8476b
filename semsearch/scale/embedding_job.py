"""The job: embed on Ray what an index lacks, before it is updated.

with embedded_ahead(folder, encoder, paths, options, engine) as report:   # the vectors are there
    index.sync(paths, options)                                            # and the local path finds them

Every part has one place, so that twice is harmless. After a kill of the driver the same command goes on: documents that
have arrived are not embedded again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from semsearch import __version__
from semsearch.documents import waiting_vectors
from semsearch.encoders.index_encoder import LazyEncoder
from semsearch.errors import SemsearchError
from semsearch.indexing import sources
from semsearch.indexing.sources import SyncOptions
from semsearch.scale import coordinator, encoder_files, input_files, pipeline, shards, store_writes
from semsearch.scale.arrived_vectors import PARTS, ArrivedVectors
from semsearch.scale.cluster import Engine, connected
from semsearch.scale.embedding_actor import JobSettings
from semsearch.scale.job_report import JobReport
from semsearch.scale.keys import DocumentKeys
from semsearch.scale.precomputed_encoder import PrecomputedEncoder
from semsearch.scale.shards import SIZE as SIZE
from semsearch.scale.shards import Shard
from semsearch.stores import drivers
from semsearch.stores.protocol import StoreReader
from semsearch.types import JsonObject, Progress, SyncReport
from semsearch.utils.quantities import count

LOG = logging.getLogger(__name__)
Tell = Callable[[Progress], None]


@contextmanager
def embedded_ahead(
    index: Path,
    encoder: PrecomputedEncoder,
    paths: Sequence[Path],
    options: SyncOptions,
    engine: Engine,
    *,
    size: int = SIZE,
    tell: Tell = lambda _: None,
) -> Iterator[JobReport]:
    """Embed on Ray what the next `sync` of the index with these arguments would embed; inside, `encoder` has it.

    Into a store on a server the workers write by themselves; `with_written` counts that. Otherwise the vectors are kept
    beside the index until the block ends without an error: after a kill, the same call embeds only the documents that
    are missing. Those of another encoder, version of semsearch or index that had this name are embedded again, which a
    warning says. Raises as `_run` does, EncoderMismatch where the index has another encoder, and Locked where another
    job works for it.
    """
    with drivers.find(index).open_reader(index) as reader:
        space, recipe = reader.state().spaces[0], reader.state().recipe
        ours = LazyEncoder(reader.name, space.name, space.fingerprint, space.dim, recorded=None, encoder=encoder)
        _ = ours.model  # raises EncoderMismatch, before a cluster works for nothing
        update = sources.update(paths, options, recipe)
        job = input_files.of_index(update, reader)
        target = store_writes.target(index, space.id, recipe)
        belongs = _belongs(index, reader)
    if target is not None:
        store_writes.record_sources(index, job)
    model, splitter, context = encoder.model, update.recipe["splitter"], bool(recipe.get("context", False))
    how = JobSettings(model.reference, model.name, model.fingerprint, model.dim, splitter, context, target)
    with _beside(index, {**how.to_json(), **belongs}) as arrived:
        before = arrived.documents
        present = DocumentKeys.joined([*job.stored, before.keys.tobytes()])
        report = JobReport(len(before), cores=engine.cpus, gpus=engine.gpus, written=target is not None)
        files = encoder_files.files_of(model)
        _run(list(shards.cut(job.files, size)), how, files, engine, arrived, present, report, tell)
        encoder.use(arrived)
        yield report
        arrived.remove()


def with_written(report: SyncReport, job: JobReport) -> SyncReport:
    """The report of the update of an index into which workers wrote: what they wrote was no change any more to it."""
    return replace(
        report,
        added=report.added + job.documents - job.changed,
        changed=report.changed + job.changed,
        unchanged=report.unchanged - job.documents,
        embedded=report.embedded + job.embedded,
        cut_passages=report.cut_passages + job.cut_passages,
        cut_tokens=report.cut_tokens + job.cut_tokens,
    )


def is_waiting(index: Path) -> bool:
    """Whether vectors that a job has embedded wait for the index."""
    return any(waiting_vectors.folder(index).glob(PARTS))


def _run(
    pending: Sequence[Shard],
    how: JobSettings,
    files: dict[str, str],
    engine: Engine,
    arrived: ArrivedVectors,
    present: DocumentKeys,
    report: JobReport,
    tell: Tell,
) -> None:
    """Embed the documents of the shards that are not `present`. files: those of the encoder.

    Raises NotFound, UsageError where the cluster cannot be used; SemsearchError where it stands still.
    """
    if not pending:
        return
    began, total, done = time.monotonic(), sum(piece.size for shard in pending for piece in shard), 0
    seen: set[str] = set()
    with connected(engine) as ray, coordinator.started(ray, files) as (name, actor):
        dataset = pipeline.dataset(ray, pending, how, engine, name, present)
        with closing(pipeline.answers(ray, dataset, actor, engine.stall_seconds)) as answers:  # before Ray is left
            for answer in answers:
                if answer.name in seen:
                    continue
                seen.add(answer.name)
                arrived.put(answer)
                report.add(answer)
                done += answer.size
                report.seconds = time.monotonic() - began
                tell(Progress(done, total, "bytes", f"{len(report.workers)} workers", report.passages))
    if done < total:
        raise SemsearchError(f"{total - done:,} of {total:,} bytes were not embedded.", pipeline.AGAIN)


def _belongs(index: Path, reader: StoreReader) -> JsonObject:
    """What else than the encoder a job for an index belongs to.

    A file system may give a new database the inode of one that is gone; but its commits begin again.
    """
    identity = drivers.find(index).identity(index)
    with reader.snapshot() as version:
        return {"version": __version__, "index": list(identity), "commits": version}


def _beside(index: Path, job: JsonObject) -> ArrivedVectors:
    """The folder of vectors that wait for an index, without those of another job."""
    arrived = ArrivedVectors(waiting_vectors.folder(index), job)
    if arrived.removed and arrived.why:
        waited = f"{count(arrived.removed, 'part')} waited for {index.name}"
        LOG.warning(f"{waited}, embedded {arrived.why}. These documents are embedded again.")
    return arrived
