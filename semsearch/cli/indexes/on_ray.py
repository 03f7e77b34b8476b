"""The options of `index` that have a Ray cluster embed, and the job in place of a synchronisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import semsearch
from semsearch import scale
from semsearch.cli.lookup import load_encoder
from semsearch.cli.options import EncoderOptions, Options
from semsearch.cli.output import console, index_report
from semsearch.cli.output.progress import step_progress, sync_progress
from semsearch.cli.ray_options import EngineOptions, RayOptions
from semsearch.errors import UsageError
from semsearch.stores import drivers
from semsearch.types import Progress, SyncReport

if TYPE_CHECKING:
    from semsearch import SyncOptions
    from semsearch.scale.cluster import Engine
    from semsearch.scale.found_vectors import FoundVectors

OF_SHARDS = {  # the parameters of `index` that have a meaning for `--store shards:DIR`
    *("store", "model", "template", "dtype", "layer", "device", "strict", "as_json"),
    *(field.name for field in fields(EngineOptions)),
}
OF_INDEXES = ("name", "store", "dry_run", "prune", "force", "backend_type")  # have none for --to-shards


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


def refuse_others(store: str, given: Mapping[str, str]) -> None:
    """Raises UsageError for what has no meaning where a folder of shards is made searchable.

    given: what the command line has (`options.given`).
    """
    others = [words for name, words in given.items() if name not in OF_SHARDS]
    written = "Shards are written by: semsearch index PATH --engine ray --to-shards DIR."
    _refuse(f"--store {store} takes no documents and makes no index", others, written)


def refuse_of_indexes(given: Mapping[str, str]) -> None:
    """Raises UsageError for what has no meaning where shards are written."""
    others = [words for name, words in given.items() if name in OF_INDEXES and words != "--prune"]
    _refuse("--to-shards makes no index", others, "To embed everything again, name a new folder.")


def _refuse(why: str, words: Sequence[str], instead: str) -> None:
    if words:
        fits, it = ("does not fit", "it") if len(words) == 1 else ("do not fit", "them")
        raise UsageError(f"{why}: {', '.join(words)} {fits}.", f"Leave {it} out. {instead}")


def make_searchable(
    found: RayOptions,
    store: str,
    model: str | None,
    encoder: EncoderOptions,
    options: Options,
    *,
    strict: bool,
    as_json: bool,
) -> None:
    """Make the shards that `store` names searchable, and report it. model: None for the encoder that they name."""
    engine, folder = found.chosen(), drivers.folder(store)
    load = partial(load_encoder, options, encoder=encoder)
    with step_progress(options, store) as tell:
        report = scale.searching.building.build(folder, model, engine, tell, load=load)
    index_report.show(report, options, strict=strict, as_json=as_json, exists=True, failed=None)
