"""Which passages pass a filter: as expressions of Milvus where it can say it, else as lists of keys.

What an expression cannot say is tested by SQLite on the documents that pass the rest of the filter, so that it means
what it means in a local store. That reads these documents, however many they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from semsearch.stores.filters import And, Exists, Field, Filter, check_keys, is_of_passages
from semsearch.stores.local.filtering.in_memory import DocumentRow, PassageRow, Rows
from semsearch.stores.milvus import rows
from semsearch.stores.milvus.filtering import facts
from semsearch.stores.milvus.filtering.expressions import compiled, token
from semsearch.stores.milvus.index_tables import IndexTables
from semsearch.stores.milvus.keywords import columns as words
from semsearch.stores.milvus.server.calls import Row
from semsearch.stores.milvus.server.tables import among
from semsearch.stores.query_words import exact_entry, required_words
from semsearch.stores.records import to_json

SAMPLE = 200  # documents whose keys an error names
_HEAD = ("size", "head")


@dataclass(frozen=True)
class MilvusAllowed:
    """The passages that fit any of some conditions, which exclude each other. None: all."""

    conditions: tuple[str, ...]
    count: int

    def __len__(self) -> int:
        return self.count


def of_ids(ids: Iterable[int]) -> MilvusAllowed:
    """These passages."""
    wanted = [int(one) for one in ids]
    return MilvusAllowed(tuple(among("id", wanted)), len(wanted))


class Selection:
    """A filter over the tables of an index."""

    def __init__(self, tables: IndexTables, tree: Filter) -> None:
        self._tables = tables
        self._tree = tree
        self._said, self._left = self._divided()
        self.of_passages = is_of_passages(tree)

    def passages(self) -> tuple[str, ...]:
        """Conditions on passages."""
        plain = token(facts.OVERFLOW).no
        found: list[str] = [] if self._left else [f"{self._said} and {plain}"]
        candidates = f"{self._said} and {plain}" if self._left else ""
        if candidates:
            found += self._tested(candidates, self._tree)
        return (*found, *self._tested(token(facts.OVERFLOW).yes, self._tree))

    def documents(self) -> list[str]:
        """Ids, sorted, of the documents that pass."""
        if self.of_passages:
            keys = {
                row["document"]
                for piece in self._tables.passages.fitting(self.passages(), ["document"])
                for row in piece
            }
            return sorted(
                head.uri for _, head in self._tables.heads(list(self._tables.documents.get(keys, _HEAD).values()))
            )
        plain = token(facts.OVERFLOW).no
        first = list(self._documents(f"{self._said} and {plain}"))
        passing = _passing(first, self._tree) if self._left else [head.uri for _, head in first]
        return sorted({*passing, *_passing(list(self._documents(token(facts.OVERFLOW).yes)), self._tree)})

    def check_keys(self) -> None:
        """Raise UnknownName for a metadata key that no document has."""
        check_keys(self._tree, self._is_known, self._keys)

    def _keys(self) -> set[str] | None:
        """Some keys of the metadata; None where there is no document."""
        if not self._tables.documents.count():
            return None
        return {key for _, head in self._sample() for key in head.metadata}

    def _is_known(self, field: Field) -> bool:
        overflow = token(facts.OVERFLOW).yes
        name = facts.field_name(field.names)
        if name is not None and self._has(f"x.{name}"):
            return True
        others = self._documents('key >= "0"' if name is None else overflow)
        return bool(_passing(list(others), Exists(field)))

    def _has(self, text: str) -> bool:
        return bool(self._tables.server.query(self._tables.documents.collection, token(text).yes, ["key"], limit=1))

    def _sample(self) -> Iterable[tuple[Row, rows.Head]]:
        found = self._tables.server.query(
            self._tables.documents.collection, 'key >= "0"', ["key", *_HEAD], limit=SAMPLE
        )
        return self._tables.heads(found)

    def _divided(self) -> tuple[str, bool]:
        """The part that an expression says, and whether there is another one."""
        parts = self._tree.parts if isinstance(self._tree, And) else (self._tree,)
        pairs = [compiled(part, self._has) for part in parts]
        said = " and ".join(pair.yes for pair in pairs if pair) or token("never").no
        return f"({said})", None in pairs

    def _documents(self, condition: str) -> Iterable[tuple[Row, rows.Head]]:
        for piece in self._tables.documents.fitting([condition], _HEAD):
            yield from self._tables.heads(piece)

    def _tested(self, candidates: str, tree: Filter) -> list[str]:
        """Conditions for the passages that pass, tested one by one, among those that fit `candidates`."""
        if not self.of_passages:
            found = _passing(list(self._documents(candidates)), tree)
            return among("document", [rows.document_key(uri) for uri in found])
        pieces = list(self._tables.passages.fitting([candidates], ["document", "data"]))
        keys = {row["document"] for piece in pieces for row in piece}
        heads = {
            row["key"]: (row, head)
            for row, head in self._tables.heads(list(self._tables.documents.get(keys, _HEAD).values()))
        }
        passages = []
        for piece in pieces:
            parts = self._tables.parts(piece, "data")
            for row in piece:
                if row["document"] in heads:
                    one = rows.passage_of(row, parts)
                    uri = heads[row["document"]][1].uri
                    passages.append(PassageRow(row["id"], uri, one.page, one.heading))
        with Rows(map(_document, heads.values()), passages) as memory:
            return among("id", memory.passing_passages(tree).tolist())


def containing(tables: IndexTables, must: Sequence[str], within: Sequence[str] | None) -> list[str]:
    """Conditions for the passages that contain every entry of `must`, several words of one in a row.

    Raises UsageError for an entry without a letter.
    """
    for entry in must:
        required_words(entry)
    all_words = " and ".join(words.of_entry(exact_entry(entry)) for entry in must)
    conditions = [all_words] if within is None else [f"({one}) and {all_words}" for one in within]
    found: list[int] = []
    for piece in tables.passages.fitting(conditions, ["document", "data"]):
        parts = tables.parts(piece, "data")
        texts = [PassageRow(row["id"], "", None, None, rows.passage_of(row, parts).text) for row in piece]
        with Rows([], texts) as memory:
            found += memory.containing(must).tolist()
    return among("id", found)


def _passing(found: Sequence[tuple[Row, rows.Head]], tree: Filter) -> list[str]:
    if not found:
        return []
    with Rows(map(_document, found)) as memory:
        return memory.passing(tree)


def _document(found: tuple[Row, rows.Head]) -> DocumentRow:
    row, head = found
    root, path = head.path
    loader, mtime = (head.place.loader, head.place.mtime_ns) if head.place else (None, None)
    return DocumentRow(head.uri, head.title, to_json(head.metadata), row["size"], root, path, loader, mtime)


def document_rows(tables: IndexTables) -> Iterable[DocumentRow]:
    """What facets ask of every document."""
    for piece in tables.documents.scan(_HEAD):
        yield from map(_document, tables.heads(piece))
