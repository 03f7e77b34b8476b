"""An index in Milvus, open for writing. The methods are described in `stores.protocol.StoreWriter`.

A transaction gathers its changes, which its own reader sees by key (searches do not), and `commit` writes them at its
end. Weaker than a local store: another reader may see some documents of a transaction before the others.

One process writes through a link at a time; through links on other machines many may, each with files of its own. Two
that write the same document at once leave the one of the later, and at worst a document without some of its passages,
which `verify` tells and the next write of it mends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.stores import machine
from semsearch.stores.entries import checked
from semsearch.stores.milvus import documents, rows
from semsearch.stores.milvus.index_tables import IndexTables, keys_of
from semsearch.stores.milvus.server import building
from semsearch.stores.milvus.writing.spaces import SpaceWriter
from semsearch.stores.records import MOST_RUNS, Entry, Source, at_places, check_document
from semsearch.types import Document, Progress

if TYPE_CHECKING:
    from semsearch.stores.protocol import Rebuild
    from semsearch.types import JsonObject, Metadata
    from semsearch.utils.writer_lock import WriterLock


class MilvusWriter(SpaceWriter):
    """An index that is open for writing; its link is locked until `close()`. Threads take turns."""

    dry_run = False

    def __init__(self, location: Path, tables: IndexTables, lock: WriterLock | None) -> None:
        super().__init__(location, tables)
        self._lock = lock

    def close(self) -> None:
        """Release the lock. Every later call raises SemsearchError."""
        self.reader.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- documents

    def replace(self, entries: Sequence[Entry], space: int) -> None:
        vectors = self._tables.space(space)
        latest = {entry.document.id: checked(entry, vectors.columns[-1].size) for entry in entries}
        with self.transaction():
            sources = self._sources_of(latest.values())
            self._refuse_others(latest)
            numbers = [self._next_number() for _ in latest]
            documents.store(self._tables, list(latest.values()), vectors, sources, numbers)

    def _refuse_others(self, uris: Iterable[str]) -> None:
        """Raise Unreadable for a document that is of a file on another machine."""
        found = self._tables.documents.get(keys_of(uris), ["head"])
        for _, head in self._tables.heads(list(found.values())):
            if head.place is not None and head.place.machine != machine.name():
                raise machine.foreign_document(head.uri, head.place.machine)

    def _sources_of(self, entries: Iterable[Entry]) -> dict[int, Source]:
        wanted = {entry.source for entry in entries if entry.source is not None}
        found = self.reader.files(wanted)
        if missing := wanted - found.keys():
            raise NotFound(f"{self.reader.location} has no source {min(missing)}.")
        return found

    def refresh(self, uri: str, metadata: Metadata, title: str | None) -> None:
        check_document(Document(uri, "", metadata, title))
        with self.transaction():
            row, head = self._known(uri)
            documents.restamp(self._tables, [(row, replace(head, metadata=rows.read_back(metadata), title=title))])

    def rename(self, old_uri: str, new_uri: str) -> None:
        with self.transaction():
            row, head = self._known(old_uri)
            if old_uri == new_uri:
                return
            if self._tables.head(new_uri) is not None:
                raise UsageError(f"{self.reader.location} already has a document {new_uri!r}.", "Delete it first.")
            documents.restamp(self._tables, [(row, replace(head, uri=new_uri))])

    def _known(self, uri: str) -> tuple[dict[str, object], rows.Head]:
        found = self._tables.head(uri)
        if found is None:
            raise NotFound(f"{self.reader.location} has no document {uri!r}.")
        return found

    def delete(self, uris: Iterable[str]) -> int:
        with self.transaction():
            return documents.remove(self._tables, keys_of(uris))

    # ---- sources

    def put_source(self, source: Source) -> int:
        return self.put_sources([source])[0]

    def put_sources(self, sources: Sequence[Source]) -> list[int]:
        with self.transaction():
            known = at_places(self.reader.sources_at, (source.key for source in sources))
            numbers = self._free_numbers([source for source in sources if source.key not in known])
            numbers |= {key: one.id for key, one in known.items()}
            numbered = [replace(source, id=numbers[source.key]) for source in sources]
            self._tables.put_meta(*map(rows.source_row, numbered))
            for source in numbered:
                if source.key in known:
                    self._update_place(known[source.key], source)
            return [source.id for source in numbered]

    def _free_numbers(self, sources: Sequence[Source]) -> dict[tuple[str, str], int]:
        """Numbers that follow from the places of files; the next one where a file that has moved has it."""
        found = dict[tuple[str, str], int]()
        left, taken = list(sources), set[int]()
        for salt in range(documents.MOST_SALTS):
            wanted = {source.key: rows.source_number(source, salt) for source in left}
            taken |= set(self.reader.files(wanted.values()))
            for key, number in wanted.items():
                if number not in taken:
                    taken.add(number)
                    found[key] = number
            left = [source for source in left if source.key not in found]
            if not left:
                return found
        raise SemsearchError(f"{self.reader.location}: no number is free for {left[0].path!r}.")

    def _update_source(self, known: Source, source: Source) -> None:
        self._tables.put_meta(rows.source_row(source))
        self._update_place(known, source)

    def _update_place(self, known: Source, source: Source) -> None:
        place = rows.place_of(source)
        if rows.place_of(known) != place:  # its documents have a copy of it
            documents.put_place(self._tables, source.id, place)

    def move_source(self, source_id: int, source: Source) -> None:
        with self.transaction():
            taken = self.reader.sources_at(source.root, [source.path]).get(source.path)
            if taken is not None and taken.id != source_id:
                raise UsageError(f"{self.reader.location} already has a file {source.path!r}.", "Drop it first.")
            known = self.reader.files([source_id]).get(source_id)
            if known is None:
                raise NotFound(f"{self.reader.location} has no source {source_id}.")
            self._update_source(known, replace(source, id=source_id))

    def drop_sources(self, ids: Iterable[int]) -> int:
        with self.transaction():
            wanted = list(self.reader.files(map(int, ids)))
            found = self._tables.documents.where("source", wanted, ["source"])
            gone = self._tables.meta.get([rows.digest("source", one) for one in wanted])
            self._tables.remove_meta(list(gone.values()))
            return documents.remove(self._tables, [row["key"] for row in found])

    # ---- the whole

    def latest_recipe(self) -> JsonObject:
        return self.reader.recipe()

    def set_recipe(self, recipe: Mapping[str, object]) -> None:
        shared, own = machine.divided(recipe)
        with self.transaction():
            self._tables.put_value("recipe", "", shared)
            self._tables.put_value("folders", machine.name(), {"machine": machine.name(), "folders": own})

    def begin_run(self) -> None:
        with self.transaction():
            self._updating = True

    def add_run(self, report: Mapping[str, object]) -> None:
        with self.transaction():
            self._updating = False
            number = self._next_number()
            known = sorted(self._tables.meta.where("kind", ["run"]), key=lambda row: int(row["number"]))
            self._tables.remove_meta(known[: len(known) + 1 - MOST_RUNS] if len(known) >= MOST_RUNS else [])
            self._tables.put_value("run", number, dict(report), number=number)

    def update_vector_index(self, space: int, backend: str, *, when: Rebuild = "due") -> None:
        """Have the server build its index of what is new; else it does so by itself, of the kind the address names."""
        if when in ("due", "always"):
            record = self._tables.space_record(space)
            building.build(self._tables.server, self._tables.vectors(space, record["dim"]), record["index"])

    def compact(self, progress: Callable[[Progress], None]) -> None:
        """Milvus frees the room in its own time."""
        every = [self._tables.documents, self._tables.passages, self._tables.meta, *self._tables.all_vectors()]
        for done, table in enumerate(every):
            progress(Progress(done, len(every), "steps", table.collection))
            self._tables.server.compact(table.collection)
