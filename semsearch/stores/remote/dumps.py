"""Dumps of a store beyond this machine: those of a local store, into which and out of which it is copied.

So a dump of a collection becomes a local index, and the other way round. For backups of a large one, its engine has
tools of its own, such as pg_dump, or a copy of the bucket.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from semsearch.errors import SemsearchError
from semsearch.stores import local
from semsearch.stores.base import check_restore
from semsearch.stores.protocol import StoreReader
from semsearch.stores.remote.copying import NumberingWriter, copy
from semsearch.types import Progress
from semsearch.utils.atomic_write import workplace

LOG = logging.getLogger(__name__)
MEASURED = "measured"  # of a recipe: the fastest FAISS index of a local store


def dump(reader: StoreReader, file: Path, progress: Callable[[Progress], None] = lambda _: None) -> None:
    """Write the present content of a collection to `file`, as a dump of a local store. Raises as that does."""
    with workplace(file, "copying") as place, local.create(place / "copy") as writer:
        copy(reader, writer, progress)
        local.dump(writer.reader, file, progress)


def restoring(create: Callable[..., NumberingWriter]) -> Callable[..., None]:
    """`restore` of the driver that creates stores so.

    A new collection appears when all of the dump is there and `prepare` ran; then the vector index is built, in no time
    limit. One that cannot be built is a warning: searches compare all vectors until the next run.

    Raises NotFound without the file, UsageError where `location` or the collection exists, Corrupt for a file that is
    no whole dump.
    """

    def restore(
        file: Path,
        location: Path,
        prepare: Callable[[NumberingWriter], None] | None = None,
        progress: Callable[[Progress], None] = lambda _: None,
        /,
        *,
        address: str = "",
    ) -> None:
        check_restore(file, location)

        def fill(writer: NumberingWriter) -> None:
            with local.open_reader(place / "copy") as reader:
                copy(reader, writer, progress)
            if prepare is not None:
                prepare(writer)
            writer.change_recipe(lambda recipe: {key: value for key, value in recipe.items() if key != MEASURED})

        location.parent.mkdir(parents=True, exist_ok=True)
        with workplace(location, "restoring") as place:
            local.restore(file, place / "copy", None, progress)
            with create(location, fill, address=address) as writer:
                _index(writer, progress)

    return restore


def _index(writer: NumberingWriter, progress: Callable[[Progress], None]) -> None:
    """Build the vector index of the current space, as at the end of a run."""
    total = writer.reader.state().documents
    for space in writer.reader.state().spaces[:1]:
        progress(Progress(total, total, "documents", "building the vector index"))
        try:
            writer.update_vector_index(space.id, str(writer.reader.state().recipe.get("backend", "auto")))
        except SemsearchError as error:
            LOG.warning(f"{writer.reader.name} is restored, but its vector index could not be built: {error}")
