"""The options of `index` that have a Ray cluster embed, and the job in place of a synchronisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import semsearch
from semsearch import scale
from semsearch.cli.options import Options
from semsearch.cli.output import console
from semsearch.cli.ray_options import RayOptions
from semsearch.types import Progress, SyncReport

if TYPE_CHECKING:
    from semsearch import SyncOptions
    from semsearch.scale.cluster import Engine
    from semsearch.scale.precomputed_encoder import PrecomputedEncoder


@dataclass(frozen=True, slots=True)
class RayJob:
    """Embedding on Ray for one command: in place of the model, `encoder` gives an index what the cluster embedded."""

    engine: Engine
    encoder: PrecomputedEncoder
    size: int

    def sync(
        self,
        index: semsearch.Index,
        paths: Sequence[Path],
        how: SyncOptions,
        tell: Callable[[Progress], None],
        options: Options,
    ) -> SyncReport:
        """`Index.sync` with vectors from the cluster."""
        embedding, given = scale.embedding_job, (index.path, self.encoder, paths, how, self.engine)
        with embedding.embedded_ahead(*given, size=self.size, tell=tell) as report:
            if not options.quiet:
                console.note(report.summary())
            synced = index.sync(paths, how, tell)
            return embedding.with_written(synced, report) if report.written else synced

    @staticmethod
    def is_waiting(index: semsearch.Index) -> bool:
        """Whether something that is embedded waits for the index: the next run takes it from there."""
        return scale.embedding_job.is_waiting(index.path)


def job(found: RayOptions, engine: Engine, model: str) -> RayJob:
    """The job of a command. `model`: the encoder, by name. Raises NotFound, UsageError."""
    encoder = scale.precomputed_encoder.PrecomputedEncoder(semsearch.Encoder.load(model))
    return RayJob(engine, encoder, found.shard_size or scale.embedding_job.SIZE)
