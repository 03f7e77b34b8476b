"""The options of `index` that have a Ray cluster embed, and the job in place of a synchronisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import semsearch
from semsearch import scale
from semsearch.cli.options import Options
from semsearch.cli.output import console, index_report
from semsearch.cli.output.progress import step_progress, sync_progress
from semsearch.cli.ray_options import RayOptions
from semsearch.errors import UsageError
from semsearch.stores import drivers
from semsearch.types import Progress, SyncReport

if TYPE_CHECKING:
    from semsearch import SyncOptions
    from semsearch.scale.cluster import Engine
    from semsearch.scale.found_vectors import FoundVectors


@dataclass(frozen=True, slots=True)
class RayJob:
    """Embedding on Ray for one command: in place of the model, `encoder` gives an index what the cluster embedded."""

    engine: Engine
    encoder: FoundVectors
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
        ahead = scale.jobs.embedded_ahead(index.path, self.encoder, paths, how, self.engine, size=self.size, tell=tell)
        with ahead as report:
            if not options.quiet:
                console.note(report.summary())
            synced = index.sync(paths, how, tell)
            return scale.jobs.with_written(synced, report) if report.written else synced

    @staticmethod
    def is_waiting(index: semsearch.Index) -> bool:
        """Whether something that is embedded waits for the index: the next run takes it from there."""
        return scale.jobs.is_waiting(index.path)


def job(found: RayOptions, engine: Engine, model: str) -> RayJob:
    """The job of a command. `model`: the encoder, by name. Raises NotFound, UsageError."""
    encoder = scale.found_vectors.FoundVectors(semsearch.Encoder.load(model))
    return RayJob(engine, encoder, found.shard_size or scale.jobs.SIZE)


def write_shards(
    found: RayOptions,
    engine: Engine,
    model: str,
    paths: Sequence[Path] | Sequence[str],
    how: SyncOptions,
    options: Options,
) -> SyncReport:
    """Write shards instead of an index. Raises UsageError without a path."""
    target = found.to_shards
    if target is None or not paths:
        raise UsageError("--to-shards needs the files to embed.", "Name a folder or files.")
    encoder = semsearch.Encoder.load(model)
    size = found.shard_size or scale.jobs.SIZE
    with sync_progress(options, target.name) as tell:
        report, done = scale.jobs.to_shards(target, encoder, paths, how, engine, size=size, tell=tell)
    if not options.quiet:
        console.note(done.summary())
    return report


def make_searchable(
    found: RayOptions, store: str, model: str | None, options: Options, *, strict: bool, as_json: bool, alone: bool
) -> None:
    """Make the shards that `store` names searchable, and report it. Raises UsageError beside what makes an index."""
    engine = found.chosen()
    if not alone or found.to_shards or found.shard_size:
        raise UsageError(
            f"--store {store} takes no documents and makes no index: PATH, -n and the like do not fit.",
            "Write shards first: semsearch index PATH --engine ray --to-shards DIR.",
        )
    with step_progress(options, store) as tell:
        report = scale.searching.building.build(drivers.folder(store), model, engine, tell)
    index_report.show(report, options, strict=strict, as_json=as_json, exists=True, failed=None)
