"""The job: embed what an index lacks before it is updated.

with embedded_ahead(folder, encoder, paths, options, engine) as report:   # the vectors are there
    index.sync(paths, options)                                            # and the local path finds them
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from semsearch import __version__
from semsearch.chunking.splitter import Splitter
from semsearch.documents import waiting_vectors
from semsearch.encoders.base import BaseEncoder
from semsearch.encoders.index_encoder import LazyEncoder
from semsearch.indexing import sources
from semsearch.indexing.sources import SyncOptions
from semsearch.scale import desk, inputs, job, worker_writes
from semsearch.scale.actors import How
from semsearch.scale.cluster import Engine
from semsearch.scale.found_vectors import FoundVectors
from semsearch.scale.job_report import JobReport
from semsearch.scale.known import Known
from semsearch.scale.shards.cutting import SIZE as SIZE
from semsearch.scale.shards.cutting import Cutter
from semsearch.scale.stored.shard_folder import ShardFolder
from semsearch.stores import drivers
from semsearch.stores.protocol import StoreReader
from semsearch.types import JsonObject, Progress, SyncReport
from semsearch.utils.quantities import count

LOG = logging.getLogger(__name__)
Tell = Callable[[Progress], None]


@contextmanager
def embedded_ahead(
    index: Path,
    encoder: FoundVectors,
    paths: Sequence[Path],
    options: SyncOptions,
    engine: Engine,
    *,
    size: int = SIZE,
    tell: Tell = lambda _: None,
) -> Iterator[JobReport]:
    """Embed on Ray what the next `sync` of the index with these arguments would embed; inside, `encoder` has it.

    Into a store on a server the workers write by themselves; `with_written` counts that. Otherwise the vectors are kept
    beside the index until the block ends without an error: after a kill, the same call embeds only the shards that are
    missing. Those of another encoder, version of semsearch or index that had this name are embedded again, which a
    warning says. Raises as `job.run` does, EncoderMismatch where the index has another encoder, and Locked where
    another job works for it.
    """
    with drivers.find(index).open_reader(index) as reader:
        space, recipe = reader.spaces()[0], reader.recipe()
        ours = LazyEncoder(reader.name, space.name, space.fingerprint, space.dim, recorded=None, wanted=encoder)
        _ = ours.model  # raises EncoderMismatch, before a cluster works for nothing
        update = sources.update(paths, options, recipe)
        found = inputs.of_index(update, reader)
        target = worker_writes.target(index, reader.spaces()[0].id)
        belongs = _belongs(index, reader)
    if target is not None:
        worker_writes.owned(index, found)
    how = _how(encoder.model, Splitter(**update.recipe["splitter"]), context=bool(recipe.get("context", False)))
    how = replace(how, target=target)
    shards = list(Cutter(size, how.way()).shards(found.files))
    with _beside(index, {**how.job(), **belongs}) as folder:
        known = Known.joined(found.known)
        found.known.clear()
        report = job.run(shards, how, desk.encoder_files(encoder.model), engine, folder, tell, known=known)
        encoder.use(folder, [shard.name for shard in shards])
        yield report
        folder.remove()


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


def _how(encoder: BaseEncoder, splitter: Splitter, *, context: bool) -> How:
    return How(encoder.reference, encoder.name, encoder.fingerprint, encoder.dim, asdict(splitter), context)


def is_waiting(index: Path) -> bool:
    """Whether shards that a job has embedded wait for the index."""
    return any(waiting_vectors.folder(index).glob("shard-*.done"))


def _belongs(index: Path, reader: StoreReader) -> JsonObject:
    """What else than the encoder a job for an index belongs to.

    A file system may give a new database the inode of one that is gone; but its commits begin again.
    """
    identity = drivers.find(index).identity(index)
    return {"version": __version__, "index": list(identity), "commits": reader.version()}


def _beside(index: Path, job: JsonObject) -> ShardFolder:
    """The folder of vectors that wait for an index, without those of another job."""
    folder = ShardFolder(waiting_vectors.folder(index), job, renew=True)
    if folder.removed:
        waited = f"{count(folder.removed, 'shard')} waited for {index.name}"
        LOG.warning(f"{waited}, embedded {folder.why}. These documents are embedded again.")
    return folder
