"""A folder of shards, open for searches by meaning. The methods are described in `stores.protocol.StoreReader`.

It stays with what could be searched when it was opened. Keyword search is left out: no index of words is built, and
reading every text for each query would be no search. There are no sources: shards do not record files.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

import numpy as np

from semsearch.errors import Corrupt, NotFound, UsageError
from semsearch.stores import keyword_search
from semsearch.stores.filters import Filter, fields
from semsearch.stores.local.filtering.allowed import AllowedIds
from semsearch.stores.local.filtering.row_file import RowFile
from semsearch.stores.protocol import Allowed, Counts, Dense, Lexical, of_this_store
from semsearch.stores.records import DocumentStamp, Origin, Source, Space, StoredPassage, meta_hash, text_hash
from semsearch.stores.shards import manifest as manifests
from semsearch.stores.shards import verification
from semsearch.stores.shards.location import DOCUMENTS, build_command
from semsearch.stores.shards.manifest import SPACE, Manifest
from semsearch.stores.shards.rows import ShardRows
from semsearch.types import Document, Facet, JsonObject, Progress
from semsearch.vector_index.on_disk.searching import ENGINE, ListsOnDisk

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

NOT_RECORDED = ("size", "mtime", "loader")  # of a document, in a shard
AT_ONCE = 1_000  # passages


class ShardsReader:
    """A folder of shards. Threads may share it."""

    def __init__(self, location: Path, found: Manifest | None = None) -> None:
        """found: what is to be searched; None for what the folder says. Raises NotFound, Corrupt."""
        self._location = location.absolute()
        self.manifest = manifests.read(self._location) if found is None else found
        folder = self.manifest.folder(self._location)
        try:
            self.lists = ListsOnDisk(folder)
            self.catalogue = RowFile(folder / DOCUMENTS)
        except Corrupt as error:
            raise Corrupt(error.message, build_command(self._location)) from error
        self.rows = ShardRows(self._location, self.manifest.shards)
        self._kept: tuple[str, AllowedIds] | None = None  # of the filter that was used last
        self._turn = threading.Lock()
        newer = verification.not_searchable(self._location, self.manifest)
        self._warnings = (newer,) if newer else ()  # what a search does not see, since it was embedded later

    @property
    def name(self) -> str:
        return self._location.name

    @property
    def location(self) -> Path:
        return self._location

    def close(self) -> None:
        """Close the files."""
        self.catalogue.close()
        self.rows.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the whole

    def snapshot(self) -> AbstractContextManager[None]:
        return nullcontext()

    def moment(self) -> AbstractContextManager[None]:
        return nullcontext()

    def version(self) -> int:
        return self.manifest.number

    def counts(self) -> Counts:
        found = self.manifest
        return {"documents": found.documents, "passages": found.passages, "vectors": {SPACE: found.passages}}

    def info(self) -> JsonObject:
        counts = self.counts()
        return {
            "name": self.name,
            "path": str(self.location),
            "documents": counts["documents"],
            "passages": counts["passages"],
            "vectors": counts["passages"],
            "bytes": self._bytes(),
            "recipe": self.recipe(),
            "spaces": [self._space_info()],
            "last_run": next(self.runs()),
        }

    def recipe(self) -> JsonObject:
        found = self.manifest
        return {
            "encoder": found.reference,
            "splitter": dict(found.splitter),
            "context": found.context,
            "backend": "auto",
        }

    def is_updating(self) -> bool:
        return False

    def runs(self) -> Iterator[JsonObject]:
        reason = "its id is already used in another shard"
        skipped = [{"path": name, "reason": reason} for name in self.manifest.left_out]
        yield {"at": self.manifest.at, "added": self.manifest.documents, "skipped": skipped, "whole": True}

    def spaces(self) -> list[Space]:
        return [self.manifest.space()]

    def _space_info(self) -> JsonObject:
        found = self.manifest
        read = f"{found.probes} of {found.lists:,} lists are read"
        return {
            "id": SPACE,
            "encoder": {**found.info, "name": found.encoder, "fingerprint": found.fingerprint},
            "dim": found.dim,
            "vectors": found.passages,
            "backend": f"ivf on disk ({ENGINE})",
            "why": f"{len(found.shards):,} shards; {read}, with a recall of {found.recall:.3f} on its own questions",
            "cache": None,
            "newer_than_cache": 0,
            "probes": found.probes,
            "lists": found.lists,
            "recall": found.recall,
        }

    def _bytes(self) -> int:
        own = sum(size for size, _ in self.manifest.files.values())
        return own + sum(shard.bytes for shard in self.manifest.shards)

    # ---- documents and their sources

    def document(self, uri: str) -> Document | None:
        """The document as far as its passages have it; spaces stand where none of them is."""
        found = self.passages(self.passage_ids(uri))
        if not found:
            return None
        text = ""
        for one in found:
            text = text[: one.start].ljust(one.start) + one.text
        return Document(uri, text, found[0].metadata, found[0].title)

    def documents(
        self, *, path: str | None = None, ids: Sequence[str] | None = None, limit: int = -1, offset: int = 0
    ) -> list[JsonObject]:
        return self.catalogue.listing(path, ids, limit, offset)

    def titles(self) -> list[tuple[str, str | None]]:
        return self.catalogue.titles()

    def stamps(self, uris: Iterable[str]) -> dict[str, DocumentStamp]:
        return {uri: self._stamp(uri, number) for uri, number in self.catalogue.numbers(list(uris)).items()}

    def _stamp(self, uri: str, number: int) -> DocumentStamp:
        document = self.document(uri) or Document(uri, "")
        hashes = text_hash(document.text), meta_hash(document.title, document.metadata)
        return DocumentStamp(uri, *hashes, None, document.title, number)

    def origins(self, uris: Sequence[str] | None = None) -> list[Origin]:
        names = [uri for uri, _ in self.titles()] if uris is None else list(self.catalogue.numbers(uris))
        return [Origin(uri, None, None, None, None) for uri in names]

    def highest_document(self) -> int:
        return self.manifest.documents

    def sources(self) -> Iterator[Source]:
        return iter(())

    def sources_at(self, root: str, paths: Sequence[str]) -> dict[str, Source]:
        return {}

    def source_of(self, uri: str) -> Source | None:
        if not self.catalogue.numbers([uri]):
            raise NotFound(
                f"index {self.name} has no document {uri!r}.",
                "List them: index.documents()",
                "List them: semsearch info --documents",
            )
        return None

    def documents_of(self, source: int) -> Iterator[DocumentStamp]:
        return iter(())

    def document_counts(self, sources: Sequence[int]) -> dict[int, int]:
        return {}

    # ---- passages and vectors

    def passage_ids(self, uri: str) -> Ids:
        return np.array(self.catalogue.passages_of(uri), np.int64)

    def passages(self, ids: Ids | Sequence[int]) -> list[StoredPassage]:
        wanted = [int(one) for one in ids]
        known = self.catalogue.owners(wanted)
        return self.rows.passages([one for one in wanted if one in known])

    def owners(self, ids: Sequence[int], *, first: int | None = None) -> dict[int, int]:
        return self.catalogue.owners(ids)

    def texts(self) -> Iterator[str]:
        every = self.catalogue.ids()
        for at in range(0, len(every), AT_ONCE):
            yield from (one.text for one in self.passages(every[at : at + AT_ONCE]))

    def vectors(
        self, space: int, *, after: int = 0, ids: Ids | None = None, chunk: int = 8192
    ) -> Iterator[tuple[Ids, Vectors]]:
        self._require(space)
        if ids is None:
            wanted = self.catalogue.ids()
        else:
            wanted = np.array(sorted(self.catalogue.owners(ids.tolist())), np.int64)
        return self.rows.vectors(wanted[wanted > after], chunk)

    def vector_ids(self, space: int) -> Ids:
        self._require(space)
        return self.catalogue.ids()

    def without_vector(self, space: int, *, after: int = 0, limit: int = -1) -> Ids:
        self._require(space)
        return np.empty(0, np.int64)

    def highest_id(self, space: int) -> int:
        return int(self.vector_ids(space).max(initial=0))

    def _require(self, space: int) -> None:
        if space != SPACE:
            raise NotFound(f"index {self.name} has no space {space}.")

    # ---- search

    def allowed(self, condition: Filter | None, must: Sequence[str] = ()) -> AllowedIds | None:
        if must:
            self._refuse_words("--must looks for words")
        if condition is None:
            return None
        unknown = sorted(one.names[0] for one, _ in fields(condition) if one.builtin and one.names[0] in NOT_RECORDED)
        if unknown:
            raise UsageError(
                f"{self.name} is a folder of shards, which do not record the {unknown[0]} of a document.",
                "Filter by path, document, title, heading, page, date, or by metadata.",
            )
        with self._turn:
            if self._kept is None or self._kept[0] != repr(condition):
                self._kept = repr(condition), AllowedIds(self.catalogue.passing(condition))
            return self._kept[1]

    def only(self, ids: Ids) -> AllowedIds:
        return AllowedIds(np.array(ids, np.int64))

    def allowed_documents(self, condition: Filter | None, *, after: str = "", limit: int = -1) -> list[str]:
        return self.catalogue.documents_passing(condition, after, limit)

    def dense(
        self, space: int, queries: Vectors, k: int, allowed: Allowed | None = None, *, exact: bool = False
    ) -> Dense:
        self._require(space)
        here = of_this_store(allowed, AllowedIds)
        probes = self.manifest.lists if exact else self.manifest.probes
        ids, cosines = self.lists.search(queries, k, probes, None if here is None else here.ids)
        plan = {"pass": "exact" if exact else "lists", "backend": "ivf on disk", "lists": self.manifest.lists}
        number = None if here is None else len(here)
        return Dense(ids, cosines, {**plan, "probes": probes, "allowed": number}, self._warnings)

    def lexical(self, text: str, k: int, allowed: Allowed | None = None) -> Lexical:
        self._refuse_words("keyword and hybrid search look for words")

    def highlight(self, text: str, query: str) -> tuple[tuple[int, int], ...]:
        return keyword_search.spans(text, query)

    def facets(self) -> list[Facet]:
        return self.catalogue.facets()

    def _refuse_words(self, what: str) -> NoReturn:
        raise UsageError(
            f"{what}, and {self.name} is a folder of shards, which is searched by meaning alone.",
            'Use mode="semantic", or load the shards into an index: Index.from_vectors.',
            f"Use --mode semantic, or load them into an index: semsearch index --from-vectors {self.location} -n NAME",
        )

    # ---- verification

    def verify(self, progress: Callable[[Progress], None]) -> list[str]:
        return verification.verify(self.location, self.manifest, self.lists, self.catalogue, progress)
