"""A store writer that writes nothing, to report what a run would do without taking the writer's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Self

from semsearch.stores.protocol import Rebuild, StoreReader
from semsearch.stores.records import Entry, Source, Space
from semsearch.utils.strength import NullDistribution

if TYPE_CHECKING:
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
    def refresh(self, uri: str, metadata: Metadata, title: str | None) -> None: ...
    def rename(self, old_uri: str, new_uri: str) -> None: ...
    def delete(self, uris: Iterable[str]) -> int:
        return len(self.reader.document_ids(None, ids=list(uris)))

    def put_source(self, source: Source) -> int:
        return source.id

    def put_sources(self, sources: Sequence[Source]) -> list[int]:
        return [source.id for source in sources]

    def move_source(self, source_id: int, source: Source) -> None: ...
    def drop_sources(self, ids: Iterable[int]) -> int:
        return sum(source.documents for source in self.reader.sources(ids=list(ids)))

    def alone(self, purpose: str) -> AbstractContextManager[None]:
        return nullcontext()

    def latest_recipe(self) -> JsonObject:
        return self.reader.state().recipe

    def set_recipe(self, recipe: Mapping[str, object]) -> None: ...
    def add_space(self, fingerprint: str, name: str, dim: int, info: Mapping[str, object]) -> Space:
        return Space(0, fingerprint, name, dim, dict(info))

    def use_space(self, space: int) -> None: ...
    def drop_space(self, space: int) -> None: ...
    def put_vectors(self, space: int, ids: Ids, vectors: Vectors) -> None: ...
    def set_null_distribution(self, space: int, measured: NullDistribution) -> None: ...
    def begin_run(self) -> None: ...
    def add_run(self, report: Mapping[str, object]) -> None: ...
    def update_vector_index(self, space: int, backend: str, *, when: Rebuild = "due") -> None: ...
    def compact(self, progress: Callable[[Progress], None]) -> None: ...
