"""Filters compiled to SQL of PostgreSQL. Every name and value becomes a parameter; no text of the user is in the SQL.

The filter language is described in `search.filter_parser`, and the meaning of a node in `stores.filters`. Metadata are
compared in `documents.fields`, which is jsonb: numbers by value, so that 2020 equals 2020.0, and true is not 1. Case is
ignored for A to Z only, as in a local store.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from semsearch.stores.filters import (
    DATE,
    FILE_DATE,
    And,
    Compare,
    Contains,
    Date,
    Exists,
    Field,
    Filter,
    In,
    Like,
    Not,
    Or,
    PathGlob,
    check_keys,
    is_of_passages,
    like_escaped,
    within,
    without_date,
)
from semsearch.stores.postgres.escapes import restored, restored_or_none, stored, stored_all
from semsearch.stores.postgres.server.connection import Connection
from semsearch.utils import globs

SQL: TypeAlias = tuple[str, list[Any]]  # a condition on d(ocuments), s(ources) and, for OF_PASSAGES, p(assages)

DOCUMENTS = "documents d LEFT JOIN sources s ON s.id = d.source"
_COLUMNS = {
    "path": "coalesce(s.path, d.uri)",
    "document": "d.uri",
    "title": "d.title",
    "heading": "p.heading",
    "loader": "s.loader",
    "page": "p.page",
    "size": "d.size",
    "mtime": "s.mtime_ns",
}
_ISO = "^[0-9]{4}-[0-9]{2}"
_LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(65, 91)})
_WILD = re.compile(r"\[!?\]?[^\]/]*\]|[*?/\[]")
NOTHING: SQL = ("FALSE", [])


def passages(connection: Connection, tree: Filter) -> SQL:
    """The ids of the passages that pass the filter, as a SELECT with its values.

    Raises UnknownName for a metadata key that no document has (except beside `exists`).
    """
    _check_keys(connection, tree)
    condition, values = _Compiler(connection).compiled(tree)
    if is_of_passages(tree):
        return f"SELECT p.id FROM {DOCUMENTS} JOIN passages p ON p.document = d.id WHERE {condition}", values
    inner = f"SELECT d.id FROM {DOCUMENTS} WHERE {condition}"
    return f"SELECT id FROM passages WHERE document IN ({inner})", values


def document_ids(
    connection: Connection, tree: Filter | None, after: str, limit: int, ids: Sequence[str] | None
) -> list[str]:
    """Ids, sorted, of the documents (of `ids`) that pass the filter, those without a passage too: the first above
    `after`. Raises as `passages` does, but only with the first ones.
    """
    condition, values, joined = _of_documents(connection, tree, check=not after)
    only = "" if ids is None else "d.uri = ANY(%s::text[]) AND"
    sql = f"""SELECT DISTINCT d.uri FROM {DOCUMENTS} {joined}
              WHERE d.uri > %s AND {only} {condition} ORDER BY d.uri LIMIT %s"""
    chosen = [] if ids is None else [stored_all(ids)]
    rows = connection.rows(sql, [stored(after), *chosen, *values, None if limit < 0 else limit])
    return [restored(uri) for (uri,) in rows]


def count_documents(connection: Connection, tree: Filter) -> int:
    """How many documents pass the filter. Raises as `passages` does."""
    condition, values, joined = _of_documents(connection, tree)
    counted = "DISTINCT d.id" if joined else "*"
    sql = f"SELECT count({counted}) FROM {DOCUMENTS} {joined} WHERE {condition}"
    return int(connection.rows(sql, values)[0][0])


def _of_documents(connection: Connection, tree: Filter | None, *, check: bool = True) -> tuple[str, list[Any], str]:
    """The filter as a condition, its values, and the join with the passages where it depends on them."""
    if tree is None:
        return "TRUE", [], ""
    if check:
        _check_keys(connection, tree)
    condition, values = _Compiler(connection).compiled(tree)
    return condition, values, "JOIN passages p ON p.document = d.id" if is_of_passages(tree) else ""


def on_path(connection: Connection, pattern: str) -> list[int]:
    """The numbers of the documents whose path fits a pattern of `--path`.

    Such a pattern has no form in SQL, so it is compared here, with the documents that have its longest literal part.
    """
    globs.path_regex(pattern)  # an invalid one is an error with no document, too
    literal = max((part for part in _WILD.split(pattern) if part != "."), key=len, default="")
    part = f"%{like_escaped(stored(literal))}%"
    sql = f"""SELECT d.id, d.uri, s.path, s.root FROM {DOCUMENTS}
              WHERE d.uri LIKE %s OR s.path LIKE %s OR s.root LIKE %s"""
    return [
        number
        for number, uri, path, root in connection.rows(sql, (part, part, part))
        if globs.matches_document(pattern, restored(uri), restored_or_none(path), restored_or_none(root))
    ]


class _Compiler:
    """Compiles one filter. Path patterns are looked up on the way."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def compiled(self, tree: Filter) -> SQL:
        """A tree as a condition and the values of its %s marks. It is true or false, never NULL."""
        match tree:
            case And(parts):
                return _joined(" AND ", [self.compiled(part) for part in parts])
            case Or(parts):
                return _joined(" OR ", [self.compiled(part) for part in parts])
            case Not(part):
                condition, values = self.compiled(part)
                return f"(NOT {condition})", values
            case PathGlob(pattern):
                return "(d.id = ANY(%s::bigint[]))", [on_path(self._connection, pattern)]
            case _ if tree.field == DATE:
                return self.compiled(without_date(tree))
            case _:
                return _file_time(tree) if tree.field == FILE_DATE else test(tree)


def test(tree: Any) -> SQL:
    """A test of one field, except the date of a file."""
    field: Field = tree.field
    condition, values = _of_builtin(tree, _COLUMNS[field.names[0]]) if field.builtin else _of_metadata(tree)
    return f"coalesce({condition}, FALSE)", values


def _of_builtin(tree: Any, column: str) -> SQL:
    """A test of a column; the parser has checked the type of its value."""
    match tree:
        case Exists():
            return f"{column} IS NOT NULL", []
        case Compare(_, op, wanted) if not isinstance(wanted, Date):
            mark, value = _parameter(wanted)
            return f"{column} {op} {mark}", [value]
        case In(_, wanted):
            texts = [stored(one) for one in wanted if isinstance(one, str)]
            numbers = [str(one) for one in wanted if not isinstance(one, str)]
            return (f"{column} = ANY(%s::text[])", [texts]) if texts else (f"{column} = ANY(%s::numeric[])", [numbers])
        case Like(_, pattern):
            return _like(column, pattern)
        case Contains(_, wanted) if isinstance(wanted, str):
            return _like(column, f"%{like_escaped(wanted)}%")
    return NOTHING


def _of_metadata(tree: Any) -> SQL:
    """A test of a field of the metadata. The operator -> finds keys of objects alone, and NULL elsewhere."""
    names = [stored(name) for name in tree.field.names]
    value = "(d.fields" + " -> %s::text" * len(names) + ")"
    kind, text = f"jsonb_typeof{value}", f"({value} #>> '{{}}') COLLATE \"C\""
    match tree:
        case Exists():
            return f"{kind} <> 'null'", names
        case Compare(_, op, Date(day)):
            there = f"replace(substr({text}, 1, {len(day)}), ' ', 'T') COLLATE \"C\""
            condition = f"({kind} = 'string' AND {text} ~ %s AND {there} {op} %s)"
            return condition, [*names, *names, _ISO, *names, day]
        case Compare(_, "=", wanted):
            return "(d.fields @> %s::jsonb)", [_nested(names, wanted)]  # the index of the fields finds these
        case Compare(_, op, wanted):
            mark, parameter = _parameter(wanted)
            cast = "" if isinstance(wanted, str) else "::boolean" if isinstance(wanted, bool) else "::numeric"
            compared = f"({text}){cast} {op} {mark}"
            wanted_kind = _kind(wanted)
            condition = f"(CASE WHEN {kind} = '{wanted_kind}' THEN {compared} ELSE FALSE END)"
            return condition, [*names, *names, parameter]
        case In(_, wanted):
            return f"({value} = ANY(%s::text[]::jsonb[]))", [*names, [_json(one) for one in wanted]]
        case Like(_, pattern):
            condition, values = _like(text, pattern)
            return f"({kind} = 'string' AND {condition})", [*names, *(names if values else []), *values]
        case Contains(_, wanted):
            in_list: SQL = (f"({kind} = 'array' AND {value} @> %s::jsonb)", [*names, *names, f"[{_json(wanted)}]"])
            if not isinstance(wanted, str):
                return in_list
            condition, values = _like(text, f"%{like_escaped(wanted)}%")
            return _joined(" OR ", [in_list, (f"({kind} = 'string' AND {condition})", [*names, *names, *values])])
    raise AssertionError(f"no SQL for {tree!r}")


def _like(text: str, pattern: str) -> SQL:
    """Whether a text fits a pattern. A backslash at its end fits nothing, where PostgreSQL raises an error."""
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        return NOTHING
    return f'(lower({text} COLLATE "C") LIKE %s)', [stored(pattern).translate(_LOWER)]


def _parameter(wanted: Any) -> tuple[str, Any]:
    """The mark of a value with its type, and the value as it is passed."""
    if isinstance(wanted, str):
        return "%s", stored(wanted)
    return ("%s::boolean", wanted) if isinstance(wanted, bool) else ("%s::numeric", repr(wanted))


def _kind(wanted: Any) -> str:
    return "string" if isinstance(wanted, str) else "boolean" if isinstance(wanted, bool) else "number"


def _json(value: Any) -> str:
    return json.dumps(stored(value) if isinstance(value, str) else value)


def _nested(names: Sequence[str], value: Any) -> str:
    """{"a": {"b": value}} for the path a.b, as JSON."""
    packed = _json(value)
    for name in reversed(names):
        packed = f"{{{json.dumps(name)}: {packed}}}"
    return packed


def _joined(word: str, tests: Sequence[SQL]) -> SQL:
    return f"({word.join(sql for sql, _ in tests)})", [value for _, values in tests for value in values]


def _file_time(tree: Any) -> SQL:
    if isinstance(tree, Exists):
        return "(s.mtime_ns IS NOT NULL)", []
    tests = within(tree.op, *tree.value.span())
    condition = " AND ".join(f"s.mtime_ns {op} %s" for op, _ in tests)
    return f"coalesce({condition}, FALSE)", [bound for _, bound in tests]


def _check_keys(connection: Connection, tree: Filter) -> None:
    """Raise UnknownName for a metadata key that no document has."""

    def is_known(field: Field) -> bool:
        condition, values = test(Exists(field))
        return bool(connection.rows(f"SELECT 1 FROM documents d WHERE {condition} LIMIT 1", values))

    def keys() -> set[str] | None:
        if not connection.rows("SELECT 1 FROM documents LIMIT 1"):
            return None
        known = connection.rows("SELECT DISTINCT jsonb_object_keys(fields) FROM documents LIMIT 200")
        return {restored(key) for (key,) in known}

    check_keys(tree, is_known, keys)
