"""Filters compiled to SQL, to select passages of a local store before the search.

Every name and value becomes a bound parameter; no text of the user is part of the SQL. The filter language is described
in `search.filter_parser`.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

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
from semsearch.stores.records import to_json
from semsearch.utils import globs

if TYPE_CHECKING:
    from semsearch.types import Ids

SQL: TypeAlias = tuple[str, list[Any]]  # a condition on d(ocuments), s(ources) and, for OF_PASSAGES, p(assages)

_COLUMNS = {
    "path": "coalesce(s.path, d.uri)",
    "document": "d.uri",
    "title": "d.title",
    "heading": "p.heading",
    "loader": "d.loader",
    "page": "p.page",
    "size": "d.size",
    "mtime": "d.mtime",
}
_DOCUMENTS = "documents d LEFT JOIN sources s ON s.id = d.source"
_ISO = "[0-9][0-9][0-9][0-9]-[0-9][0-9]*"
_ODD_KEY = re.compile(r'^$|[\x00-\x1f"\\]')  # which JSON escapes; or a key without a letter
_LAST_WHOLE = 10**15  # above, a number may be written with an exponent


def allowed(connection: sqlite3.Connection, tree: Filter) -> Ids:
    """Ids, ascending, of the passages that pass the filter. Call it inside a snapshot.

    Raises UnknownName for a metadata key that no document has (except beside `exists`).
    """
    condition, values, of_passages = _condition(connection, tree)
    if of_passages:
        sql = f"SELECT p.id FROM {_DOCUMENTS} JOIN passages p ON p.document = d.id WHERE {condition} ORDER BY p.id"
    else:
        sql = f"SELECT id FROM passages WHERE document IN (SELECT d.id FROM {_DOCUMENTS} WHERE {condition}) ORDER BY id"
    return np.fromiter((row[0] for row in connection.execute(sql, values)), dtype=np.int64)  # no list of a million


def document_ids(
    connection: sqlite3.Connection, tree: Filter | None, after: str, limit: int, *, only: str = "1"
) -> list[str]:
    """Ids, sorted, of the documents that pass the filter, those without a passage too: the first above `after`.

    only: a condition on d(ocuments). Raises as `allowed` does, but only with the first ones.
    """
    condition, values, passages = _of_documents(connection, tree, check=not after)
    every = (
        f"SELECT DISTINCT d.uri FROM {_DOCUMENTS} {passages}" if tree is not None else "SELECT d.uri FROM documents d"
    )
    sql = f"{every} WHERE d.uri > ? AND {only} AND {condition} ORDER BY d.uri LIMIT ?"
    return [row[0] for row in connection.execute(sql, [after, *values, limit])]


def count_documents(connection: sqlite3.Connection, tree: Filter) -> int:
    """How many documents pass the filter. Raises as `allowed` does."""
    condition, values, passages = _of_documents(connection, tree)
    counted = "DISTINCT d.id" if passages else "*"
    sql = f"SELECT count({counted}) FROM {_DOCUMENTS} {passages} WHERE {condition}"
    return int(connection.execute(sql, values).fetchone()[0])


def _of_documents(
    connection: sqlite3.Connection, tree: Filter | None, *, check: bool = True
) -> tuple[str, list[Any], str]:
    """The filter as an SQL condition, its values, and the join with the passages where it depends on them."""
    if tree is None:
        return "1", [], ""
    condition, values, of_passages = _condition(connection, tree, check=check)
    return condition, values, "JOIN passages p ON p.document = d.id" if of_passages else ""


def _condition(connection: sqlite3.Connection, tree: Filter, *, check: bool = True) -> tuple[str, list[Any], bool]:
    """The filter as an SQL condition, its values, and whether it depends on passages."""
    if check:
        check_keys(tree, lambda field: _is_known(connection, field), lambda: _keys(connection))
    _register(connection)
    return *compiled(tree), is_of_passages(tree)


def compiled(tree: Filter) -> SQL:
    """A tree as an SQL condition and the values of its ? marks. It is 0 or 1, never NULL, so that NOT negates it."""
    match tree:
        case And(parts):
            return _joined(" AND ", [compiled(part) for part in parts])
        case Or(parts):
            return _joined(" OR ", [compiled(part) for part in parts])
        case Not(part):
            condition, values = compiled(part)
            return f"NOT {condition}", values
        case PathGlob(pattern):
            return "semsearch_path(?, d.uri, s.path, s.root)", [pattern]
        case _ if tree.field == DATE:
            return compiled(without_date(tree))
        case _:
            return _file_time(tree) if tree.field == FILE_DATE else _test(tree)


def _register(connection: sqlite3.Connection) -> None:
    """Add path patterns to SQLite, once: a second time fails while a statement of the connection is running."""
    known = "SELECT 1 FROM pragma_function_list WHERE name = 'semsearch_path'"
    if connection.execute(known).fetchone() is None:
        connection.create_function("semsearch_path", 4, globs.matches_document, deterministic=True)


def _joined(word: str, tests: Sequence[SQL]) -> SQL:
    return f"({word.join(sql for sql, _ in tests)})", [value for _, values in tests for value in values]


def _test(tree: Any) -> SQL:
    """A test of one field, except the date of a file."""
    field: Field = tree.field
    if field.builtin:
        column = _COLUMNS[field.names[0]]
        if isinstance(tree, Exists):
            return f"{column} IS NOT NULL", []
        condition, values = _holds(tree, column, types=None)
        return f"coalesce({condition}, 0)", values
    if isinstance(tree, Compare) and not isinstance(tree.value, Date) and not any(map(_ODD_KEY.search, field.names)):
        return _comparison(field.names, tree.op, tree.value)
    condition, values = _walked(field, tree)
    if isinstance(tree, Exists) and not _ODD_KEY.search(field.names[-1]):  # to look for a key in a million documents
        return f"(instr(d.metadata, ?) AND {condition})", [f'"{field.names[-1]}":', *values]
    return condition, values


def _comparison(names: Sequence[str], op: str, wanted: Any) -> SQL:
    """A comparison with one value: two thirds of the time of `_walked`.

    An equal value has one way to be written, so a search of the text leaves few documents whose JSON is parsed.
    """
    path = "$" + "".join(f'."{name}"' for name in names)
    typed = _typed(wanted, "json_type(d.metadata, ?)")
    condition = f"CASE WHEN json_extract(d.metadata, ?) {op} ? THEN {typed} ELSE 0 END"
    values = [path, wanted, path]
    if op == "=" and (written := _beginning(wanted)):
        return f"(instr(d.metadata, ?) AND {condition})", [f'"{names[-1]}":{written}', *values]
    return condition, values


def _beginning(wanted: Any) -> str:
    """How a value that equals `wanted` begins in the metadata of a document; "" where there are several ways."""
    if isinstance(wanted, str | bool):
        return to_json(wanted)
    return str(wanted) if isinstance(wanted, int) and 0 < abs(wanted) < _LAST_WHOLE else ""


def _walked(field: Field, tree: Any) -> SQL:
    """A test of a metadata field, for keys and values of all kinds."""
    joins = ["json_each(d.metadata) m0"]
    joins += [
        f"json_each(CASE m{at}.type WHEN 'object' THEN m{at}.value ELSE '{{}}' END) m{at + 1}"
        for at in range(len(field.names) - 1)
    ]
    keys = " AND ".join(f"m{at}.key = ?" for at in range(len(field.names)))
    last = f"m{len(field.names) - 1}"
    condition, values = _holds(tree, f"{last}.value", types=f"{last}.type")
    return f"EXISTS (SELECT 1 FROM {', '.join(joins)} WHERE {keys} AND {condition})", [*field.names, *values]


def _holds(tree: Any, value: str, types: str | None) -> SQL:
    """The test on an SQL value whose JSON type is `types`; a built-in has one type, which the parser has checked."""
    text = "1" if types is None else f"{types} = 'text'"
    match tree:
        case Exists():
            return f"{types} <> 'null'", []
        case Compare(_, op, Date(date)):
            there = f"replace(substr({value}, 1, {len(date)}), ' ', 'T')"
            return f"({text} AND {value} GLOB ? AND {there} {op} ?)", [_ISO, date]
        case Compare(_, op, wanted):
            return f"({_typed(wanted, types)} AND {value} {op} ?)", [wanted]
        case In(_, values):
            return _among(values, value, types)
        case Like(_, pattern):
            return f"({text} AND {value} LIKE ? ESCAPE '\\')", [pattern]
        case Contains(_, wanted):
            part: SQL = (f"({text} AND {value} LIKE ? ESCAPE '\\')", [f"%{like_escaped(str(wanted))}%"])
            tests = [part] if isinstance(wanted, str) else []
            if types is not None:
                items = f"json_each(CASE {types} WHEN 'array' THEN {value} ELSE '[]' END) e"
                tests.append(
                    (f"EXISTS (SELECT 1 FROM {items} WHERE {_typed(wanted, 'e.type')} AND e.value = ?)", [wanted])
                )
            return _joined(" OR ", tests)
    raise AssertionError(f"no SQL for {tree!r}")


def _typed(wanted: Any, types: str | None) -> str:
    """SQL that is true where a value of the JSON type `types` can be compared with `wanted`."""
    if types is None:
        return "1"
    if isinstance(wanted, bool):
        return f"{types} IN ('true', 'false')"
    return f"{types} = 'text'" if isinstance(wanted, str) else f"{types} IN ('integer', 'real')"


def _among(wanted: Sequence[Any], value: str, types: str | None) -> SQL:
    """One parameter for each type, however long the list is."""
    of_type: dict[str, list[Any]] = {}
    for one in wanted:
        of_type.setdefault(_typed(one, types), []).append(one)
    tests = [
        (f"({typed} AND {value} IN (SELECT value FROM json_each(?)))", [json.dumps(values)])
        for typed, values in of_type.items()
    ]
    return _joined(" OR ", tests)


def _file_time(tree: Any) -> SQL:
    if isinstance(tree, Exists):
        return "d.mtime IS NOT NULL", []
    tests = within(tree.op, *tree.value.span())
    return f"coalesce({' AND '.join(f'd.mtime {op} ?' for op, _ in tests)}, 0)", [bound for _, bound in tests]


def _is_known(connection: sqlite3.Connection, field: Field) -> bool:
    condition, values = _test(Exists(field))
    return connection.execute(f"SELECT 1 FROM documents d WHERE {condition} LIMIT 1", values).fetchone() is not None


def _keys(connection: sqlite3.Connection) -> set[str] | None:
    """Some keys of the metadata; None where there is no document."""
    if connection.execute("SELECT 1 FROM documents LIMIT 1").fetchone() is None:
        return None
    known = connection.execute("SELECT DISTINCT m.key FROM documents d, json_each(d.metadata) m LIMIT 200")
    return {key for (key,) in known}
