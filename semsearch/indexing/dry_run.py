"""A store writer that writes nothing, to report what a run would do without taking the writer's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from semsearch.stores.protocol import Rebuild, StoreReader
    from semsearch.stores.records import Entry, Source, Space
    from semsearch.types import Ids, JsonObject, Metadata, Progress, Vectors


class DryRunWriter:
    """`StoreWriter` over a reader: counts what would be deleted, and changes nothing."""

    dry_run = True

    def __init__(self, reader: StoreReader) -> None:
        self.reader = reader

    def close(self) -> None: ...
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...
    def transaction(self) -> AbstractContextManager[None]:
        return nullcontext()

    def replace(self, entries: Sequence[Entry], space: int) -> None: ...
    def revise(
        self, uri: str, *, new_uri: str | None = None, metadata: Metadata | None = None, title: str | None = None
    ) -> None: ...
    def delete(self, uris: Iterable[str] = (), *, sources: Iterable[int] = ()) -> int:
        of_sources = sum(source.documents for source in self.reader.sources(ids=list(sources)))
        return len(self.reader.document_ids(None, ids=list(uris))) + of_sources

    def put_sources(self, sources: Sequence[Source]) -> list[int]:
        return [source.id for source in sources]

    def alone(self, purpose: str) -> AbstractContextManager[None]:
        return nullcontext()

    def change_recipe(self, made: Callable[[JsonObject], JsonObject]) -> JsonObject:
        return made(self.reader.state().recipe)

    def put_space(self, space: Space, *, current: bool = False) -> Space:
        return space

    def drop_space(self, space: int) -> None: ...
    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None: ...
    def record_run(self, report: Mapping[str, object] | None) -> None: ...
    def update_vector_index(self, space: int, backend: str, *, when: Rebuild = "due") -> None: ...
    def compact(self, progress: Callable[[Progress], None]) -> None: ...
