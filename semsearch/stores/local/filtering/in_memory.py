"""Rows of another store in SQLite's memory, to do what its own language cannot: filter, count facets, find phrases.

So they mean in every store exactly what they mean in a local one.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

from semsearch.stores.local import facets
from semsearch.stores.local.filtering import filter_sql
from semsearch.stores.local.full_text.matching import containing
from semsearch.stores.terms import GRAMS, TOKENIZERS, WORDS
from semsearch.types import Facet
from semsearch.utils.languages.writing_systems import CJK

if TYPE_CHECKING:
    from semsearch.stores.filters import Filter
    from semsearch.types import Ids

_CJK = re.compile(f"[{CJK}]")
_TABLES = f"""
    CREATE TABLE sources (id INTEGER PRIMARY KEY, root TEXT, path TEXT);
    CREATE TABLE documents (id INTEGER PRIMARY KEY, uri TEXT UNIQUE, source INTEGER, mtime INTEGER, size INTEGER,
        loader TEXT, title TEXT, metadata TEXT);
    CREATE TABLE passages (id INTEGER PRIMARY KEY, document INTEGER, page INTEGER, heading TEXT, cjk INTEGER,
        text TEXT);
    CREATE INDEX passages_document ON passages (document);
    CREATE VIRTUAL TABLE passages_fts USING fts5(text, content='', tokenize='{TOKENIZERS[WORDS]}');
    CREATE VIRTUAL TABLE passages_cjk USING fts5(text, content='', tokenize='{TOKENIZERS[GRAMS]}');
"""


class DocumentRow(NamedTuple):
    """What filters and facets ask of a document. `metadata` is JSON; `mtime` is in nanoseconds."""

    uri: str
    title: str | None
    metadata: str
    size: int
    root: str | None
    path: str | None
    loader: str | None
    mtime: int | None


class PassageRow(NamedTuple):
    """What filters ask of a passage."""

    id: int
    document: str
    page: int | None
    heading: str | None
    text: str = ""


class Rows:
    """Documents and passages that are asked once."""

    def __init__(self, documents: Iterable[DocumentRow], passages: Iterable[PassageRow] = ()) -> None:
        self._memory = sqlite3.connect(":memory:", isolation_level=None)
        self._memory.executescript(_TABLES)
        self._memory.execute("BEGIN")
        numbers: dict[str, int] = {}
        for number, one in enumerate(documents, start=1):
            numbers[one.uri] = number
            if one.path is not None:
                self._memory.execute("INSERT INTO sources VALUES (?, ?, ?)", (number, one.root, one.path))
            row = number, one.uri, number, one.mtime, one.size, one.loader, one.title, one.metadata
            self._memory.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        for passage in passages:
            self._add(passage, numbers.get(passage.document, 0))
        self._memory.execute("COMMIT")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.close()

    def passing(self, tree: Filter) -> list[str]:
        """Ids, sorted, of the documents that pass a filter."""
        return filter_sql.allowed_documents(self._memory, tree, "", -1, check=False)

    def passing_passages(self, tree: Filter) -> Ids:
        """Ids, ascending, of the passages that pass a filter."""
        return filter_sql.allowed(self._memory, tree, check=False)

    def containing(self, must: Sequence[str]) -> Ids:
        """Ids, ascending, of the passages that contain every entry. Raises UsageError for one without a letter."""
        return containing(self._memory, must)

    def facets(self) -> list[Facet]:
        """The properties by which the documents differ."""
        return facets.facets(self._memory)

    def _add(self, passage: PassageRow, document: int) -> None:
        cjk = _CJK.search(passage.text) is not None
        row = passage.id, document, passage.page, passage.heading, int(cjk), passage.text
        self._memory.execute("INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?)", row)
        for table in ("passages_fts", *(["passages_cjk"] if cjk else [])):
            self._memory.execute(f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", (passage.id, passage.text))
