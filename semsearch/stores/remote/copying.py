"""A store copied into an empty one of another kind, with the numbers of its documents, passages, sources and spaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from semsearch.errors import Corrupt
from semsearch.stores import machine_recipes
from semsearch.stores.protocol import StoreReader, StoreWriter
from semsearch.stores.records import DocumentRow, Entry, Numbered
from semsearch.types import Passage, Progress

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

AT_ONCE = 256  # documents
MOST_CHARACTERS = 2**22  # of documents that are written together


class NumberingWriter(StoreWriter, Protocol):
    """A writer that gives its rows the numbers that are asked for."""

    def continue_from(self, kind: Numbered, number: int) -> None:
        """The next document, passage, source or space gets this number, which is above all that were used."""


def copy(reader: StoreReader, writer: NumberingWriter, progress: Callable[[Progress], None]) -> None:
    """Write all that `reader` has to an empty store, in one transaction. Raises Corrupt."""
    with reader.snapshot(), writer.transaction():
        spaces = reader.state().spaces
        for space in sorted(spaces, key=lambda one: one.id):
            writer.continue_from("spaces", space.id)
            writer.put_space(replace(space, id=0))
        sources = set()  # documents that another machine has from its files become documents without a file
        for source in reader.sources():
            writer.continue_from("sources", source.id)
            sources.update(writer.put_sources([replace(source, id=0)]))
        _copy_documents(reader, writer, [space.id for space in spaces], sources, progress)
        if spaces:
            writer.put_space(spaces[0], current=True)
        for report in reversed(list(reader.runs())):
            writer.record_run(report)
        recipe = {key: value for key, value in reader.state().recipe.items() if key != machine_recipes.TAKEN}
        writer.change_recipe(lambda _: recipe)


def _copy_documents(
    reader: StoreReader,
    writer: NumberingWriter,
    spaces: Sequence[int],
    sources: Set[int],
    progress: Callable[[Progress], None],
) -> None:
    """Documents in the order of their numbers. `spaces`: the current one first; `sources`: those that were copied."""
    total, done = reader.state().documents, 0
    for run in _in_runs(_read(reader, spaces, sources)):
        writer.continue_from("documents", run[0].number)
        if (begun := next((one.ids for one in run if len(one.ids)), None)) is not None:
            writer.continue_from("passages", int(begun[0]))
        writer.replace([one.entry for one in run], run[0].space)
        for one in run:
            for space, passages, rows in one.others:
                writer.put_vectors(space, passages, rows)
        done += len(run)
        progress(Progress(done, total, "documents", run[-1].entry.document.id))


class _Copied(NamedTuple):
    """A document with its vectors in one space, and those in others."""

    number: int
    ids: Ids  # of its passages
    entry: Entry
    space: int
    others: list[tuple[int, Ids, Vectors]]


def _read(reader: StoreReader, spaces: Sequence[int], sources: Set[int]) -> Iterator[_Copied]:
    """All documents in the order of their numbers."""
    for stamp in _by_number(reader):
        ids = reader.passage_ids([stamp.uri])
        vectors = {space: list(reader.vectors(space, ids=ids)) for space in spaces} if len(ids) else {}
        source = stamp.source if stamp.source in sources else None
        entry, own = _first(reader, stamp._replace(source=source), spaces, ids, vectors)
        others = [(space, *piece) for space, pieces in vectors.items() if space != own for piece in pieces]
        yield _Copied(stamp.number, ids, entry, own, others)


def _in_runs(items: Iterable[_Copied]) -> Iterator[list[_Copied]]:
    """The documents in lists of such whose numbers, and those of their passages, follow each other without a gap."""
    run: list[_Copied] = []
    last = characters = 0
    for item in items:
        follows = run and (item.number, item.space) == (run[-1].number + 1, run[-1].space)
        gap = last and len(item.ids) and int(item.ids[0]) != last + 1
        if run and (not follows or gap or len(run) >= AT_ONCE or characters >= MOST_CHARACTERS):
            yield run
            run, last, characters = [], 0, 0
        run.append(item)
        last = int(item.ids[-1]) if len(item.ids) else last
        characters += len(item.entry.document.text)
    if run:
        yield run


def _first(
    reader: StoreReader,
    stamp: DocumentRow,
    spaces: Sequence[int],
    ids: Ids,
    vectors: dict[int, list[tuple[Ids, Vectors]]],
) -> tuple[Entry, int]:
    """A document with its vectors in one space that has them all. Raises Corrupt where none has."""
    document = next(iter(reader.full_documents([stamp.uri])), None)
    parts = [Passage(one.start, one.end, one.text, one.page, one.line, one.heading) for one in reader.passages(ids)]
    for space in spaces:
        pieces = vectors.get(space, [])
        if document is not None and sum(len(passages) for passages, _ in pieces) == len(parts) == len(ids):
            passages = np.concatenate([np.zeros(0, np.int64), *(piece for piece, _ in pieces)])
            if np.array_equal(passages, ids):
                empty = np.zeros((0, _dim(reader, space)), dtype=np.float32)
                return Entry(
                    document, stamp.source, parts, np.concatenate([empty, *(rows for _, rows in pieces)])
                ), space
    raise Corrupt(f"index {reader.name}: {stamp.uri!r} has a passage without a vector.", "Index it again.")


def _dim(reader: StoreReader, space: int) -> int:
    return next(one.dim for one in reader.state().spaces if one.id == space)


def _by_number(reader: StoreReader) -> Iterator[DocumentRow]:
    """The stamps of all documents, in the order in which they were stored."""
    return iter(sorted(reader.document_rows(), key=lambda row: row.number))
