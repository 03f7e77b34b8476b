"""Indexes copied out and in: dumps, what is sound of a damaged one, and files of texts with their vectors."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch import documents as document_files
from semsearch import settings
from semsearch.chunking.splitter import Splitter
from semsearch.errors import Corrupt, UsageError
from semsearch.index.admin import carried_encoder, vector_export
from semsearch.index.admin.lookup import exists
from semsearch.index.admin.upkeep import remove
from semsearch.index.index import Index
from semsearch.index.open_store import encoder_of
from semsearch.stores import drivers, recipe_trust
from semsearch.stores.protocol import StoreWriter
from semsearch.stores.recorded_spaces import KEY as OTHER_SPACES
from semsearch.stores.records import Space
from semsearch.types import EncoderLike, JsonObject, Progress, SalvageReport
from semsearch.utils.arguments import whole_number
from semsearch.utils.atomic_write import replacing, workplace

if TYPE_CHECKING:
    import pyarrow

    from semsearch.documents.loaders import Fields
    from semsearch.documents.vector_files import Precision

LOG = logging.getLogger(__name__)


def _silent(_: Progress) -> None:
    """The default of `progress`: nothing."""


def dump(index: Index, file: str | Path, progress: Callable[[Progress], None] = _silent) -> None:
    """Write the whole index to one file. An exception of `progress` ends it, and leaves nothing.

    An encoder of your own, such as an adapted one, is in it too, as far as it is exported to ONNX.
    """
    driver, target = drivers.find(index.path), Path(file)
    encoder = carried_encoder.of_index(index.store.reader)
    if encoder is None or (target.exists() and not target.is_file()):
        driver.dump(index.store.reader, target, progress)
        return
    with replacing(target) as new:
        driver.dump(index.store.reader, new, progress)
        carried_encoder.add(new, encoder)


def restore(
    file: Path,
    name: str | Path,
    *,
    home: Path | None = None,
    store: str = "local",
    trust: bool = False,
    progress: Callable[[Progress], None] = _silent,
) -> Index:
    """A new index out of a dump, open. Those of all stores are of one kind; `store` is as for `Index.create`.

    It follows no folder, and does not download its encoder, unless you `trust` the dump or call `trust()` later. An
    encoder that the dump carries is put into `models` only if you `trust` it.
    What was set aside is in `info()["recipe"]["set_aside"]`. Raises UsageError where an index exists, Corrupt for a
    damaged file, UnknownName for an unknown `store`, and what `progress` does; there is no new index then.
    """
    place = settings.index_folder(name, home)

    def prepare(writer: StoreWriter) -> None:
        recipe = recipe_trust.set_aside(writer.reader.state().recipe)
        writer.change_recipe(lambda _: recipe_trust.adopted(recipe) if trust else recipe)

    driver, address = drivers.parse(store)
    driver.restore(file, place, prepare, progress, address=address)
    if carried_encoder.is_in(file):
        if trust:
            carried_encoder.take_out(file, place.parent)
        else:
            LOG.warning("%s carries an encoder, which is left there: if you trust it, restore it with trust.", file)
    return Index.open(place)


def salvage(
    name: str | Path,
    new: str | Path,
    *,
    encoder: EncoderLike | str | None = None,
    home: Path | None = None,
    progress: Callable[[Progress], None] = _silent,
) -> SalvageReport:
    """Copy what is sound of a damaged index into a new one called `new`; the damaged one is not changed.

    The new one appears when it is complete: a killed call leaves none.
    Texts, metadata and vectors are taken with right checksums only. A missing vector is made again with `encoder`,
    or the one of the index; where it cannot be loaded, the document is in the report's `lost`, with the rest of
    what is. A next `sync` of the new index reads files again if anything was lost; if a part of the recipe was, it
    follows no folder until `trust()`. Raises NotFound, UsageError where `new` exists, Corrupt where nothing can be
    read.
    """
    place, target = settings.index_folder(name, home), settings.index_folder(new, home)
    if drivers.exists(target):
        raise UsageError(f"{target} already has an index.", "Choose another name.")
    if target.exists():
        raise UsageError(f"{target} exists already.", "Choose another name, or remove it first.")
    driver = drivers.find(place)
    with closing(driver.salvage(place)) as source:
        space = source.space()
        likely = "default" if space is None else space.name if space.has_encoder else None
        usual = {"encoder": likely, "splitter": asdict(Splitter()), "context": True, "backend": "auto"}
        recipe: JsonObject = {**usual, **source.recipe()}
        recipe.pop(OTHER_SPACES, None)  # the new one has only the current space
        if any(item.path.startswith("recipe") for item in source.lost):  # that it was a stranger's may be lost
            recipe = recipe_trust.set_aside(recipe)
        if space is None and encoder is None and recipe_trust.encoder(recipe):
            raise Corrupt(f"{place}: the record of its encoder is damaged.", "Pass encoder=.", "Pass -m MODEL.")
        model = space or encoder_of(encoder or recipe["encoder"], None, place.name)

        def fill(writer: StoreWriter) -> None:
            writer.change_recipe(lambda _: recipe)
            writer.put_space(Space(0, model.fingerprint, model.name, model.dim, dict(model.info)))

        target.parent.mkdir(parents=True, exist_ok=True)
        with workplace(target, "salvaging") as copy:
            driver.create(copy, fill).close()
            with (
                Index.open(copy, encoder=encoder) as index,
                index.store.writing(needs_encoder=False) as writer,  # as long as no vector is missing
            ):
                report = writer.salvage(source, space, progress)
            driver.rename(copy, target)
        return report


def from_vectors(
    file: str | Path,
    name: str | Path,
    *,
    texts: str | Path | None = None,
    encoder: EncoderLike | str | None = None,
    home: Path | None = None,
    fields: Fields | None = None,
    progress: Callable[[Progress], None] = _silent,
) -> Index:
    """A new index of texts with their vectors, from a file as `Index.add_vectors` reads it. Raises as that does.

    With `encoder` they are taken for its vectors, after a sample was compared; otherwise the index is without an
    encoder. After an error there is no new index.
    """
    width = vector_width(file, texts)
    if exists(name, home):
        raise UsageError(f"{settings.index_folder(name, home)} already has an index.", "Choose another name.")
    index = Index.create(name, encoder=encoder, dimensions=width if encoder is None else None, home=home)
    try:
        index.add_vectors(file, texts, fields=fields, progress=progress)
    except BaseException:
        index.close()
        remove(index.path)
        raise
    return index


def vector_width(file: str | Path, texts: str | Path | None = None) -> int:
    """The width of the vectors in a file, as `Index.add_vectors` reads it: `dimensions` of an index for them.

    Raises NotFound, UsageError, MissingExtra.
    """
    return document_files.vector_import.opened(Path(file), None if texts is None else Path(texts)).dim


def to_arrow(index: Index, *, size: int = 1000, precision: Precision = "float32") -> pyarrow.RecordBatchReader:
    """All passages with their vectors as a stream of Arrow record batches of at most `size`, by id.

    Columns: id, document, start, end, line, page, heading, title, text, metadata (JSON), and vector, a list of d
    float32; or of float16 with that `precision`, in which they are stored. A batch is read when it is asked for, so
    that memory does not grow with the index. The stream has `__arrow_c_stream__`, which pandas, polars, DuckDB and
    Parquet writers read. Raises UsageError, and MissingExtra without the extra `arrow`.
    """
    whole_number("size", size)
    return vector_export.batches(index.store.reader, index.store.space, size, precision)


def export_vectors(
    index: Index,
    file: str | Path,
    *,
    precision: Precision = "float32",
    progress: Callable[[Progress], None] = _silent,
) -> list[Path]:
    """Write all passages with their vectors to a .parquet file, with the columns of `to_arrow`.

    Or to a .npy file (passages, d), and a .jsonl file beside it whose line n is the passage of row n. The files
    that were written; after an error or an exception of `progress`, none is. 1,000 passages are in memory. Raises
    UsageError for another suffix, and MissingExtra where .parquet needs the extra `arrow`.
    """
    target = Path(file)
    document_files.vector_files.check(target, precision)
    return vector_export.export(index.store.reader, index.store.space, target, precision, progress)
