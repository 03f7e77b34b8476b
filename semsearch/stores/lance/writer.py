"""The Lance store, open for writing: a transaction is drafted, and committed at its end by one merge of the library.

Many writers may have a collection open at once, on many machines. None waits for another one: of two that commit at the
same time the second takes its steps again on what the first has written. A document that two write has the content of
the one that committed last.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from semsearch.errors import Locked, NotFound, UsageError
from semsearch.stores import base, machine_recipes
from semsearch.stores.entry_checks import checked
from semsearch.stores.lance import maintenance, rows
from semsearch.stores.lance.client import Arrow, is_conflict, pa
from semsearch.stores.lance.draft import Conflict, Draft
from semsearch.stores.lance.reader import MACHINE, LanceReader, ordered_spaces, recipe_of
from semsearch.stores.lance.table import Row, Table, vector_column
from semsearch.stores.records import (
    MOST_RUNS,
    UNFINISHED,
    Entry,
    Source,
    Space,
    check_document,
    meta_hash,
    stable_id,
    to_json,
)
from semsearch.types import Document
from semsearch.utils.vectors import check_storable

if TYPE_CHECKING:
    from semsearch.stores.protocol import Rebuild
    from semsearch.stores.records import Numbered
    from semsearch.types import Ids, JsonObject, Metadata, Progress, Vectors

T = TypeVar("T")
ATTEMPTS = 60  # of a commit, while others commit
LONGEST_WAIT = 2.0  # seconds between two of them
LEASE = 900.0  # seconds after which the machine that was alone at something is taken for dead
MOST_AT_ONCE = 20_000  # rows of a collection that is being made, which are committed piece by piece
LARGEST_SOURCE = 2**52  # drawn at random, so that several machines record files without asking each other


class LanceWriter(base.BaseWriter):
    """A collection that is open for writing; the methods are described in `stores.protocol.StoreWriter`."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.reader = LanceReader(table)
        self._begun: Draft | None = None  # the transaction that goes on
        self.is_new = False  # whether nobody else can see it yet

    def close(self) -> None:
        self.table.close()

    # ---- transactions

    @contextmanager
    def transaction(self) -> Iterator[None]:
        table = self.table
        with table.lock:
            if self._begun is not None:
                before = self._begun.copy()
                try:
                    yield
                except BaseException:
                    self._begun = before
                    raise
                return
            self._begun = Draft(table.latest())
            try:
                with table.drafting(lambda: self._draft.preview()):
                    yield
                    self._commit()
            finally:
                self._begun = None

    def _do(self, step: Callable[[Draft], T]) -> T:
        """Take a step of the transaction; it is taken again where another writer commits first."""
        with self.transaction():
            draft = self._draft
            with self.table.explained():
                made = step(draft)
            draft.steps.append(step)
            if self.is_new and len(draft.rows) >= MOST_AT_ONCE:  # nobody sees them before all is there
                with self.table.explained():
                    self._begun = draft.committed()
            return made

    @property
    def _draft(self) -> Draft:
        assert self._begun is not None
        return self._begun

    def _commit(self) -> None:
        for attempt in range(ATTEMPTS):
            if self._draft.is_empty:
                return
            try:
                with self.table.explained():
                    self._draft.commit()
                return
            except Conflict:
                time.sleep(random.uniform(0, min(LONGEST_WAIT, 0.02 * 2 ** min(attempt, 10))))
                self._again()
        raise Locked(f"{self.table.title}: other writers are always faster.", "Let fewer write at once.")

    def _again(self) -> None:
        """Take the steps of the transaction again, on the latest version."""
        steps, self._begun = self._draft.steps, Draft(self.table.latest())
        with self.table.explained():
            for step in steps:
                step(self._draft)
            self._draft.steps = steps
            space = self._draft.switched_to
            if space and self._draft.preview().count_rows(f"kind = 'passage' AND NOT array_has(spaces, {space})"):
                reason = f"{self.table.title}: another machine has added documents at the moment of the switch."
                raise Locked(reason, "Run this again.")

    @contextmanager
    def alone(self, purpose: str) -> Iterator[None]:
        key, mark = f"meta:alone {purpose}", f"{machine_recipes.name()} {os.getpid()}"

        def take(draft: Draft) -> None:
            holder = draft.records("meta").get(key)
            if holder and holder["until"] > time.time() and holder["by"] != mark:
                fix = f"Wait until it has finished; if it was killed, {LEASE / 60:.0f} minutes from its beginning."
                raise Locked(f"{self.table.title}: another machine is at {purpose}.", fix)
            draft.put_record("meta", key, {"by": mark, "until": time.time() + LEASE})

        self._do(take)
        try:
            yield
        finally:
            self._do(lambda draft: draft.drop([key]))

    # ---- documents and their sources

    def replace(self, entries: Sequence[Entry], space: int) -> None:
        """Of two entries with one id the last counts.

        Raises SemsearchError for passages or vectors that do not fit, and EncoderMismatch for another space than the
        current one, whose vectors nobody would search: another machine has switched.
        """
        dim = self._dim(space)
        latest = {entry.document.id: checked(entry, dim) for entry in entries}
        if latest:
            self._do(lambda draft: self._replace(draft, latest, space))

    def _dim(self, space: int) -> int:
        """The width of a space. Raises NotFound."""
        for one in self._spaces(self._begun or Draft(self.table.latest())):
            if one.id == space:
                return one.dim
        raise NotFound(f"{self.table.title} has no space {space}.")

    def _spaces(self, draft: Draft) -> list[Space]:
        with self.table.explained():
            return ordered_spaces(draft.records("space"), draft.records("meta"))

    def _replace(self, draft: Draft, entries: Mapping[str, Entry], space: int) -> None:
        if not self.is_new:
            machine_recipes.check_current(self.table.title, self._spaces(draft)[0], space)
        self._refuse_foreign(draft, list(entries))
        sources = {one.source for one in entries.values() if one.source is not None}
        numbers = {source: draft.aliases.get(source, source) for source in sources}
        there = draft.find(["source", *rows.OF_FILES], "source", numbers.values(), "source")
        files: dict[int, Row] = {row["source"]: {name: row[name] for name in rows.OF_FILES} for row in there}
        if missing := set(numbers.values()) - files.keys():
            raise NotFound(f"{self.table.title} has no source {min(missing)}.")
        draft.remove_documents(entries)
        made = [_with_source(entry, numbers) for entry in entries.values()]
        of_documents = draft.numbers("document", len(made))
        ids = draft.numbers("passage", sum(len(entry.passages) for entry in made))
        draft.put(rows.of_entries(made, files, of_documents, ids, space))

    def _refuse_foreign(self, draft: Draft, uris: Sequence[str]) -> None:
        """Raise Unreadable for a document of another machine's file."""
        own = machine_recipes.name()
        for row in draft.find(["machine"], "document", uris, "document"):
            if row.get("machine") not in (None, own):
                raise machine_recipes.foreign_document(row["document"], row["machine"])

    def delete(self, uris: Iterable[str] = (), *, sources: Iterable[int] = ()) -> int:
        names, files = sorted(set(uris)), [int(one) for one in sources]
        return self._do(lambda draft: self._delete(draft, names, files))

    def _delete(self, draft: Draft, uris: Sequence[str], sources: Sequence[int]) -> int:
        own = machine_recipes.name()
        files = [row for row in draft.find(["source", "machine"], "source", sources, "source") if row["machine"] == own]
        numbers = [row["source"] for row in files]
        documents = draft.find(["machine", "source"], "document", uris, "document")
        foreign = {row["source"] for row in documents if row.get("machine") not in (None, own)}
        documents += draft.find(["source"], "source", numbers, "document")
        gone = {row["document"] for row in documents}
        if gone:
            draft.remove_documents(gone)
        draft.drop(row["key"] for row in files)
        unfinished = draft.whole("source", foreign, ["source"])
        draft.put({**row, "size": UNFINISHED, "value": None} for row in unfinished)
        return len(gone)

    def _refresh(self, uri: str, metadata: Metadata, title: str | None) -> None:
        check_document(Document(uri, "", metadata, title))
        changed = rows.of_metadata(title, metadata)
        self._do(lambda draft: self._change(draft, uri, lambda row: {**row, **changed, **_hash(row, title, metadata)}))

    def _rename(self, uri: str, new_uri: str) -> None:
        check_document(Document(new_uri, ""))

        def renamed(row: Row) -> Row:
            if row["kind"] == "document":
                return {**row, "key": rows.document_key(new_uri), "document": new_uri}
            identity = stable_id(new_uri, row["position"], row["text"])
            return {**row, "document": new_uri, "stable_id": identity}

        def step(draft: Draft) -> None:
            there = {row["document"] for row in draft.find([], "document", [uri, new_uri], "document")}
            if uri in there and uri != new_uri and new_uri in there:
                raise UsageError(f"{self.table.title} already has a document {new_uri!r}.", "Delete it first.")
            if uri != new_uri or uri not in there:
                self._change(draft, uri, renamed)

        self._do(step)

    def _change(self, draft: Draft, uri: str, changed: Callable[[Row], Row]) -> None:
        """Write the rows of a document anew. Raises NotFound."""
        whole = draft.whole("document", [uri], ["document", "passage"])
        if not whole:
            raise NotFound(f"{self.table.title} has no document {uri!r}.")
        draft.remove_documents([uri])
        draft.put(map(changed, whole))

    def put_sources(self, sources: Sequence[Source]) -> list[int]:
        for source in sources:
            check_document(Document(source.path or ".", source.root))
        drawn = [source.id or random.randrange(1, LARGEST_SOURCE) for source in sources]
        return self._do(lambda draft: [self._put_source(draft, *each) for each in zip(sources, drawn, strict=True)])

    def _put_source(self, draft: Draft, source: Source, drawn: int) -> int:
        own = machine_recipes.name()
        columns = ["source", *rows.OF_FILES]
        at_path = draft.find(columns, "path", [source.path], "source")
        taken = [row["source"] for row in at_path if (row["root"], row["machine"]) == (source.root, own)]
        if source.id:
            if taken and taken[0] != source.id:
                raise UsageError(f"{self.table.title} already has a file {source.path!r}.", "Drop it first.")
            recorded = [row for row in draft.find(columns, "source", [source.id], "source") if row["machine"] == own]
            if not recorded:
                raise NotFound(f"{self.table.title} has no source {source.id}.")
            number = source.id
        else:
            number = taken[0] if taken else draft.next.pop("source", drawn)
            recorded = [row for row in at_path if row["source"] == number]
            draft.aliases[drawn] = number
        draft.put([rows.source_row(source, number)])
        of_file = rows.of_file(source)
        if recorded and any(recorded[0][name] != value for name, value in of_file.items()):
            draft.put({**row, **of_file} for row in draft.whole("source", [number], ["document", "passage"]))
        return number

    # ---- the whole

    def change_recipe(self, made: Callable[[JsonObject], JsonObject]) -> JsonObject:
        return self._do(lambda draft: self._change_recipe(draft, made))

    def _change_recipe(self, draft: Draft, made: Callable[[JsonObject], JsonObject]) -> JsonObject:
        latest = recipe_of(draft.records("meta"))
        recipe = made(dict(latest))
        if recipe != latest:
            shared, own = machine_recipes.divided(json.loads(to_json(recipe)))
            draft.put_record("meta", "meta:recipe", shared)
            draft.put_record("meta", MACHINE + machine_recipes.name(), own)
        return recipe

    def record_run(self, report: Mapping[str, object] | None) -> None:
        packed = None if report is None else json.loads(to_json(dict(report)))
        self._do(lambda draft: self._record_run(draft, packed))

    def _record_run(self, draft: Draft, report: JsonObject | None) -> None:
        updating = "meta:updating" in draft.records("meta")
        if report is None:
            if not updating:
                draft.put_record("meta", "meta:updating", 1)
            return
        if updating:
            draft.drop(["meta:updating"])
        (number,) = draft.numbers("run", 1)
        draft.put_record("run", f"run:{number}", report, number=number)
        if number > MOST_RUNS:
            draft.drop([f"run:{number - MOST_RUNS}"])

    def update_vector_index(self, space: int, backend: str, *, when: Rebuild = "due") -> None:
        """Raises UnknownName for a backend that does not exist."""
        with self.table.explained():
            maintenance.update_indexes(self.table, space, backend, when)

    def compact(self, progress: Callable[[Progress], None] = lambda _: None) -> None:
        """Write small files together, bring the indexes up to date, and remove versions that nobody reads any more."""
        with self.table.explained():
            maintenance.compact(self.table, progress)

    # ---- spaces and their vectors

    def put_space(self, space: Space, *, current: bool = False) -> Space:
        with self.transaction():
            if not space.id and not any(one.fingerprint == space.fingerprint for one in self._spaces(self._draft)):
                number = self._reserve_space(space.dim)
            else:
                number = 0
            return self._do(lambda draft: self._put_space(draft, space, number, current=current))

    def _put_space(self, draft: Draft, space: Space, reserved: int, *, current: bool) -> Space:
        by_fingerprint = {one.fingerprint: one for one in self._spaces(draft)}
        stored = by_fingerprint.get(space.fingerprint) if not space.id else None
        if space.id:
            stored = next((one for one in by_fingerprint.values() if one.id == space.id), None)
            if stored is None:
                raise NotFound(f"{self.table.title} has no space {space.id}.")
        number = stored.id if stored else reserved
        draft.counters["space"] = max(draft.counters["space"], number)
        if stored is None or (space.null_distribution and space.null_distribution != stored.null_distribution):
            made, null = stored or space, space.null_distribution
            value = {
                "id": number, "fingerprint": made.fingerprint, "name": made.name, "dim": made.dim, "info": made.info,
                "quantiles": list(null.numbers) if null else [], "measured": null.passages if null else 0,
            }  # fmt: skip
            draft.put_record("space", f"space:{number}", json.loads(to_json(value)), number=number, count=made.dim)
        if current or not by_fingerprint:
            draft.put_record("meta", "meta:space", number)
            draft.switched_to = number if by_fingerprint else 0
        return next(one for one in self._spaces(draft) if one.id == number)

    def _reserve_space(self, dim: int) -> int:
        """Add a column for the vectors of a new space, at once: a column without a space does no harm."""
        draft = self._draft
        asked = draft.next.pop("space", 0)
        while True:
            latest = self.table.latest()
            columns = [int(name.removeprefix("vector_")) for name in latest.schema.names if name.startswith("vector_")]
            number = asked or max([draft.counters["space"], *columns], default=0) + 1
            try:
                with self.table.explained():
                    fresh = latest.checkout_version(latest.version)
                    fresh.add_columns(pa.schema([pa.field(vector_column(number), pa.list_(pa.float16(), dim))]))
            except Exception as error:
                if not is_conflict(error.__cause__):
                    raise
                continue
            self._again()
            return number

    def drop_space(self, space: int) -> None:
        self._do(lambda draft: self._drop_space(draft, space))

    def _drop_space(self, draft: Draft, space: int) -> None:
        numbers = [one.id for one in self._spaces(draft)]
        if space not in numbers:
            raise NotFound(f"{self.table.title} has no space {space}.")
        if numbers[0] == space:
            raise UsageError(f"space {space} of {self.table.title} is in use.", "Use another one first.")
        draft.counters["space"] = max(draft.counters["space"], *numbers)
        draft.drop([f"space:{space}"])  # `compact` removes its column

    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None:
        stored = check_storable(vectors, len(ids), self._dim(space), what="a passage")
        of_ids = dict(zip(np.asarray(ids).tolist(), map(rows.half, stored), strict=True))
        self._do(lambda draft: self._put_vectors(draft, space, of_ids))

    def _put_vectors(self, draft: Draft, space: int, vectors: Mapping[int, Arrow]) -> None:
        if all(one.id != space for one in self._spaces(draft)):
            raise NotFound(f"{self.table.title} has no space {space}.")
        column = vector_column(space)
        draft.put(
            {**row, column: vectors[row["id"]], "spaces": sorted({*(row["spaces"] or ()), space})}
            for row in draft.whole("id", vectors, ["passage"])
        )

    def continue_from(self, kind: Numbered, number: int) -> None:
        """The next document, passage, source or space gets this number, which is above all that were used."""

        def step(draft: Draft) -> None:
            draft.next[kind.removesuffix("s")] = number

        self._do(step)


def _with_source(entry: Entry, numbers: Mapping[int, int]) -> Entry:
    return (
        entry if entry.source is None else Entry(entry.document, numbers[entry.source], entry.passages, entry.vectors)
    )


def _hash(row: Row, title: str | None, metadata: Metadata) -> Row:
    return {"meta_sha256": meta_hash(title, metadata)} if row["kind"] == "document" else {}
