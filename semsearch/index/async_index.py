"""AsyncIndex: the calls of an open index as coroutines, so that an event loop goes on meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, Unpack, overload

from semsearch.index.index import Index
from semsearch.index.threads import in_a_thread
from semsearch.types import (
    Document,
    EncoderLike,
    JsonObject,
    Query,
    QueryFields,
    ReembedReport,
    Results,
    SyncReport,
    Where,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike


class AsyncIndex:
    """Methods of `Index` with the same names, arguments and errors, each in a thread of a pool of four.

    All indexes of a process share the pool: a fifth call waits for its turn. Opening, closing and what is not here are
    those of `index`.
    """

    def __init__(self, index: Index) -> None:
        self.index = index

    async def search(
        self, query: str | Query = "", *, vector: ArrayLike | None = None, **fields: Unpack[QueryFields]
    ) -> Results:
        """`Index.search` for one query."""
        return await self.index.asearch(query, vector=vector, **fields)

    async def similar(self, target: int | str | Path, **fields: Unpack[QueryFields]) -> Results:
        """`Index.similar`."""
        return await in_a_thread(partial(self.index.similar, target, **fields))

    @overload
    async def get(self, target: int | str) -> JsonObject: ...
    @overload
    async def get(
        self,
        *,
        ids: Sequence[str] | None = None,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[JsonObject]: ...
    async def get(
        self,
        target: int | str | None = None,
        *,
        ids: Sequence[str] | None = None,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> JsonObject | list[JsonObject]:
        """`Index.get`."""
        if target is not None:
            return await in_a_thread(partial(self.index.get, target))
        return await in_a_thread(
            partial(self.index.get, ids=ids, where=where, values=values, limit=limit, offset=offset)
        )

    async def count(self, where: Where | None = None, *, values: Mapping[str, object] | None = None) -> int:
        """`Index.count`."""
        return await in_a_thread(partial(self.index.count, where, values=values))

    async def add(
        self,
        documents: Iterable[Document],
        *,
        vectors: ArrayLike | None = None,
        errors: Literal["raise", "skip"] = "raise",
    ) -> SyncReport:
        """`Index.add`."""
        return await in_a_thread(partial(self.index.add, documents, vectors=vectors, errors=errors))

    async def upsert(self, documents: Iterable[Document], *, vectors: ArrayLike | None = None) -> SyncReport:
        """`Index.upsert`."""
        return await in_a_thread(partial(self.index.upsert, documents, vectors=vectors))

    async def update(
        self, ids: str | Sequence[str], *, metadata: Mapping[str, object] | None = None, text: str | None = None
    ) -> SyncReport:
        """`Index.update`."""
        return await in_a_thread(partial(self.index.update, ids, metadata=metadata, text=text))

    async def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        where: Where | None = None,
        values: Mapping[str, object] | None = None,
        exclude: bool = False,
    ) -> int:
        """`Index.delete`."""
        return await in_a_thread(partial(self.index.delete, ids, where=where, values=values, exclude=exclude))

    async def reembed(self, encoder: EncoderLike | str | None = None, *, keep_old: bool = False) -> ReembedReport:
        """`Index.reembed`."""
        return await in_a_thread(partial(self.index.reembed, encoder, keep_old=keep_old))
