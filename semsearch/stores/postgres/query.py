"""SQL of a user over a collection: one statement that reads, in limited time.

The statement runs in a read-only transaction, alone in its message to the server. That keeps it from changing tables,
but not a role with many rights from harm by functions: those that reach files, other servers or other sessions are
refused by their names, and `semsearch sql` is best used with a role that may only read. The functions of Python, such
as semsearch_search, are those of the local store: PostgreSQL has no way to call them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path

from semsearch.errors import SemsearchError, UsageError
from semsearch.stores.postgres.server.address import Raw
from semsearch.stores.postgres.server.client import errors, psycopg
from semsearch.stores.postgres.server.connection import Connection
from semsearch.stores.records import to_json
from semsearch.stores.remote import links
from semsearch.stores.sql.answers import distinct, fetched
from semsearch.types import SqlRows, SqlValue

_FORBIDDEN = re.compile(
    r"\b(pg_\w+|lo_\w+|dblink\w*|set_config|query_to_xml\w*|cursor_to_xml\w*|database_to_xml\w*|schema_to_xml\w*"
    r"|table_to_xml\w*|currval|nextval|setval)\b\"?(?:\s|--[^\n]*\n|/\*.*?\*/)*\(",
    re.IGNORECASE | re.DOTALL,
)
_READING = re.compile(r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*(SELECT|WITH|VALUES|TABLE)\b", re.IGNORECASE | re.DOTALL)


def sql(
    location: Path,
    statement: str,
    values: Sequence[object] | Mapping[str, object],
    functions: Mapping[str, Callable[..., SqlValue]],
    seconds: float,
    /,
) -> SqlRows:
    """The rows of a SELECT; the schema of the collection is searched for its tables and views.

    Marks of values are $1, $2 … for a sequence. Raises NotFound, UsageError for what PostgreSQL or this module refuses,
    SemsearchError after `seconds`.
    """
    if not _READING.match(statement):
        raise UsageError("this statement does not read.", "Write a SELECT.")
    if re.search(r"\bU&\"", statement, re.IGNORECASE):  # a name with letters by their numbers
        raise UsageError('a name in U&"…" is not for statements of semsearch.', "Write its letters.")
    if called := _FORBIDDEN.search(statement):
        raise UsageError(f"the function {called[1]} is not for statements of semsearch.", "Use psql for it.")
    for name in functions:
        if re.search(rf"\b{re.escape(name)}\s*\(", statement, re.IGNORECASE):
            raise UsageError(
                f"{name} is a function of the local store; a statement on a server cannot call it.",
                "Search first, and join the ids of its hits.",
                "Search with `query --json`, and join its ids with `id IN (…)`.",
            )
    if isinstance(values, Mapping) and values:
        raise UsageError("values by name are for the local store.", "Number them: $1, $2 … with a list of values.")
    link = links.read(location)
    with closing(Connection(location, link, write=False)) as connection, connection.explained():
        return connection.reading(lambda raw: _answer(raw, statement, list(values), seconds))


def _answer(raw: Raw, statement: str, values: Sequence[object], seconds: float) -> SqlRows:
    raw.execute(f"SET statement_timeout = {max(1, int(seconds * 1000))}".encode())
    try:
        with psycopg.RawServerCursor(raw, "answer") as cursor:  # of one statement; the server keeps the rows beyond
            end = time.monotonic() + seconds
            cursor.itersize = 1000
            cursor.execute(statement.encode(), values)
            rows = fetched(_in_time(cursor, end, seconds))
            names = [column.name for column in cursor.description or ()]
    except errors.QueryCanceled:
        raise _late(seconds) from None
    except (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError, errors.InternalError) as error:
        said = (error.diag.message_primary or str(error)).rstrip(".")
        raise UsageError(f"PostgreSQL refuses the statement: {said}.", "Correct it.") from None
    return SqlRows(distinct(names), rows)


def _in_time(rows: Iterable[Sequence[object]], end: float, seconds: float) -> Iterator[tuple[SqlValue, ...]]:
    """The rows, each of plain values. Raises SemsearchError after `end`."""
    for row in rows:
        if time.monotonic() > end:
            raise _late(seconds)
        yield tuple(map(_plain, row))


def _late(seconds: float) -> SemsearchError:
    fix = "Add a LIMIT or a condition, or give it more time."
    return SemsearchError(f"the statement took longer than {seconds:g} s.", fix)


def _plain(value: object) -> SqlValue:
    """A value as SQLite would have it: numbers, texts and bytes stay, JSON is text."""
    if value is None or isinstance(value, int | float | str | bytes):
        return value
    if isinstance(value, Decimal):
        return float(value)
    return to_json(value) if isinstance(value, dict | list) else str(value)
