"""Filters compiled to SQL, to select documents and passages before the search: what SQLite and PostgreSQL say alike.

Every name and value becomes a bound parameter; no text of the user is part of the SQL. The filter language is described
in `search.filter_parser`. What the two say differently is a `Dialect`, for one open store.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

from semsearch.stores.filters import (
    DATE,
    FILE_DATE,
    And,
    Exists,
    Field,
    Filter,
    Not,
    Or,
    PathGlob,
    check_keys,
    is_of_passages,
    within,
    without_date,
)

SQL: TypeAlias = tuple[str, list[Any]]  # a condition on d(ocuments), s(ources) and, for OF_PASSAGES, p(assages)
DOCUMENTS = "documents d LEFT JOIN sources s ON s.id = d.source"
WITH_PASSAGES = f"{DOCUMENTS} JOIN passages p ON p.document = d.id"
NO_LIMIT = 2**62
_SET = r"\]?(?:\\.|[^\]\\])*"
_OF_PYTHON = re.compile(rf"\\.|\(\?!/\)\[\^(?P<outside>{_SET})\]|\[\^?{_SET}\]|\(\?>|\*\+", re.DOTALL)


_COLUMNS = {
    "path": "coalesce(s.path, d.uri)",
    "document": "d.uri",
    "title": "d.title",
    "heading": "p.heading",
    "page": "p.page",
    "size": "d.size",
}


class Dialect(ABC):
    """How one store says a filter. `false`: a condition; `loader`, `mtime`: columns."""

    false: ClassVar[str]
    loader: ClassVar[str]
    mtime: ClassVar[str]

    @abstractmethod
    def rows(self, sql: str, values: Sequence[object] = ()) -> Iterable[Sequence[Any]]:
        """The rows of a statement."""

    @abstractmethod
    def on_path(self, pattern: str) -> SQL:
        """Whether the path of a document fits a pattern of `--path`. It may be NULL."""

    @abstractmethod
    def of_builtin(self, tree: Any, column: str) -> SQL:
        """A test of a column; the parser has checked the type of its value. It may be NULL."""

    @abstractmethod
    def of_metadata(self, tree: Any) -> SQL:
        """A test of a field of the metadata. It may be NULL."""

    @abstractmethod
    def some_keys(self) -> set[str]:
        """At most 200 keys of the metadata."""

    def column(self, name: str) -> str:
        """That of a built-in field."""
        return {**_COLUMNS, "loader": self.loader, "mtime": self.mtime}[name]

    def passages(self, tree: Filter) -> SQL:
        """The ids of the passages that pass the filter, as a SELECT with its values.

        Raises UnknownName for a metadata key that no document has (except beside `exists`).
        """
        self._check(tree)
        condition, values = compiled(self, tree)
        if is_of_passages(tree):
            return f"SELECT p.id FROM {WITH_PASSAGES} WHERE {condition}", values
        return f"SELECT id FROM passages WHERE document IN (SELECT d.id FROM {DOCUMENTS} WHERE {condition})", values

    def document_ids(self, tree: Filter | None, after: str, limit: int, only: SQL | None) -> list[str]:
        """Ids, sorted, of the documents that pass the filter, those without a passage too: the first above `after`.

        only: a condition on d(ocuments). Raises as `passages` does, but only with the first ones.
        """
        if tree is not None and not after:
            self._check(tree)
        tests = [("d.uri > ?", [after]), *([only] if only else []), *([compiled(self, tree)] if tree else [])]
        condition, values = joined(" AND ", tests)
        source = "documents d" if tree is None else WITH_PASSAGES if is_of_passages(tree) else DOCUMENTS
        sql = f"SELECT DISTINCT d.uri FROM {source} WHERE {condition} ORDER BY d.uri LIMIT ?"
        return [uri for (uri,) in self.rows(sql, [*values, NO_LIMIT if limit < 0 else limit])]

    def count_documents(self, tree: Filter) -> int:
        """How many documents pass the filter. Raises as `passages` does."""
        self._check(tree)
        condition, values = compiled(self, tree)
        source = WITH_PASSAGES if is_of_passages(tree) else DOCUMENTS
        ((count,),) = self.rows(f"SELECT count(DISTINCT d.id) FROM {source} WHERE {condition}", values)
        return int(count)

    def _check(self, tree: Filter) -> None:
        """Raise UnknownName for a metadata key that no document has."""

        def exists(field: Field) -> bool:
            condition, values = compiled(self, Exists(field))
            return any(self.rows(f"SELECT 1 FROM documents d WHERE {condition} LIMIT 1", values))

        def keys() -> set[str] | None:
            return self.some_keys() if any(self.rows("SELECT 1 FROM documents LIMIT 1")) else None

        check_keys(tree, exists, keys)


def compiled(dialect: Dialect, tree: Filter, *, negated: bool = False) -> SQL:
    """A tree as a condition and the values of its marks.

    Where it does not hold it is false or NULL, which is the same to a SELECT; below a NOT it is never NULL. A condition
    that is kept from being NULL is kept from every index, too.
    """
    match tree:
        case And(parts):
            return joined(" AND ", [compiled(dialect, part, negated=negated) for part in parts])
        case Or(parts):
            return joined(" OR ", [compiled(dialect, part, negated=negated) for part in parts])
        case Not(part):
            condition, values = compiled(dialect, part, negated=True)
            return f"(NOT {condition})", values
        case PathGlob(pattern):
            condition, values = dialect.on_path(pattern)
        case _ if tree.field == DATE:
            return compiled(dialect, without_date(tree), negated=negated)
        case Exists(field) if field.builtin:
            return f"({dialect.column(field.names[0])} IS NOT NULL)", []
        case _ if not tree.field.builtin:
            condition, values = dialect.of_metadata(tree)
        case _ if tree.field == FILE_DATE:
            condition, values = _file_time(dialect, tree)
        case _:
            condition, values = dialect.of_builtin(tree, dialect.column(tree.field.names[0]))
    return (f"coalesce({condition}, {dialect.false})" if negated else f"({condition})"), values


def portable(regex: str) -> str:
    """A pattern of `utils.globs` for the engine of a store, which never goes back, and never looks ahead.

    >>> portable("(?>[^/]*?a)(?!/)[^]x](?:[^/]*+/)*?[(?>]\\\\Z")
    '^(?:(?:[^/]*?a)[^/\\\\]x](?:[^/]*/)*?[(?>])$'
    """
    end = "$" if regex.endswith("\\Z") else ""
    return f"^(?:{_OF_PYTHON.sub(_elsewhere, regex.removesuffix(chr(92) + 'Z'))}){end}"


def _elsewhere(found: re.Match[str]) -> str:
    if (chosen := found["outside"]) is not None:
        return f"[^/{chr(92) if chosen[:1] in (']', '-') else ''}{chosen}]"
    return {"(?>": "(?:", "*+": "*"}.get(found[0], found[0])


def joined(word: str, tests: Sequence[SQL]) -> SQL:
    """Several conditions as one, with AND or OR between them."""
    return f"({word.join(sql for sql, _ in tests)})", [value for _, values in tests for value in values]


def _file_time(dialect: Dialect, tree: Any) -> SQL:
    tests = within(tree.op, *tree.value.span())
    return " AND ".join(f"{dialect.mtime} {op} ?" for op, _ in tests), [bound for _, bound in tests]
