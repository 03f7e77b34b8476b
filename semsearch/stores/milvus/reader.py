"""An index in Milvus, open for reading. The methods are described in `stores.protocol.StoreReader`.

Weaker than a local store: a snapshot is not of one moment, since Milvus has none. What is asked later inside one may be
of later documents; but a passage is read only if its document names it, so no hit shows a text that is gone or is not
whole yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Self

from semsearch.stores import keyword_search, machine
from semsearch.stores.local.filtering.in_memory import Rows
from semsearch.stores.milvus import selection, vectors, verification
from semsearch.stores.milvus.index_tables import WRITER
from semsearch.stores.milvus.keywords import search as keyword
from semsearch.stores.milvus.reading.documents import DocumentReader
from semsearch.stores.milvus.reading.passages import PassageReader
from semsearch.stores.milvus.selection import MilvusAllowed, Selection
from semsearch.stores.protocol import Allowed, Counts, Dense, Lexical, of_this_store
from semsearch.stores.records import Space
from semsearch.types import Facet, JsonObject, Progress

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.types import Ids, Vectors


class MilvusReader(DocumentReader, PassageReader):
    """An index that is open for reading. Threads may share one."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the whole

    def snapshot(self) -> AbstractContextManager[None]:
        return self.moment()

    def moment(self) -> AbstractContextManager[None]:
        return self.tables.server.moment()

    def version(self) -> int:
        return sum(record["version"] for _, record in self.tables.values(WRITER))

    def counts(self) -> Counts:
        tables = self.tables
        spaces = tables.space_records().spaces
        return {
            "documents": tables.documents.count(),
            "passages": tables.passages.count(),
            "vectors": {one["id"]: tables.vectors(one["id"], one["dim"]).count() for one in spaces},
        }

    def recipe(self) -> JsonObject:
        """What all machines share, with the folders that this one follows, and the prefixes that others have taken."""
        shared = self.tables.value("recipe", "", {})
        folders = {record["machine"]: record["folders"] for _, record in self.tables.values("folders")}
        return machine.whole(shared, folders.pop(machine.name(), {}), folders.values())

    def is_updating(self) -> bool:
        return any(record["updating"] for _, record in self.tables.values(WRITER))

    def runs(self) -> Iterator[JsonObject]:
        found = sorted(self.tables.values("run"), key=lambda one: -one[0]["number"])
        return (report for _, report in found)

    def spaces(self) -> list[Space]:
        return self.tables.space_records().ordered()

    def info(self) -> JsonObject:
        with self.snapshot():
            return self._info()

    def _info(self) -> JsonObject:
        counts = self.counts()
        return {
            "name": self.name,
            "path": str(self.location),
            "documents": counts["documents"],
            "passages": counts["passages"],
            "vectors": sum(counts["vectors"].values()),
            "bytes": sum(file.stat().st_size for file in self.location.iterdir() if file.is_file()),
            "recipe": self.recipe(),
            "spaces": [vectors.info(self.tables, space, counts["vectors"][space.id]) for space in self.spaces()],
            "last_run": next(self.runs(), None),
        }

    # ---- search

    def allowed(self, condition: Filter | None, must: Sequence[str] = ()) -> MilvusAllowed | None:
        if condition is None and not must:
            return None
        with self.snapshot():
            return self._allowed(condition, must)

    def _allowed(self, condition: Filter | None, must: Sequence[str]) -> MilvusAllowed:
        tables = self.tables
        conditions: Sequence[str] | None = None
        if condition is not None:
            chosen = Selection(tables, condition)
            chosen.check_keys()
            conditions = chosen.passages()
        if must:
            conditions = selection.containing(tables, must, conditions)
        counted = [(one, tables.passages.count(one)) for one in conditions or ()]
        return MilvusAllowed(tuple(one for one, n in counted if n), sum(n for _, n in counted))

    def only(self, ids: Ids) -> MilvusAllowed:
        return selection.of_ids(ids.tolist())

    def allowed_documents(self, condition: Filter | None, *, after: str = "", limit: int = -1) -> list[str]:
        with self.snapshot():
            found = [uri for uri, _ in self.titles()] if condition is None else self._passing(condition, not after)
        rest = [uri for uri in found if uri > after]
        return rest if limit < 0 else rest[:limit]

    def _passing(self, condition: Filter, check: bool) -> list[str]:
        chosen = Selection(self.tables, condition)
        if check:
            chosen.check_keys()
        return chosen.documents()

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        with self.snapshot():
            return vectors.nearest(self.tables, space, queries, k, _conditions(allowed), exact=exact)

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        with self.snapshot():
            return keyword.search(self.tables, text, k, _conditions(allowed))

    def highlight(self, text: str, query: str) -> tuple[tuple[int, int], ...]:
        return keyword_search.spans(text, query)

    def facets(self) -> list[Facet]:
        with Rows(selection.document_rows(self.tables)) as memory:
            return memory.facets()

    # ---- verification

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        with self.snapshot():
            return verification.verify(self.tables, progress)


def _conditions(allowed: Allowed | None) -> tuple[str, ...] | None:
    here = of_this_store(allowed, MilvusAllowed)
    return None if here is None else here.conditions
