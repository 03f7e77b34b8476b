"""Documents of an index in Milvus and the files that they are from, read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from semsearch.errors import NotFound
from semsearch.stores import machine
from semsearch.stores.milvus import rows
from semsearch.stores.milvus.index_tables import WRITER, keys_of
from semsearch.stores.milvus.reading.opened import OpenedIndex
from semsearch.stores.records import DocumentStamp, Origin, Source
from semsearch.types import Document, JsonObject
from semsearch.utils.globs import matches_document

if TYPE_CHECKING:
    from semsearch.stores.milvus.server.calls import Row


class DocumentReader(OpenedIndex):
    """The methods of a `MilvusReader` for documents and their sources."""

    def document(self, uri: str) -> Document | None:
        found = self.tables.head(uri)
        if found is None:
            return None
        row, head = found
        with self._reading(f"{uri!r}"):
            document = rows.document_of(row, head, self.tables.parts([row], "body"))
            if not rows.is_sound(row, document):
                raise ValueError("it is not what was stored")
            return document

    def documents(
        self, *, path: str | None = None, ids: Sequence[str] | None = None, limit: int = -1, offset: int = 0
    ) -> list[JsonObject]:
        pieces = self.tables.documents.scan(rows.LISTED) if ids is None else [self._rows(ids, rows.LISTED)]
        found = [
            rows.listed(row, head)
            for piece in pieces
            for row, head in self.tables.heads(piece)
            if path is None or _is_on(path, head)
        ]
        found.sort(key=lambda one: str(one["id"]))
        return found[offset:] if limit < 0 else found[offset : offset + limit]

    def titles(self) -> list[tuple[str, str | None]]:
        pieces = self.tables.documents.scan(["head"])
        return sorted((head.uri, head.title) for piece in pieces for _, head in self.tables.heads(piece))

    def stamps(self, uris: Iterable[str]) -> dict[str, DocumentStamp]:
        found = self.tables.heads(self._rows(uris, rows.STAMP))
        return {head.uri: _stamp(row, head) for row, head in found}

    def origins(self, uris: Sequence[str] | None = None) -> list[Origin]:
        columns = ["source", "head"]
        pieces = self.tables.documents.scan(columns) if uris is None else [self._rows(uris, columns)]
        return [origin for piece in pieces for origin in self._origins(piece)]

    def _origins(self, piece: Sequence[Row]) -> Iterator[Origin]:
        files = self.files({row["source"] for row in piece})
        for row, head in self.tables.heads(piece):
            file = files.get(row["source"])
            own = (file.root, file.path, file.mtime_ns, file.size) if file else (None, head.path[1], None, None)
            yield Origin(head.uri, *own)

    def highest_document(self) -> int:
        return max((record["last"] for _, record in self.tables.values(WRITER)), default=0)

    def sources(self) -> Iterator[Source]:
        found = sorted((row for row, _ in self.tables.values("source")), key=lambda row: int(row["number"]))
        return (source for row in found for source in self._own(row))

    def sources_at(self, root: str, paths: Sequence[str]) -> dict[str, Source]:
        places = [rows.place_key(root, path) for path in paths]
        found = [source for row in self.tables.meta.where("place", places) for source in self._own(row)]
        return {source.path: source for source in found if source.root == root}

    def _own(self, row: Row) -> list[Source]:
        """The file of a row; none where it is on another machine."""
        with self._reading("the record of a file"):
            where, source = rows.source_of(row, self.tables.parts([row], "data"))
            return [source] if where == machine.name() else []

    def source_of(self, uri: str) -> Source | None:
        found = self.tables.head(uri)
        if found is None:
            raise NotFound(f"index {self.name} has no document {uri!r}.", "It may have been deleted.")
        number = found[0]["source"]
        return self.files([number]).get(number)

    def files(self, numbers: Iterable[int]) -> dict[int, Source]:
        """The files of this machine with these numbers."""
        keys = [rows.digest("source", number) for number in numbers]
        return {source.id: source for row in self.tables.meta.get(keys).values() for source in self._own(row)}

    def documents_of(self, source: int) -> Iterator[DocumentStamp]:
        found = self.tables.documents.where("source", [source], rows.STAMP)
        ordered = sorted(found, key=lambda row: int(row["number"]))
        return (_stamp(row, head) for row, head in self.tables.heads(ordered))

    def document_counts(self, sources: Sequence[int]) -> dict[int, int]:
        return Counter(int(row["source"]) for row in self.tables.documents.where("source", sources, ["source"]))

    def _rows(self, uris: Iterable[str], columns: Sequence[str]) -> list[Row]:
        return list(self.tables.documents.get(keys_of(uris), columns).values())


def _is_on(pattern: str, head: rows.Head) -> bool:
    root, path = head.path
    return matches_document(pattern, head.uri, path, root)


def _stamp(row: Row, head: rows.Head) -> DocumentStamp:
    source = None if row["source"] == rows.NO_SOURCE else row["source"]
    return DocumentStamp(head.uri, row["sha256"], row["meta_sha256"], source, head.title, row["number"])
