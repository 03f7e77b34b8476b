"""What SQLite says in its own way of a filter that is compiled to SQL (`sql.filters`)."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from semsearch.stores.filters import Compare, Contains, Date, Exists, Field, Filter, In, Like, like_escaped
from semsearch.stores.records import to_json
from semsearch.stores.sql.filters import SQL, Dialect, joined
from semsearch.utils import globs

if TYPE_CHECKING:
    from semsearch.types import Ids

_ISO = "[0-9][0-9][0-9][0-9]-[0-9][0-9]*"
_ODD_KEY = re.compile(r'^$|[\x00-\x1f"\\]')  # which JSON escapes; or a key without a letter
_LAST_WHOLE = 10**15  # above, a number may be written with an exponent


class SqliteFilters(Dialect):
    """The dialect of SQLite."""

    false, loader, mtime = "0", "d.loader", "d.mtime"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        return self._connection.execute(sql, values)

    def passage_ids(self, tree: Filter) -> Ids:
        """Ids, ascending, of the passages that pass the filter. Raises as `passages`."""
        sql, values = self.passages(tree)
        return np.fromiter((row[0] for row in self.rows(f"{sql} ORDER BY 1", values)), dtype=np.int64)

    def on_path(self, pattern: str) -> SQL:
        """Path patterns are added to SQLite once: a second time fails while a statement of the connection runs."""
        function = "SELECT 1 FROM pragma_function_list WHERE name = 'semsearch_path'"
        if self.rows(function).fetchone() is None:
            self._connection.create_function("semsearch_path", 4, globs.matches_document, deterministic=True)
        return "semsearch_path(?, d.uri, s.path, s.root)", [pattern]

    def of_builtin(self, tree: Any, column: str) -> SQL:
        return _holds(tree, column, types=None)

    def of_metadata(self, tree: Any) -> SQL:
        field: Field = tree.field
        if (
            isinstance(tree, Compare)
            and not isinstance(tree.value, Date)
            and not any(map(_ODD_KEY.search, field.names))
        ):
            return _comparison(field.names, tree.op, tree.value)
        condition, values = _walked(field, tree)
        if isinstance(tree, Exists) and not _ODD_KEY.search(
            field.names[-1]
        ):  # to look for a key in a million documents
            return f"(instr(d.metadata, ?) AND {condition})", [f'"{field.names[-1]}":', *values]
        return condition, values

    def some_keys(self) -> set[str]:
        return {
            key for (key,) in self.rows("SELECT DISTINCT m.key FROM documents d, json_each(d.metadata) m LIMIT 200")
        }


def _comparison(names: Sequence[str], op: str, operand: Any) -> SQL:
    """A comparison with one value: two thirds of the time of `_walked`.

    An equal value has one way to be written, and so has a list, so a search of the text leaves few documents whose JSON
    is parsed.
    """
    path = "$" + "".join(f'."{name}"' for name in names)
    typed = _typed(operand, "json_type(d.metadata, ?)")
    condition = f"CASE WHEN json_extract(d.metadata, ?) {op} ? THEN {typed} ELSE 0 END"
    values = [path, operand, path]
    if op != "=":
        return condition, values
    if written := _beginning(operand):
        condition, values = f"(instr(d.metadata, ?) AND {condition})", [f'"{names[-1]}":{written}', *values]
    item = f"{_typed(operand, 'e.type')} AND e.value = ?"
    listed = f"json_type(d.metadata, ?) = 'array' AND EXISTS (SELECT 1 FROM json_each(d.metadata, ?) e WHERE {item})"
    in_list: SQL = (f"instr(d.metadata, ?) AND {listed}", [f'"{names[-1]}":[', path, path, operand])
    return joined(" OR ", [(condition, values), in_list])


def _beginning(operand: Any) -> str:
    """How a value that equals `operand` begins in the metadata of a document; "" where there are several ways."""
    if isinstance(operand, str | bool):
        return to_json(operand)
    return str(operand) if isinstance(operand, int) and 0 < abs(operand) < _LAST_WHOLE else ""


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
        case Compare(_, "=", operand) if types is not None:
            return joined(" OR ", [_among([operand], value, types), _item([operand], value, types)])
        case Compare(_, op, operand):
            return f"({_typed(operand, types)} AND {value} {op} ?)", [operand]
        case In(_, values):
            tests = [_among(values, value, types)]
            return joined(" OR ", tests if types is None else [*tests, _item(values, value, types)])
        case Like(_, pattern):
            return f"({text} AND {value} LIKE ? ESCAPE '\\')", [pattern]
        case Contains(_, operand):
            part: SQL = (f"({text} AND {value} LIKE ? ESCAPE '\\')", [f"%{like_escaped(str(operand))}%"])
            tests = [part] if isinstance(operand, str) else []
            return joined(" OR ", tests if types is None else [*tests, _item([operand], value, types)])
    raise AssertionError(f"no SQL for {tree!r}")


def _item(operand: Sequence[Any], value: str, types: str) -> SQL:
    """Whether a list has one of these."""
    condition, values = _among(operand, "e.value", "e.type")
    items = f"json_each(CASE {types} WHEN 'array' THEN {value} ELSE '[]' END) e"
    return f"EXISTS (SELECT 1 FROM {items} WHERE {condition})", values


def _typed(operand: Any, types: str | None) -> str:
    """SQL that is true where a value of the JSON type `types` can be compared with `operand`."""
    if types is None:
        return "1"
    if isinstance(operand, bool):
        return f"{types} IN ('true', 'false')"
    return f"{types} = 'text'" if isinstance(operand, str) else f"{types} IN ('integer', 'real')"


def _among(operand: Sequence[Any], value: str, types: str | None) -> SQL:
    """One parameter for each type, however long the list is."""
    of_type: dict[str, list[Any]] = {}
    for one in operand:
        of_type.setdefault(_typed(one, types), []).append(one)
    tests = [
        (f"({typed} AND {value} IN (SELECT value FROM json_each(?)))", [json.dumps(values)])
        for typed, values in of_type.items()
    ]
    return joined(" OR ", tests)
