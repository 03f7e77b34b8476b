"""A store in memory: the smallest thing that keeps the promises of `stores.protocol`, and a model for another store.

Plain dictionaries, exact search with NumPy, BM25 over lower-case words, filters by walking their tree. A transaction
works on a copy of the state, which takes the place of the old one when it ends; a snapshot holds on to one state.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy, deepcopy
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from helpers import filter_model
from helpers.filter_model import Row
from semsearch.errors import Corrupt, Locked, NotFound, SemsearchError, UnknownName, UsageError
from semsearch.stores import base, local
from semsearch.stores.drivers import StoreDriver
from semsearch.stores.filters import BUILTINS, Exists, Filter, fields
from semsearch.stores.protocol import Allowed, Dense, Lexical, Rebuild, SalvageReader, StoreReader, StoreWriter
from semsearch.stores.records import (
    DocumentRow,
    Entry,
    Source,
    Space,
    StoredPassage,
    StoreState,
    check_document,
    meta_hash,
    text_hash,
    to_json,
)
from semsearch.types import Document, Facet, JsonObject, Mark, Passage, Progress, SqlRows
from semsearch.utils import vectors as vector_checks
from semsearch.utils.strength import NullDistribution

if TYPE_CHECKING:
    from semsearch.types import Ids, Metadata, Vectors

K1, B = 1.2, 0.75  # of BM25
FEW_PASSAGES = 20  # below, a word of more than half of the passages is telling too
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Stored:
    """A document with its passages; `number` says when it was stored. `vectors` (d,) are by space and passage."""

    number: int
    document: Document
    source: int | None
    ids: tuple[int, ...]
    passages: tuple[Passage, ...]
    vectors: Mapping[tuple[int, int], Vectors]


@dataclass
class State:
    """All that a store has at one moment. What the containers hold is never changed, so that a shallow copy will do."""

    documents: dict[str, Stored] = field(default_factory=dict)
    sources: dict[int, Source] = field(default_factory=dict)
    spaces: dict[int, Space] = field(default_factory=dict)  # the current one first
    recipe: JsonObject = field(default_factory=dict)
    runs: list[JsonObject] = field(default_factory=list)
    updating: bool = False
    version: int = 0
    last_number: int = 0  # of documents and sources
    last_passage: int = 0
    last_space: int = 0

    def copy(self) -> State:
        return State(**{name: copy(value) for name, value in vars(self).items()})

    def passages(self) -> dict[int, tuple[Stored, Passage]]:
        """Every passage by id, ascending."""
        found = {
            key: (one, part) for one in self.documents.values() for key, part in zip(one.ids, one.passages, strict=True)
        }
        return dict(sorted(found.items()))

    def source_of(self, stored: Stored) -> Source | None:
        return None if stored.source is None else self.sources[stored.source]

    def filter_row(self, stored: Stored, passage: Passage | None) -> Row:
        """What a filter sees of a passage; of the document alone where that is None."""
        document, source = stored.document, self.source_of(stored)
        builtins = {
            "path": source.path if source else document.id,
            "document": document.id,
            "title": document.title,
            "heading": passage.heading if passage else None,
            "loader": source.loader if source else None,
            "page": passage.page if passage else None,
            "size": len(document.text.encode()),
            "mtime": source.mtime_ns if source else None,
        }
        place = (source.path, source.root) if source else (None, None)
        return Row(dict(document.metadata), builtins, document.id, *place)


@dataclass
class Place:
    """Where a store lies: its present state, and whether somebody has it open for writing."""

    state: State = field(default_factory=State)
    locked: bool = False


class MemoryAllowed:
    """The ids of the passages that pass a filter."""

    def __init__(self, ids: Iterable[int]) -> None:
        self.ids = frozenset(ids)

    def __len__(self) -> int:
        return len(self.ids)


class MemoryReader:
    """A store that is open for reading. `draft` gives the unfinished state of the writer that it reads through."""

    def __init__(self, location: Path, place: Place, draft: Callable[[], State | None] = lambda: None) -> None:
        self.name, self.location = location.name, location
        self._place = place
        self._draft = draft
        self._snapshots: list[State] = []
        self._lock = threading.RLock()
        self._closed = False

    def close(self) -> None:
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the whole

    def _state(self) -> State:
        if self._closed:
            raise SemsearchError(f"index {self.name} is closed.", "Open it again.")
        return self._draft() or (self._snapshots[-1] if self._snapshots else self._place.state)

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        with self._lock:
            self._snapshots.append(self._state())
            try:
                yield self._snapshots[-1].version
            finally:
                self._snapshots.pop()

    def state(self) -> StoreState:
        state = self._state()
        vectors = dict.fromkeys(state.spaces, 0)
        for space, _ in (key for stored in state.documents.values() for key in stored.vectors):
            vectors[space] += 1
        newest = max((stored.number for stored in state.documents.values()), default=0)
        counts = len(state.documents), len(state.passages()), vectors, state.updating, newest
        return StoreState(*counts, deepcopy(state.recipe), list(state.spaces.values()))

    def info(self) -> JsonObject:
        backend = {"backend": "exact", "why": "every vector is in memory", "cache": None, "newer_than_cache": 0}
        with self.snapshot():
            return base.info(self, 0, dict.fromkeys(self._state().spaces, backend))

    def runs(self) -> Iterator[JsonObject]:
        return iter(deepcopy(self._state().runs[::-1]))

    # ---- documents and their sources

    def full_documents(self, ids: Sequence[str]) -> list[Document]:
        known = self._state().documents
        return [deepcopy(known[uri].document) for uri in ids if uri in known]

    def document_rows(self, ids: Sequence[str] | None = None, *, source: int | None = None) -> Iterator[DocumentRow]:
        state = self._state()
        known = state.documents
        if source is None:
            found = [known[uri] for uri in (sorted(known) if ids is None else ids) if uri in known]
        else:
            found = sorted((one for one in known.values() if one.source == source), key=lambda one: one.number)
        return (_row(one, state.source_of(one)) for one in found)

    def sources(
        self, *, keys: Sequence[tuple[str, str]] | None = None, ids: Sequence[int] | None = None
    ) -> Iterator[Source]:
        state = self._state()
        counts = Counter(stored.source for stored in state.documents.values())
        for one in sorted(state.sources.values(), key=lambda source: source.id):
            if (keys is None or one.key in keys) and (ids is None or one.id in ids):
                yield replace(one, documents=counts[one.id])

    # ---- passages and vectors

    def passage_ids(self, documents: Sequence[str] | None = None, *, space: int | None = None) -> Ids:
        known = self._state().documents
        if documents is not None:
            return np.array([key for uri in documents if uri in known for key in known[uri].ids], dtype=np.int64)
        every = self._state().passages() if space is None else self._matrix(space)[0].tolist()
        return np.array(list(every), dtype=np.int64)

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        state = self._state()
        known = state.passages()
        wanted = [int(key) for key in ids]
        return [_passage(key, *known[key], state) for key in wanted if key in known]

    def owners(self, ids: Sequence[int], *, first: int | None = None) -> dict[int, int]:
        known = self._state().passages()
        return {key: known[key][0].number for key in ids if key in known}

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        known, rows = self._matrix(space)
        here = (known > after) & (np.isin(known, ids) if ids is not None else True)
        known, rows = known[here], rows[here]
        for at in range(0, len(known), chunk):
            yield known[at : at + chunk], rows[at : at + chunk]

    def _matrix(self, space: int) -> tuple[Ids, Vectors]:
        """ids (n,) ascending and vectors (n, d) of a space."""
        state = self._state()
        if space not in state.spaces:
            raise NotFound(f"index {self.name} has no space {space}.")
        every = (item for stored in state.documents.values() for item in stored.vectors.items())
        here = dict(sorted((key, row) for (of, key), row in every if of == space))
        rows = [np.zeros((0, state.spaces[space].dim), np.float32), *(row[None] for row in here.values())]
        return np.array(list(here), dtype=np.int64), np.concatenate(rows)

    # ---- search

    def allowed(
        self, condition: Filter | None, must: Sequence[str] = (), *, ids: Ids | None = None
    ) -> MemoryAllowed | None:
        if ids is not None:
            passing = self.allowed(condition, must)
            return MemoryAllowed(set(ids.tolist()) & (passing.ids if passing else set(ids.tolist())))
        phrases = [_words(entry) for entry in must]
        for entry, words in zip(must, phrases, strict=True):
            if not words:
                raise UsageError(f"must needs a word, not {entry!r}.")
        if condition is None and not must:
            return None
        with self.snapshot():
            state = self._state()
            self._check_keys(condition)
            return MemoryAllowed(
                key
                for key, (stored, passage) in state.passages().items()
                if (condition is None or filter_model.holds(condition, state.filter_row(stored, passage)))
                and all(_has_phrase(_words(passage.text), words) for words in phrases)
            )

    def count_documents(self, condition: Filter | None) -> int:
        return len(self.document_ids(condition))

    def document_ids(
        self, condition: Filter | None, *, ids: Sequence[str] | None = None, after: str = "", limit: int = -1
    ) -> list[str]:
        with self.snapshot():
            state = self._state()
            if condition is not None and not after:
                self._check_keys(condition)
            used = [] if condition is None else fields(condition)
            of_passages = any(asked.builtin and asked.names[0] in ("page", "heading") for asked, _ in used)
            found = sorted(
                uri
                for uri, stored in state.documents.items()
                if uri > after
                and (ids is None or uri in ids)
                and (
                    condition is None
                    or any(
                        filter_model.holds(condition, state.filter_row(stored, passage))
                        for passage in (stored.passages if of_passages else [None])
                    )
                )
            )
        return found if limit < 0 else found[:limit]

    def _check_keys(self, condition: Filter | None) -> None:
        """Raise UnknownName for a metadata key that no document has."""
        rows = [Row(dict(stored.document.metadata)) for stored in self._state().documents.values()]
        for asked, node in [] if condition is None or not rows else fields(condition):
            missing = all(filter_model.value_of(asked, row) is None for row in rows)
            if missing and not asked.builtin and not isinstance(node, Exists):
                raise UnknownName(
                    "field", ".".join(asked.names), {*BUILTINS, *(key for row in rows for key in row.metadata)}
                )

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        with self.snapshot():
            ids, rows = self._matrix(space)
            queries = vector_checks.check(queries, dim=rows.shape[1], what="query")
            here = np.isin(ids, list(_ids(allowed))) if allowed is not None else np.full(len(ids), True)
            ids, rows = ids[here], rows[here]
        found = np.full((len(queries), k), -1, np.int64), np.full((len(queries), k), -np.inf, np.float32)
        for at, cosines in enumerate(queries @ rows.T):
            best = np.lexsort((ids, -cosines))[:k]
            found[0][at, : len(best)], found[1][at, : len(best)] = ids[best], cosines[best]
        return Dense(*found, {"index": "exact"})

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        words = set(_words(text))
        texts = {key: Counter(_words(part.text)) for key, (_, part) in self._state().passages().items()}
        having = {word: sum(word in counts for counts in texts.values()) for word in words}
        idf = {word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in having.items()}
        mean = sum(counts.total() for counts in texts.values()) / max(1, len(texts))
        found: dict[int, tuple[float, float, float]] = {}  # passage -> score, coverage, complete
        telling = {word for word, n in having.items() if n <= max(len(texts) // 2, FEW_PASSAGES)}
        for key, counts in texts.items():
            present = words & counts.keys()
            if not present or (allowed is not None and key not in _ids(allowed)):
                continue
            norm = K1 * (1 - B + B * counts.total() / mean)
            score = sum(idf[word] * counts[word] * (K1 + 1) / (counts[word] + norm) for word in present)
            found[key] = score, sum(idf[word] for word in present) / sum(idf.values()), telling <= present
        best = sorted(found, key=lambda key: (-found[key][0], key))[: max(0, k)]
        scores = np.array([found[key] for key in best], dtype=np.float64).reshape(-1, 3)
        complete = scores[:, 2] > 0
        return Lexical(np.array(best, dtype=np.int64), scores[:, 0], np.minimum(1.0, scores[:, 1]), complete)

    def facets(self) -> list[Facet]:
        """Numbers, texts and lists of texts among the metadata, and the built-in loader and date."""
        with self.snapshot():
            state = self._state()
            rows = [state.filter_row(stored, None) for stored in state.documents.values()]
        columns: dict[str, list[object]] = {}
        for row in rows:
            for key, value in row.metadata.items():
                columns.setdefault(key, []).append(value)
        loaders = [row.builtins["loader"] for row in rows if row.builtins["loader"] is not None]
        builtin = [_word_facet("loader", loaders, builtin=True), _date_facet(rows)]
        own = [_facet(key, column) for key, column in columns.items() if key != "date"]
        ordered = sorted((each for each in own if each), key=lambda each: (-each.documents, each.key))
        return [each for each in builtin if each] + ordered

    # ---- is it sound

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        progress(Progress(0, 1, "checks"))
        state = self._state()
        keys = [key for stored in state.documents.values() for key in stored.ids]
        return ["a passage id is used twice."] if len(keys) != len(set(keys)) else []


class MemoryWriter:
    """A store that is open for writing; its place is locked until `close()`."""

    dry_run = False

    def __init__(self, location: Path, place: Place) -> None:
        if place.locked:
            raise Locked(f"{location} is being written to.", "Wait until it has finished.")
        place.locked = True
        self._place = place
        self._drafts: list[State] = []  # of the transactions that are open, the innermost last
        self._lock = threading.RLock()
        self._reader = MemoryReader(location, place, lambda: self._drafts[-1] if self._drafts else None)

    @property
    def reader(self) -> MemoryReader:
        return self._reader

    def close(self) -> None:
        self._reader.close()
        self._place.locked = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._lock:
            self._drafts.append(self._reader._state().copy())
            try:
                yield
            except BaseException:
                self._drafts.pop()
                raise
            done = self._drafts.pop()
            if self._drafts:
                self._drafts[-1] = done
            else:
                done.version += 1
                self._place.state = done

    @contextmanager
    def _change(self) -> Iterator[State]:
        with self.transaction():
            yield self._drafts[-1]

    # ---- documents

    def replace(self, entries: Sequence[Entry], space: int) -> None:
        with self._change() as state:
            self._known_space(state, space)
            for entry in {entry.document.id: entry for entry in entries}.values():
                state.documents.pop(entry.document.id, None)
                state.last_number += 1
                stored = _stored(entry, state, space)
                state.documents[entry.document.id] = stored
                state.last_passage += len(stored.ids)

    def _refresh(self, uri: str, metadata: Metadata, title: str | None) -> None:
        check_document(Document(uri, "", metadata, title))
        with self._change() as state:
            stored = self._known(state, uri)
            changed = replace(stored.document, metadata=_as_json(metadata), title=title)
            state.documents[uri] = replace(stored, document=changed)

    def _rename(self, old_uri: str, new_uri: str) -> None:
        with self._change() as state:
            stored = self._known(state, old_uri)
            if new_uri != old_uri and new_uri in state.documents:
                raise UsageError(f"{new_uri!r} is taken.", "Delete it first.")
            del state.documents[old_uri]
            state.documents[new_uri] = replace(stored, document=replace(stored.document, id=new_uri))

    def revise(
        self, uri: str, *, new_uri: str | None = None, metadata: Metadata | None = None, title: str | None = None
    ) -> None:
        with self._change():
            if metadata is not None:
                self._refresh(uri, metadata, title)
            if new_uri is not None:
                self._rename(uri, new_uri)

    def delete(self, uris: Iterable[str] = (), *, sources: Iterable[int] = ()) -> int:
        with self._change() as state:
            dropped = [key for key in sources if state.sources.pop(key, None) is not None]
            of_sources = [uri for uri, stored in state.documents.items() if stored.source in dropped]
            return sum(state.documents.pop(uri, None) is not None for uri in [*uris, *of_sources])

    def _known(self, state: State, uri: str) -> Stored:
        if uri not in state.documents:
            raise NotFound(f"index {self._reader.name} has no document {uri!r}.")
        return state.documents[uri]

    # ---- sources

    def put_sources(self, sources: Sequence[Source]) -> list[int]:
        with self._change():
            return [self._put_source(source) for source in sources]

    def _put_source(self, source: Source) -> int:
        with self._change() as state:
            known = next((key for key, one in state.sources.items() if one.key == source.key), None)
            if source.id and known not in (None, source.id):
                raise UsageError(f"another source is at {source.path!r}.", "Drop it first.")
            if source.id and source.id not in state.sources:
                raise NotFound(f"index {self._reader.name} has no source {source.id}.")
            state.last_number += 1
            key = source.id or known or state.last_number
            state.sources[key] = replace(source, id=key)
            return key

    # ---- the whole

    def alone(self, purpose: str) -> AbstractContextManager[None]:
        return nullcontext()

    def change_recipe(self, made: Callable[[JsonObject], JsonObject]) -> JsonObject:
        with self._change() as state:
            state.recipe = _as_json(made(deepcopy(state.recipe)))
            return deepcopy(state.recipe)

    def put_space(self, space: Space, *, current: bool = False) -> Space:
        with self._change() as state:
            same = (one for one in state.spaces.values() if one.fingerprint == space.fingerprint)
            stored = state.spaces.get(space.id) if space.id else next(same, None)
            if stored is None and space.id:
                raise NotFound(f"index {self._reader.name} has no space {space.id}.")
            if stored is None:
                state.last_space += 1
                stored = replace(space, id=state.last_space, info=_as_json(space.info))
            measured = space.null_distribution or stored.null_distribution
            state.spaces[stored.id] = stored = replace(stored, null_distribution=measured)
            if current:
                others = {key: one for key, one in state.spaces.items() if key != stored.id}
                state.spaces = {stored.id: stored, **dict(sorted(others.items()))}
            return stored

    def drop_space(self, space: int) -> None:
        with self._change() as state:
            self._known_space(state, space)
            if next(iter(state.spaces)) == space:
                raise UsageError(f"space {space} is in use.", "Use another one first.")
            del state.spaces[space]
            for uri, stored in state.documents.items():
                others = {key: row for key, row in stored.vectors.items() if key[0] != space}
                state.documents[uri] = replace(stored, vectors=others)

    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None:
        with self._change() as state:
            self._known_space(state, space)
            rows = vector_checks.check_storable(vectors, len(ids), state.spaces[space].dim, what="a passage")
            given = dict(zip(np.asarray(ids).tolist(), rows, strict=True))
            for uri, stored in state.documents.items():
                here = {(space, key): given[key] for key in stored.ids if key in given}
                state.documents[uri] = replace(stored, vectors={**stored.vectors, **here})

    def _known_space(self, state: State, space: int) -> None:
        if space not in state.spaces:
            raise NotFound(f"index {self._reader.name} has no space {space}.")

    def record_run(self, report: Mapping[str, object] | None) -> None:
        with self._change() as state:
            state.updating = report is None
            state.runs = state.runs if report is None else [*state.runs, _as_json(report)][-100:]

    def update_vector_index(self, space: int, backend: str, *, when: Rebuild = "due") -> None:
        """Search is exact: there is nothing to build."""

    def compact(self, progress: Callable[[Progress], None]) -> None:
        """Nothing that was deleted takes room."""


class MemoryDriver:
    """Stores by their path, for as long as this object lives."""

    def __init__(self) -> None:
        self._places: dict[Path, Place] = {}

    def create(
        self, location: Path, fill: Callable[[MemoryWriter], None] | None = None, /, *, address: str = ""
    ) -> MemoryWriter:
        assert not address, "this store has no server"
        if self.exists(location):
            raise UsageError(f"{location} already has an index.", "Open it, or choose another name.")
        place = Place()
        writer = MemoryWriter(location, place)
        if fill is not None:
            fill(writer)
        self._places[location.absolute()] = place
        return writer

    def link(self, location: Path, address: str, /) -> bool:
        raise UsageError(f"{location.name} would be a store in memory, without a server at {address}.")

    def unlink(self, location: Path, /) -> list[str]:
        raise UsageError(f"{location.name} is stored here, not on a server.")

    def exists(self, location: Path, /) -> bool:
        return location.absolute() in self._places

    def identity(self, location: Path, /) -> tuple[int, int]:
        return 0, id(self._place(location))

    def names(self, home: Path, /) -> list[str]:
        return sorted(place.name for place in self._places if place.parent == home.absolute())

    def open_reader(self, location: Path, /) -> MemoryReader:
        return MemoryReader(location, self._place(location))

    def open_writer(self, location: Path, /) -> MemoryWriter:
        return MemoryWriter(location, self._place(location))

    def rename(self, location: Path, target: Path, /) -> None:
        place = self._free(location)
        if self.exists(target) and target.absolute() != location.absolute():
            raise UsageError(f"{target.name!r} already exists.", "Choose another name, or remove it.")
        del self._places[location.absolute()]
        self._places[target.absolute()] = place

    def salvage(self, location: Path, /) -> SalvageReader:
        raise NotFound(f"a store in memory is never damaged: {location}.")

    def accept_loss(self, location: Path, /) -> str | None:
        self._free(location)
        return None

    def remove(self, location: Path, /) -> list[str]:
        self._free(location)
        del self._places[location.absolute()]
        return []

    def dump(self, reader: StoreReader, file: Path, progress: Callable[[Progress], None], /) -> None:
        assert isinstance(reader, MemoryReader)
        with reader.snapshot():
            file.write_text(json.dumps(_packed(reader._state())), encoding="utf-8")

    def restore(
        self,
        file: Path,
        location: Path,
        prepare: Callable[[MemoryWriter], None] | None,
        progress: Callable[[Progress], None],
        /,
        *,
        address: str = "",
    ) -> None:
        assert not address, "this store has no server"
        if not file.is_file():
            raise NotFound(f"there is no file {str(file)!r}.")
        if self.exists(location):
            raise UsageError(f"{location} exists already.", "Restore under another name, or remove it first.")
        try:
            state = _unpacked(json.loads(file.read_text(encoding="utf-8")))
        except (ValueError, TypeError, KeyError) as error:
            raise Corrupt(f"{file} is damaged: {error}.", "Nothing was written.") from error
        place = Place(state)
        if prepare is not None:
            with MemoryWriter(location, place) as writer:
                prepare(writer)
        self._places[location.absolute()] = place

    def sql(self, location: Path, *_: object) -> SqlRows:
        raise UsageError(f"{location} is in memory, where there is no SQL.", "Use another store.")

    def check_installation(self) -> str:
        return f"NumPy {np.__version__}"

    def _place(self, location: Path) -> Place:
        if not self.exists(location):
            raise NotFound(f"{location} is not an index.")
        return self._places[location.absolute()]

    def _free(self, location: Path) -> Place:
        place = self._place(location)
        if place.locked:
            raise Locked(f"{location} is being written to.", "Wait until it has finished.")
        return place


# mypy checks that each has all that the protocols ask for, in the right shapes
_READERS: tuple[type[StoreReader], ...] = (MemoryReader, local.LocalReader)
_WRITERS: tuple[type[StoreWriter], ...] = (MemoryWriter, local.LocalWriter)
_DRIVERS: tuple[StoreDriver, ...] = (MemoryDriver(), local)


# ---- records


def _stored(entry: Entry, state: State, space: int) -> Stored:
    """An entry as it is stored. Raises Unreadable, SemsearchError, NotFound."""
    document, passages = entry.document, tuple(entry.passages)
    check_document(document)
    vectors = vector_checks.check_storable(entry.vectors, len(passages), state.spaces[space].dim, what=document.id)
    sliced = all(document.text[part.start : part.end] == part.text for part in passages)
    if not sliced:
        raise SemsearchError(f"{document.id}: the passages are not slices of their document.")
    if entry.source is not None and entry.source not in state.sources:
        raise NotFound(f"there is no source {entry.source}.")
    ids = tuple(range(state.last_passage + 1, state.last_passage + 1 + len(passages)))
    kept = replace(document, metadata=_as_json(document.metadata), marks=tuple(document.marks))
    rows = {(space, key): row for key, row in zip(ids, vectors.copy(), strict=True)}
    return Stored(state.last_number, kept, entry.source, ids, passages, rows)


def _as_json(value: Mapping[str, object]) -> JsonObject:
    """`value` as JSON gives it back. Raises Unreadable."""
    parsed: JsonObject = json.loads(to_json(dict(value)))
    return parsed


def _row(stored: Stored, source: Source | None) -> DocumentRow:
    document = stored.document
    return DocumentRow(
        document.id,
        document.title,
        text_hash(document.text),
        meta_hash(document.title, document.metadata),
        stored.source,
        stored.number,
        len(document.text.encode()),
        source.mtime_ns if source else None,
        source.loader if source else None,
        source.root if source else None,
        source.path if source else None,
        len(stored.ids),
        deepcopy(dict(document.metadata)),
    )


def _passage(key: int, stored: Stored, passage: Passage, state: State) -> StoredPassage:
    document, source = stored.document, state.source_of(stored)
    return StoredPassage(
        id=key,
        document=document.id,
        **asdict(passage),
        metadata=deepcopy(dict(document.metadata)),
        title=document.title,
        root=source.root if source else None,
        path=source.path if source else None,
    )


def _packed(state: State) -> JsonObject:
    documents = [{**vars(one), "document": asdict(one.document), "passages": [asdict(part) for part in one.passages],
                  "vectors": [[*key, row.tolist()] for key, row in one.vectors.items()]}
                 for one in state.documents.values()]  # fmt: skip
    sources, spaces = map(asdict, state.sources.values()), map(asdict, state.spaces.values())
    return {**vars(state), "documents": documents, "sources": list(sources), "spaces": list(spaces)}


def _unpacked(packed: JsonObject) -> State:
    documents = {}
    for one in packed["documents"]:
        marks = tuple(Mark(**mark) for mark in one["document"]["marks"])
        document = Document(**{**one["document"], "marks": marks})
        passages = tuple(Passage(**part) for part in one["passages"])
        vectors = {(space, key): np.array(row, dtype=np.float32) for space, key, row in one["vectors"]}
        ids = tuple(one["ids"])
        documents[document.id] = Stored(
            **{**one, "document": document, "passages": passages, "ids": ids, "vectors": vectors}
        )
    sources = {one["id"]: Source(**one) for one in packed["sources"]}
    spaces = {one["id"]: Space(**{**one, "null_distribution": _measured(one)}) for one in packed["spaces"]}
    return State(**{**packed, "documents": documents, "sources": sources, "spaces": spaces})


def _measured(space: JsonObject) -> NullDistribution | None:
    packed = space["null_distribution"]
    return packed and NullDistribution(tuple(packed["quantiles"]), packed["passages"])


# ---- words and facets


def _ids(allowed: Allowed | None) -> frozenset[int]:
    if not isinstance(allowed, MemoryAllowed):
        raise UsageError("this is the filter of another store.", "Call `allowed` of this one.")
    return allowed.ids


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _has_phrase(words: Sequence[str], phrase: Sequence[str]) -> bool:
    return any(words[at : at + len(phrase)] == phrase for at in range(len(words)))


def _facet(key: str, column: Sequence[object]) -> Facet | None:
    values = [value for value in column if value is not None]
    kinds = {filter_model.json_type(value) for value in values}
    if kinds == {"number"}:
        numbers = [value for value in values if isinstance(value, int | float)]
        whole = all(isinstance(value, int) for value in numbers)
        low, high = min(numbers), max(numbers)
        return Facet(key, "number", len(numbers), low=low, high=high, whole=whole) if low < high else None
    if kinds == {"bool"}:
        return Facet(key, "flag", len(values)) if len(set(map(str, values))) == 2 else None
    if kinds == {"list"}:
        items = [item for value in values if isinstance(value, list) for item in value if isinstance(item, str)]
        found = _word_facet(key, items)
        return found and replace(found, kind="list", documents=len(values))
    return _word_facet(key, values) if kinds == {"str"} else None


def _word_facet(key: str, values: Sequence[object], *, builtin: bool = False) -> Facet | None:
    counted = sorted(Counter(map(str, values)).items(), key=lambda one: (-one[1], one[0]))
    return Facet(key, "words", len(values), builtin, values=tuple(counted)) if len(counted) > 1 else None


def _date_facet(rows: Sequence[Row]) -> Facet | None:
    days = sorted(day for row in rows if (day := _day(row)))
    return Facet("date", "date", len(rows), True, days[0], days[-1]) if days and days[0] < days[-1] else None


def _day(row: Row) -> str | None:
    own, mtime = row.metadata.get("date"), row.builtins["mtime"]
    if isinstance(own, str) and re.match(r"\d{4}-\d\d-\d\d", own):
        return own[:10]
    return None if mtime is None else datetime.fromtimestamp(mtime / 1e9).date().isoformat()
