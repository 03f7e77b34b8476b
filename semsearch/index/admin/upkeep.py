"""Indexes renamed, removed, linked, made smaller, and the choice of their vector index."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from semsearch import documents as document_files
from semsearch import settings
from semsearch.analysis import audit
from semsearch.chunking.splitter import Splitter
from semsearch.errors import UsageError
from semsearch.evaluation.judgements import Judgements
from semsearch.index.admin import waiting_vectors
from semsearch.index.index import Index
from semsearch.index.open_store import encoder_of
from semsearch.stores import drivers
from semsearch.types import EncoderLike, JsonObject, Progress, Survey
from semsearch.utils import plugins
from semsearch.utils.arguments import whole_number
from semsearch.vector_index import backends as backend_modules


def _silent(_: Progress) -> None:
    """The default of `progress`: nothing."""


def rename(name: str | Path, new: str, home: Path | None = None) -> Path:
    """Rename an index within its folder; its new path. The content stays the same; its judgements follow, and what a
    job on a cluster has embedded for it.

    Raises NotFound, Locked, UsageError for what cannot be a name or is one already.
    """
    place = settings.index_folder(name, home)
    if Path(new).name != new:
        raise UsageError(f"{new!r} cannot be the name of an index.", "Use letters, digits, '-' and '_'.")
    target = settings.index_folder(new, place.parent)
    with waiting_vectors.no_job(place):
        drivers.find(place).rename(place, target)
    waiting_vectors.renamed(place, target)
    with suppress(OSError):  # the index has its new name already
        Judgements(place).renamed(new)
    return target


def remove(name: str | Path, home: Path | None = None) -> list[str]:
    """Remove an index; the indexed files stay. The names of files in its folder that are not part of it, and stay.

    Of an index on a server, its collection is removed there too (see `unlink`). What a job on a cluster has
    embedded for the index and not stored yet is removed with it.

    Raises NotFound, and Locked, also while such a job is at work.
    """
    place = settings.index_folder(name, home)
    with waiting_vectors.no_job(place):
        left = drivers.find(place).remove(place)
    waiting_vectors.remove(place)
    return left


def link(name: str | Path, store: str, home: Path | None = None) -> bool:
    """Make `name` an index of the collection of that name, which `create` made on a server; False without one.

    `store` is as for `Index.create`. Every machine that has such a link searches and writes the same documents.
    Raises UsageError where an index exists, or for a store without a server; UnknownName for an unknown `store`.
    """
    place = settings.index_folder(name, home)
    if drivers.exists(place):
        raise UsageError(f"{place} already has an index.", "Open it, or choose another name.")
    driver, address = drivers.parse(store)
    return driver.link(place, address)


def unlink(name: str | Path, home: Path | None = None) -> list[str]:
    """Remove the link to a collection on a server, which keeps it; the names of files that stay in the folder.

    Raises NotFound, UsageError for an index that is stored here.
    """
    place = settings.index_folder(name, home)
    with waiting_vectors.no_job(place):
        left = drivers.find(place).unlink(place)
    waiting_vectors.remove(place)
    return left


def accept_loss(name: str | Path, home: Path | None = None) -> str | None:
    """Go on with what is there, where acknowledged changes are missing and writing is refused for that reason.

    Returns a sentence that says how many were lost, None for none. A write-ahead log that was removed or damaged
    after its writer was killed loses them. Raises NotFound, Locked.
    """
    place = settings.index_folder(name, home)
    return drivers.find(place).accept_loss(place)


def trust(index: Index) -> None:
    """Follow the folders that the dump of this index named, and allow the download of its encoder. Raises Locked.

    Nothing is read or downloaded yet.
    """
    with index.store.writing(needs_encoder=False) as writer:
        writer.trust()
        index.store.encoder.fetch = True


def survey(
    path: str | Path,
    *,
    encoder: EncoderLike | str = "default",
    splitter: Splitter | None = None,
    seconds: float = 2.0,
) -> Survey:
    """What an index of a file or folder would take, counted and estimated in about so many seconds.

    Nothing is written. Raises NotFound, and GuardRail for a whole disk.
    """
    model = encoder_of(encoder, None, "")
    return document_files.survey(Path(path), model, splitter or Splitter(), seconds, drivers.exists)


def compact(index: Index, progress: Callable[[Progress], None] = _silent) -> None:
    """Free the disk space of deleted documents, and rebuild the vector cache.

    An exception of `progress` ends it, and loses nothing.
    """
    with index.store.writing() as writer:
        writer.compact(progress)


def backends() -> tuple[str, ...]:
    """The values of `backend`: "auto", which chooses by the number of vectors, and every vector index back end."""
    return ("auto", *plugins.names(backend_modules))


def rebuild(index: Index, backend: str = "auto") -> None:
    """Rebuild the vector cache with this backend, and use it from now on."""
    with index.store.writing() as writer:
        writer.rebuild(backend)


def bench(
    index: Index,
    *,
    sample: int = 100,
    k: int = 10,
    recall: float = 0.95,
    keep: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> JsonObject:
    """A race of the vector indexes on the stored vectors: the `fastest` of the `backends` that reach `recall`.

    Each is built in memory and asked `sample` stored vectors, with a filter of 5 % too. `keep` has the fastest one
    built and used in place of the planner's choice, until the index has doubled or halved. Raises UsageError, and
    with `keep` Locked.
    """
    whole_number("sample", sample)
    whole_number("k", k)
    race = audit.race_of_backends(index.store.reader, index.store.space, sample, k, recall, progress)
    kept = bool(keep and race["fastest"])
    if kept:
        with index.store.writing(needs_encoder=False) as writer:
            writer.keep(race["fastest"])
    return {**race, "kept": kept}
