"""The job: embed on Ray what an index lacks, before it is updated.

with embedded_ahead(folder, encoder, paths, options, engine) as report:   # the vectors are there
    index.sync(paths, options)                                            # and the local path finds them

Every part has one place, so that twice is harmless. After a kill of the driver the same command goes on: documents that
have arrived are not embedded again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path

from semsearch import __version__
from semsearch.encoders.index_encoder import LazyEncoder
from semsearch.index.admin import waiting_vectors
from semsearch.indexing import sources
from semsearch.indexing.sources import SyncOptions
from semsearch.scale import cluster, embedding_actor, encoder_files, input_files, parts
from semsearch.scale.arrived_vectors import PARTS, ArrivedVectors
from semsearch.scale.cluster import Engine, connected
from semsearch.scale.embedding_actor import JobSettings
from semsearch.scale.job_report import JobReport
from semsearch.scale.keys import DocumentKeys
from semsearch.scale.parts import Part
from semsearch.scale.precomputed_encoder import PrecomputedEncoder
from semsearch.scale.worker_pool import WorkerPool
from semsearch.stores import drivers
from semsearch.stores.protocol import StoreReader
from semsearch.types import JsonObject, Progress
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
    tell: Tell = lambda _: None,
) -> Iterator[JobReport]:
    """Embed on Ray what the next `sync` of the index with these arguments would embed; inside, `encoder` has it.

    The vectors are kept beside the index until the block ends without an error: after a kill, the same call embeds only
    the documents that are missing. Those of another encoder, version of semsearch or index that had this name are
    embedded again, which a warning says. Raises as `_run` does, EncoderMismatch where the index has another encoder,
    and Locked where another job works for it.
    """
    with drivers.find(index).open_reader(index) as reader:
        space, recipe = reader.state().spaces[0], reader.state().recipe
        ours = LazyEncoder(reader.name, space.name, space.fingerprint, space.dim, recorded=None, encoder=encoder)
        _ = ours.model  # raises EncoderMismatch, before a cluster works for nothing
        update = sources.update(paths, options, recipe)
        job = input_files.of_index(update, reader)
        belongs = _belongs(index, reader)
    model, splitter, context = encoder.model, update.recipe["splitter"], bool(recipe.get("context", False))
    how = JobSettings(model.reference, model.name, model.fingerprint, model.dim, splitter, context)
    with _beside(index, {**how.to_json(), **belongs}) as arrived:
        before = arrived.documents
        present = DocumentKeys.joined([*job.stored, before.keys.tobytes()])
        report = JobReport(len(before), cores=engine.cpus, gpus=engine.gpus)
        files, total = encoder_files.files_of(model), sum(file.size for file in job.files)
        _run(parts.parts(job.files, present), total, how, files, engine, arrived, report, tell)
        encoder.use(arrived)
        yield report
        arrived.remove()


def is_waiting(index: Path) -> bool:
    """Whether vectors that a job has embedded wait for the index."""
    return any(waiting_vectors.folder(index).glob(PARTS))


def _run(
    given: Iterator[Part],
    total: int,
    how: JobSettings,
    files: Mapping[str, Path],
    engine: Engine,
    arrived: ArrivedVectors,
    report: JobReport,
    tell: Tell,
) -> None:
    """Embed parts of so many bytes of input in all. files: those of the encoder.

    Raises NotFound, UsageError where the cluster cannot be used; SemsearchError where it stands still.
    """
    if (first := next(given, None)) is None:
        return
    began, done = time.monotonic(), 0
    with connected(engine) as ray:
        number = cluster.workers(engine, [node["Resources"] for node in ray.nodes() if node["Alive"]])
        sent = {name: (file.stat().st_size, ray.put(file.read_bytes())) for name, file in files.items()}
        with closing(WorkerPool(ray, lambda: embedding_actor.started(ray, engine, how, sent), number)) as pool:
            for answer in pool.answers(chain([first], given)):
                arrived.put(answer)
                report.add(answer)
                done += answer.size
                report.seconds = time.monotonic() - began
                tell(Progress(done, total, "bytes", f"{len(report.workers)} workers", report.passages))


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
