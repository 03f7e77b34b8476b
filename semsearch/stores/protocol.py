"""Protocols of a store: everything that search, indexing, `Index` and evaluation may call on one.

A store is a package of `stores/` with the members of `drivers.StoreDriver`. The protocols do not depend on SQL, files
or FAISS: the store compiles a parsed filter to its own language and does dense and lexical search itself. Scores are
normalised: higher is better, a cosine is a cosine.
`tests/contracts/test_stores.py` runs over every store and over an in-memory one.

Letters: `n` passages, `q` queries, `d` vector width, `k` neighbours. Ids (n,) are int64 and never used twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from semsearch.errors import UsageError

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.stores.records import DocumentRow, Entry, Salvaged, Source, Space, StoredPassage, StoreState
    from semsearch.types import Document, Facet, Ids, JsonObject, Metadata, Progress, Skipped, Vectors


Rebuild: TypeAlias = Literal["due", "grown", "doubled", "always"]


class Allowed(Protocol):
    """The passages that pass a filter, in the store's own form; their number is `len`."""

    def __len__(self) -> int: ...


A = TypeVar("A", bound=Allowed)


def of_this_store(allowed: Allowed | None, kind: type[A]) -> A | None:
    """A filter as what the store makes of it. Raises UsageError for the filter of another store."""
    if allowed is None or isinstance(allowed, kind):
        return allowed
    raise UsageError(
        f"this filter was compiled by another store ({type(allowed).__name__}).", "Call `allowed` of this store."
    )


class Dense(NamedTuple):
    """Nearest passages: `ids` (q, k) and `cosines` (q, k), best first, padded with id -1 and -inf.

    `plan` describes how they were found; `warnings` are for the user.
    """

    ids: Ids
    cosines: Vectors
    plan: JsonObject
    warnings: tuple[str, ...] = ()


class Lexical(NamedTuple):
    """Passages by words: n `ids` and BM25 `scores`, best first. They are lists, as a search by words needs no numpy.

    `coverage`, n numbers in 0 … 1, is the share of the query's information that the words of a passage cover;
    `complete` are the passages with every word of the query that stands in at most half of all passages. `corrected`
    has the words that no passage has, each with the word that was searched for instead. `absent` are words with digits
    that no passage has, where they are most of the query: a number, a code or a year that is not here.
    """

    ids: list[int]
    scores: list[float]
    coverage: list[float]
    complete: frozenset[int]
    corrected: Mapping[str, str] = {}
    absent: Sequence[str] = ()


class Opened(Protocol):
    """What is open until it is closed."""

    def close(self) -> None:
        """Close the files or connections. Every later call raises SemsearchError."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


class SalvageReader(Protocol):
    """What can still be read of a damaged store. Nothing is changed."""

    lost: list[Skipped]  # so far, each with the reason; complete once `documents` has been read to the end

    def close(self) -> None:
        """Close the files."""

    def count(self) -> int:
        """How many documents there should be; 0 where that cannot be read."""

    def recipe(self) -> JsonObject:
        """What is right of the recipe."""

    def space(self) -> Space | None:
        """The space of the index; None where its record is damaged."""

    def documents(self, space: Space | None) -> Iterator[Salvaged]:
        """Every document whose text, title and metadata are right, with what is right of its passages and vectors."""


class StoreReader(Opened, Protocol):
    """A store that is open for reading. No call waits for a writer, or sees half a document."""

    name: str  # of the index, for messages
    location: Path  # the folder of the index

    # ---- the whole
    def snapshot(self) -> AbstractContextManager[int]:
        """Everything read inside is of one moment, whose version it gives: every commit raises it. May be nested."""

    def state(self) -> StoreState:
        """Counts, recipe and spaces, from counters: the same cost at any size."""

    def runs(self) -> Iterator[JsonObject]:
        """The reports of the latest runs of `index`, newest first."""

    def info(self) -> JsonObject:
        """The result of `Index.info`: see `base.BaseReader.info`."""

    # ---- documents and their sources
    def document_ids(
        self, condition: Filter | None, *, ids: Sequence[str] | None = None, after: str = "", limit: int = -1
    ) -> list[str]:
        """Ids, sorted, of the documents (of `ids`) that pass the filter: the first `limit` of those above `after`.

        Raises as `allowed` does; where `after` is not empty, a metadata key that no document has is no error.
        """

    def count_documents(self, condition: Filter | None) -> int:
        """How many documents pass the filter. Raises as `allowed` does."""

    def document_rows(self, ids: Sequence[str] | None = None, *, source: int | None = None) -> Iterator[DocumentRow]:
        """These documents without their texts, in the order of `ids`; unknown ones are left out.

        Without `ids` those that came from `source`, in the order in which they were stored; without either, all, by id.
        """

    def full_documents(self, ids: Sequence[str]) -> list[Document]:
        """These documents exactly as they were stored, in the order of `ids`; unknown ones are left out.

        Raises Corrupt.
        """

    def sources(
        self, *, keys: Sequence[tuple[str, str]] | None = None, ids: Sequence[int] | None = None
    ) -> Iterator[Source]:
        """The files that were read, with these (root, path) or ids, in any order; all, by id, without either.

        Where several machines write to the store, those that this machine read.
        """

    # ---- passages and vectors
    def passage_ids(self, documents: Sequence[str] | None = None, *, space: int | None = None) -> Ids:
        """The passages of these documents in their order; unknown ones have none.

        Without `documents` those with a vector in `space`, or all, ascending. Raises NotFound for an unknown space.
        """

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        """These passages in the order of `ids`; deleted ones are left out. Raises Corrupt."""

    def owners(self, ids: Sequence[int], *, first: int | None = None, furniture: bool = False) -> dict[int, int]:
        """Passage id -> the number of its document; deleted passages are left out.

        With `first`, those of other documents than the first ids are in may be left out; with `furniture`, all are but
        those that stand last in every answer, such as lists of links.
        """

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        """(ids (m,) ascending, vectors (m, d)) in pieces of at most `chunk`: of ids above `after`, and of `ids`."""

    # ---- search
    def allowed(self, condition: Filter | None, must: Sequence[str] = (), *, ids: Ids | None = None) -> Allowed | None:
        """The passages (of `ids`, ascending) that pass the filter and contain every entry of `must`; None where all may
        pass.

        Raises BadFilter, UnknownName for a metadata key that no document has, UsageError for an entry without a letter.
        """

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        """The nearest passages of unit queries (q, d). exact: compare with every stored vector."""

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        """The k best passages by the informative words of `text`; one of the words is enough."""

    def facets(self) -> list[Facet]:
        """The properties by which documents differ: file type, date, and the keys of their metadata."""

    # ---- verification
    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        """Every problem, a sentence each; an empty list is good. An exception of `progress` ends the checks."""


class StoreWriter(Opened, Protocol):
    """A store that is open for writing. Outside `transaction()`, each change is on disk when its call returns.

    A local store has one writer at a time: `Locked` for a second one, and for a rename or removal meanwhile. A store on
    a server may have several at once, each with sources of its own; what two write at once has the content of one of
    them, whole. `StoreState.updating` then says whether any of their runs goes on, until the first of them ends.
    """

    dry_run: bool  # whether it only counts, and changes nothing

    @property
    def reader(self) -> StoreReader:
        """Reads through the writer, so that a transaction sees its own changes."""

    def transaction(self) -> AbstractContextManager[None]:
        """All inside is on disk when the outermost one ends, or none of it. An inner one that fails is undone alone."""

    def alone(self, purpose: str) -> AbstractContextManager[None]:
        """No other machine is at work for the same `purpose` meanwhile. Raises Locked where one is."""

    # ---- documents and their sources
    def replace(self, entries: Sequence[Entry], space: int) -> None:
        """Store these documents, each in place of the one with the same id. Writing twice gives the same store.

        Raises Unreadable for a document that cannot be stored exactly; nothing of the call is written then. PostgreSQL
        takes the current space only: EncoderMismatch where another machine has switched to another one.
        """

    def revise(
        self, uri: str, *, new_uri: str | None = None, metadata: Metadata | None = None, title: str | None = None
    ) -> None:
        """Give a document another id, or new metadata and title; its text, passages and vectors stay.

        metadata: None leaves title and metadata as they are. Raises NotFound, Unreadable, UsageError for a taken id.
        """

    def delete(self, uris: Iterable[str] = (), *, sources: Iterable[int] = ()) -> int:
        """Delete these documents, and files with the documents that came from them; the number of documents deleted.

        PostgreSQL records the files that other machines have `uris` from as unfinished, so that these read them again.
        """

    def put_sources(self, sources: Sequence[Source]) -> list[int]:
        """Record files, at different places, or their new states; their ids. A server is asked once.

        One with an id is the file on record under it, which may have moved; one without, that at its (root, path).
        Raises NotFound for an unknown id, UsageError if another file has the new place.
        """

    # ---- the whole
    def change_recipe(self, made: Callable[[JsonObject], JsonObject]) -> JsonObject:
        """Record what `made` makes of the latest recipe, which no other writer changes until the transaction ends.

        What it made; nothing is written where that is the same.
        """

    def put_space(self, space: Space, *, current: bool = False) -> Space:
        """Record a space, as it is stored then: one without an id is that of its fingerprint, or a new one.

        Of one that is there, only a null distribution is recorded. The first space is the current one; current: this is
        it from now on, and no other writer changes documents until the transaction ends. Raises NotFound for an unknown
        id.
        """

    def drop_space(self, space: int) -> None:
        """Remove a space with its vectors. Raises NotFound, and UsageError for the current one."""

    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None:
        """Store vectors (n, d) of n passages in a space, in place of those that they have there.

        Passages that are gone are left out. Raises NotFound, SemsearchError for vectors that do not fit.
        """

    def record_run(self, report: Mapping[str, object] | None) -> None:
        """Record that a run has begun (None), or its report, and that it has ended; the latest 100 reports are stored.

        Until it has ended, what is derived from the documents is provisional.
        """

    def update_vector_index(self, space: int, backend: str, *, when: Rebuild = "due") -> None:
        """Rebuild the vector index where that is due. backend: a name, or "auto", with which few vectors need none.

        While a run goes on, "grown" rebuilds it only for the sake of many newer vectors, and "doubled" only if there
        are as many newer ones as others; both are quickly found out.
        """

    def compact(self, progress: Callable[[Progress], None]) -> None:
        """Free the disk space of deleted rows. An exception of `progress` ends it, and changes nothing."""
