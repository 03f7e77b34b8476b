"""Dumps of an index in Milvus: those of a local store, so that each can be restored as the other.

The documents are copied, through the protocol, to or from a local store in a temporary folder. Files are recorded for
this machine alone: documents of files on other machines are in the dump, but are of no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from semsearch.errors import Corrupt
from semsearch.stores import local
from semsearch.stores.copying import check_restore
from semsearch.stores.milvus import driver
from semsearch.stores.records import Entry
from semsearch.types import Passage, Progress
from semsearch.utils.atomic_write import scratch_folder

if TYPE_CHECKING:
    from semsearch.stores.milvus.writer import MilvusWriter
    from semsearch.stores.protocol import StoreReader, StoreWriter
    from semsearch.stores.records import StoredPassage
    from semsearch.types import Document, Vectors

    Whole: TypeAlias = tuple[Document, list[StoredPassage], tuple[int, int], dict[int, Vectors]]

TRIES = 3
AT_ONCE = 256  # documents in one transaction


def dump(reader: StoreReader, file: Path, progress: Callable[[Progress], None] = lambda _: None) -> None:
    """Write the present content to `file`. Raises Corrupt."""
    with scratch_folder() as folder, local.create(folder / reader.name) as copy:
        copied(reader, copy, progress)
        local.dump(copy.reader, file, progress)


def restore(
    file: Path,
    location: Path,
    prepare: Callable[[MilvusWriter], None] | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    *,
    address: str = "",
) -> None:
    """Make a new index on the server at `address` from a dump. Raises NotFound, UsageError, Corrupt."""
    check_restore(file, location)
    with scratch_folder() as folder:
        local.restore(file, folder / "copy", None, progress)
        with local.open_reader(folder / "copy") as reader:

            def fill(writer: MilvusWriter) -> None:
                copied(reader, writer, progress)
                if prepare is not None:
                    prepare(writer)

            driver.create(location, fill, address=address).close()


def copied(reader: StoreReader, writer: StoreWriter, progress: Callable[[Progress], None]) -> None:
    """Copy all of a store to an empty one."""
    spaces = reader.spaces()
    new = {}
    for space in sorted(spaces, key=lambda one: one.id):
        new[space.id] = writer.add_space(space.fingerprint, space.name, space.dim, space.info).id
        if space.null_distribution is not None:
            writer.set_null_distribution(new[space.id], space.null_distribution)
    writer.set_recipe(reader.recipe())
    files = list(reader.sources())
    sources = dict(zip((file.id for file in files), writer.put_sources(files), strict=True))
    total = reader.counts()["documents"]
    for done, uris in enumerate(_ordered(reader)):
        progress(Progress(done * AT_ONCE, total, "documents"))
        with writer.transaction():
            _copy_documents(reader, writer, uris, sources, [(space.id, new[space.id]) for space in spaces])
    if spaces:
        writer.use_space(new[spaces[0].id])
        writer.update_vector_index(new[spaces[0].id], str(reader.recipe().get("backend", "auto")))
    for report in reversed(list(reader.runs())):
        writer.add_run(report)


def _ordered(reader: StoreReader) -> Iterator[list[str]]:
    """The ids of all documents in the order in which they were stored, some at a time."""
    uris = [uri for uri, _ in reader.titles()]
    stamps = [stamp for at in range(0, len(uris), AT_ONCE) for stamp in reader.stamps(uris[at : at + AT_ONCE]).values()]
    ordered = [stamp.uri for stamp in sorted(stamps, key=lambda one: one.number)]
    for at in range(0, len(ordered), AT_ONCE):
        yield ordered[at : at + AT_ONCE]


def _copy_documents(
    reader: StoreReader,
    writer: StoreWriter,
    uris: Sequence[str],
    sources: dict[int, int],
    spaces: Sequence[tuple[int, int]],
) -> None:
    stamps = reader.stamps(uris)
    read = [found for uri in stamps if (found := _whole(reader, uri, spaces)) is not None]
    for space in spaces:
        entries = []
        for document, passages, first, rows in read:
            if first == space:
                source = sources.get(stamps[document.id].source or 0)
                vectors = np.stack([rows[one.id] for one in passages]) if passages else _none(reader, space[0])
                entries.append(Entry(document, source, [_passage(one) for one in passages], vectors))
        if entries:
            writer.replace(entries, space[1])
    for document, passages, first, _ in read:
        for old, new in spaces:
            given = _vectors(reader, old, passages) if old != first[0] else {}
            there = [at for at, one in enumerate(passages) if one.id in given]
            if there:
                ids = writer.reader.passage_ids(document.id)[there]
                writer.put_vectors(new, ids, np.stack([given[passages[at].id] for at in there]))


def _whole(reader: StoreReader, uri: str, spaces: Sequence[tuple[int, int]]) -> Whole | None:
    """A document with the first space that has a vector of each passage; None where it was deleted meanwhile.

    Raises Corrupt where something is missing, also when it is read again, as another writer may be at it.
    """
    for _ in range(TRIES):
        document, ids = reader.document(uri), reader.passage_ids(uri)
        if document is None:
            return None
        passages = reader.passages(ids)
        sliced = all(document.text[one.start : one.end] == one.text for one in passages)
        for space in spaces if sliced and len(passages) == len(ids) else ():
            vectors = _vectors(reader, space[0], passages)
            if len(vectors) == len(passages):
                return document, passages, space, vectors
    raise Corrupt(f"index {reader.name}: {uri!r} has a passage without its text or a vector.", "Index it again.")


def _none(reader: StoreReader, space: int) -> Vectors:
    dim = next(one.dim for one in reader.spaces() if one.id == space)
    return np.zeros((0, dim), dtype=np.float32)


def _vectors(reader: StoreReader, space: int, passages: Sequence[StoredPassage]) -> dict[int, Vectors]:
    ids = np.array(sorted(one.id for one in passages), dtype=np.int64)
    if not len(ids):
        return {}
    return {
        int(one): row for known, rows in reader.vectors(space, ids=ids) for one, row in zip(known, rows, strict=True)
    }


def _passage(stored: StoredPassage) -> Passage:
    return Passage(stored.start, stored.end, stored.text, stored.page, stored.line, stored.heading)
