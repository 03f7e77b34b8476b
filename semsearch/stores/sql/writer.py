"""What the writers of all stores on SQL share: documents revised, files moved, spaces, runs and the recipe."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from semsearch.errors import NotFound, UsageError
from semsearch.stores import base
from semsearch.stores.records import MOST_RUNS, Entry, Source, Space, check_document, meta_hash, to_json
from semsearch.stores.sql.rows import SPACES as BY_CURRENT
from semsearch.types import Document

if TYPE_CHECKING:
    from semsearch.stores.sql.database import Database
    from semsearch.stores.sql.reader import SqlReader
    from semsearch.types import JsonObject, Metadata
    from semsearch.utils.strength import NullDistribution

SPACES = "spaces"  # held by all who write documents, and alone by the one who switches to another space or removes one


class SqlWriter(base.BaseWriter):
    """A store on SQL that is open for writing; the methods are described in `stores.protocol.StoreWriter`."""

    reader: SqlReader

    def __init__(self, db: Database) -> None:
        self._db = db

    def transaction(self) -> AbstractContextManager[None]:
        return self._db.transaction()

    # ---- documents and their sources

    def _rename(self, uri: str, new_uri: str) -> None:
        numbers = self._numbers([uri, new_uri])
        if uri not in numbers:
            raise NotFound(f"{self._db.title} has no document {uri!r}.")
        if uri == new_uri:
            return
        if new_uri in numbers:
            raise UsageError(f"{self._db.title} already has a document {new_uri!r}.", "Delete it first.")
        self._db.update("documents", numbers[uri], {"uri": new_uri})
        self._rename_passages(numbers[uri], new_uri)

    def _refresh(self, uri: str, metadata: Metadata, title: str | None) -> None:
        packed = check_document(Document(uri, "", metadata, title))
        numbers = self._numbers([uri])
        if uri not in numbers:
            raise NotFound(f"{self._db.title} has no document {uri!r}.")
        values = {**self._metadata(packed), "title": title, "meta_sha256": meta_hash(title, metadata)}
        self._db.update("documents", numbers[uri], values)

    def _numbers(self, uris: Sequence[str]) -> dict[str, int]:
        """The numbers of the documents that exist, which no other writer changes until the transaction ends."""
        return dict(self._db.rows_in("SELECT uri, id FROM documents WHERE uri", uris))

    @abstractmethod
    def _rename_passages(self, document: int, uri: str) -> None:
        """Let the passages of a document follow its new id."""

    def _metadata(self, packed: str) -> JsonObject:
        """The columns of a document's metadata."""
        return {"metadata": packed}

    def _check_sources(self, entries: Iterable[Entry]) -> None:
        """Raise NotFound for a file that is not on record; the others stay until the transaction ends."""
        numbers = sorted({entry.source for entry in entries if entry.source is not None})
        if missing := set(numbers) - self._sources(numbers):
            raise NotFound(f"{self._db.title} has no source {min(missing)}.")

    def _sources(self, numbers: Sequence[int]) -> set[int]:
        return {number for (number,) in self._db.rows_of("SELECT id FROM sources WHERE id", numbers)}

    def put_sources(self, sources: Sequence[Source]) -> list[int]:
        with self._db.transaction():
            return [self._move_source(source) if source.id else self._put_source(source) for source in sources]

    @abstractmethod
    def _put_source(self, source: Source) -> int:
        """Record the file at this root and path; its id."""

    def _move_source(self, source: Source) -> int:
        sql, own = f"SELECT id, mtime_ns, loader FROM sources WHERE {self.reader.OWN} AND", self.reader.own
        taken = self._db.rows(f"{sql} root = ? AND path = ?", (*own, *source.key))
        if taken and taken[0][0] != source.id:
            raise UsageError(f"{self._db.title} already has a file {source.path!r}.", "Drop it first.")
        recorded = self._db.rows(f"{sql} id = ?", (*own, source.id))
        if not recorded:
            raise NotFound(f"{self._db.title} has no source {source.id}.")
        self._update_source(source, *recorded[0])
        return source.id

    @abstractmethod
    def _update_source(self, source: Source, number: int, mtime_ns: int, loader: str) -> None:
        """Record the new state of a file, with its time and loader until now."""

    # ---- the whole

    def change_recipe(self, made: Callable[[JsonObject], JsonObject]) -> JsonObject:
        with self.transaction():
            self._db.hold("recipe", alone=True)
            latest = self.reader.state().recipe
            recipe = made(dict(latest))
            if recipe != latest:
                self._put_recipe(recipe)
            return recipe

    @abstractmethod
    def _put_recipe(self, recipe: JsonObject) -> None: ...

    def record_run(self, report: Mapping[str, object] | None) -> None:
        """Of several writers that are at work at once, the first one to end says so for all."""
        with self.transaction():
            if report is None:
                self._db.execute("INSERT INTO meta VALUES ('updating', 1) ON CONFLICT DO NOTHING")
                return
            self._db.execute("DELETE FROM meta WHERE key = 'updating'")
            self._db.insert("runs", {"report": to_json(dict(report))})
            oldest = "SELECT id FROM runs ORDER BY id DESC LIMIT 1 OFFSET ?"
            self._db.execute(f"DELETE FROM runs WHERE id <= ({oldest})", (MOST_RUNS,))

    # ---- spaces

    def put_space(self, space: Space, *, current: bool = False) -> Space:
        with self.transaction():
            number = space.id or self._add_space(space)
            if current:
                self._db.hold(SPACES, alone=True)  # no other writer changes documents from here on
            self._existing_spaces(number)
            if current:
                sql = "INSERT INTO meta VALUES ('space', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
                self._db.execute(sql, (number,))
            if space.null_distribution is not None:
                self._db.update("spaces", number, self._measured(space.null_distribution))
            return next(one for one in self.reader.spaces() if one.id == number)

    def _existing_spaces(self, space: int) -> list[int]:
        """The ids of all spaces, the current one first. Raises NotFound unless `space` is among them."""
        numbers = [number for (number,) in self._db.rows(f"SELECT id {BY_CURRENT}")]
        if space not in numbers:
            raise NotFound(f"{self._db.title} has no space {space}.")
        return numbers

    def _add_space(self, space: Space) -> int:
        """The id of the space with this fingerprint; of a new one where there is none."""
        columns = {"fingerprint": space.fingerprint, "name": space.name, "dim": space.dim, "info": to_json(space.info)}
        number = self._db.insert("spaces", {**columns, **self._kind()}, "ON CONFLICT (fingerprint) DO NOTHING")
        if number is not None:
            self._make_vectors(number, space.dim)
        return next(one.id for one in self.reader.spaces() if one.fingerprint == space.fingerprint)

    def _kind(self) -> JsonObject:
        """What else is recorded of a new space."""
        return {}

    def _make_vectors(self, space: int, dim: int) -> None:
        """Make room for the vectors of a new space."""

    @abstractmethod
    def _measured(self, null_distribution: NullDistribution) -> JsonObject:
        """The columns of a null distribution."""

    def drop_space(self, space: int) -> None:
        with self.transaction():
            self._db.hold(SPACES, alone=True)
            if self._existing_spaces(space)[0] == space:
                raise UsageError(f"space {space} of {self._db.title} is in use.", "Use another one first.")
            self._remove_vectors(space)
            self._db.execute("DELETE FROM spaces WHERE id = ?", (space,))

    @abstractmethod
    def _remove_vectors(self, space: int) -> None:
        """Remove the vectors of a space, and all that was built of them."""
