"""What PostgreSQL says in its own way of a filter that is compiled to SQL (`sql.filters`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from semsearch.stores.filters import Compare, Contains, Date, Exists, In, Like, like_escaped
from semsearch.stores.postgres.number_indexes import number
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.postgres.server.escapes import stored
from semsearch.stores.sql.database import Row
from semsearch.stores.sql.filters import SQL, Dialect, joined, portable
from semsearch.utils import globs

_ISO = "^[0-9]{4}-[0-9]{2}"
_LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(65, 91)})
MOST_CONTAINED = 64  # values of `in` that are looked up in the index of the fields one by one
NOTHING: SQL = ("FALSE", [])


class PostgresFilters(Dialect):
    """The dialect of PostgreSQL."""

    false, loader, mtime = "FALSE", "s.loader", "s.mtime_ns"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        return self._connection.rows(sql, values)

    def on_path(self, pattern: str) -> SQL:
        regex = portable(globs.path_regex(pattern).pattern)
        places = ["d.uri", "s.path", *(["btrim(s.root, '/') || '/' || s.path"] if pattern.startswith("/") else [])]
        return joined(" OR ", [(f"{place} ~ ?", [regex]) for place in places])

    def of_builtin(self, tree: Any, column: str) -> SQL:
        match tree:
            case Compare(_, op, operand) if not isinstance(operand, Date):
                mark, value = _parameter(operand)
                return f"{column} {op} {mark}", [value]
            case In(_, operand):
                texts = [one for one in operand if isinstance(one, str)]
                numbers = [str(one) for one in operand if not isinstance(one, str)]
                kind, values = ("text", texts) if texts else ("numeric", numbers)
                return f"{column} = ANY(?::{kind}[])", [values]
            case Like(_, pattern):
                return _like(column, pattern)
            case Contains(_, operand) if isinstance(operand, str):
                return _like(column, f"%{like_escaped(operand)}%")
        return NOTHING

    def of_metadata(self, tree: Any) -> SQL:
        """The operator -> finds keys of objects alone, and NULL elsewhere."""
        names = list(tree.field.names)
        value = "(d.fields" + " -> ?::text" * len(names) + ")"
        kind, text = f"jsonb_typeof{value}", f"({value} #>> '{{}}') COLLATE \"C\""
        match tree:
            case Exists():
                return f"{kind} <> 'null'", names
            case Compare(_, op, Date(day)):
                there = f"replace(substr({text}, 1, {len(day)}), ' ', 'T') COLLATE \"C\""
                condition = f"({kind} = 'string' AND {text} ~ ? AND {there} {op} ?)"
                return condition, [*names, *names, _ISO, *names, day]
            case Compare(_, "=", operand):
                packed = _json(operand)  # the index of the fields finds both
                both = [_nested(names, packed), _nested(names, f"[{packed}]")]
                return "(d.fields @> ?::jsonb OR d.fields @> ?::jsonb)", both
            case Compare(_, op, operand) if _kind(operand) == "number" and (indexed := number(names)):
                return f"{indexed} {op} ?::numeric", [repr(operand)]
            case Compare(_, op, operand):
                mark, parameter = _parameter(operand)
                cast = "" if isinstance(operand, str) else "::boolean" if isinstance(operand, bool) else "::numeric"
                compared = f"({text}){cast} {op} {mark}"
                condition = f"(CASE WHEN {kind} = '{_kind(operand)}' THEN {compared} ELSE FALSE END)"
                return condition, [*names, *names, parameter]
            case In(_, operand) if len(operand) <= MOST_CONTAINED:
                forms = [form for one in operand for form in (_json(one), f"[{_json(one)}]")]
                return joined(" OR ", [("d.fields @> ?::jsonb", [_nested(names, form)]) for form in forms])
            case In(_, operand):
                choices = [_json(one) for one in operand]
                alone: SQL = (f"({value} = ANY(?::text[]::jsonb[]))", [*names, choices])
                item = f"({kind} = 'array' AND {value} @> ANY(?::text[]::jsonb[]))"
                return joined(" OR ", [alone, (item, [*names, *names, [f"[{one}]" for one in choices]])])
            case Like(_, pattern):
                condition, values = _like(text, pattern)
                return f"({kind} = 'string' AND {condition})", [*names, *(names if values else []), *values]
            case Contains(_, operand):
                in_list: SQL = ("d.fields @> ?::jsonb", [_nested(names, f"[{_json(operand)}]")])
                if not isinstance(operand, str):
                    return in_list
                condition, values = _like(text, f"%{like_escaped(operand)}%")
                return joined(" OR ", [in_list, (f"({kind} = 'string' AND {condition})", [*names, *names, *values])])
        raise AssertionError(f"no SQL for {tree!r}")

    def some_keys(self) -> set[str]:
        return {key for (key,) in self.rows("SELECT DISTINCT jsonb_object_keys(fields) FROM documents LIMIT 200")}


def _like(text: str, pattern: str) -> SQL:
    """Whether a text fits a pattern. A backslash at its end fits nothing, where PostgreSQL raises an error."""
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        return NOTHING
    return f'(lower({text} COLLATE "C") LIKE ?)', [pattern.translate(_LOWER)]


def _parameter(operand: Any) -> tuple[str, Any]:
    """The mark of a value with its type, and the value as it is passed."""
    if isinstance(operand, str):
        return "?", operand
    return ("?::boolean", operand) if isinstance(operand, bool) else ("?::numeric", repr(operand))


def _kind(operand: Any) -> str:
    return "string" if isinstance(operand, str) else "boolean" if isinstance(operand, bool) else "number"


def _json(value: Any) -> str:
    return json.dumps(stored(value) if isinstance(value, str) else value)


def _nested(names: Sequence[str], packed: str) -> str:
    """{"a": {"b": value}} for the path a.b and a value, as JSON."""
    for name in reversed(names):
        packed = f"{{{_json(name)}: {packed}}}"
    return packed
