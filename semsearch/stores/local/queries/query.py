"""SQL of a user over a store: one statement that reads, in limited time.

Four things keep it from writing, each by itself: the file is open for reading, `query_only`, an authorizer that allows
reading and functions alone, and no second database.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.stores.local import schema, sqlite
from semsearch.stores.local.location import DATABASE
from semsearch.stores.local.queries import temporary_views
from semsearch.types import SqlRows, SqlValue

MOST_ROWS = 1_000_000
MOST_BYTES = 1 << 29  # of all rows, since they are in memory together
LONGEST = 100_000_000  # bytes of one value; SQLite allows a billion
STEPS = 20_000  # of SQLite's machine between two looks at the clock: a few milliseconds
SEARCH = "semsearch_search"
COLUMNS = ("rank", "id", "document", "score", "strength", "match", "path", "line", "page", "heading", "text")
TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/|\w+|\S""", re.DOTALL)
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
FORBIDDEN = {"load_extension", "fts3_tokenizer"}


def sql(
    location: Path,
    statement: str,
    values: Sequence[object] | Mapping[str, object],
    functions: Mapping[str, Callable[..., SqlValue]],
    seconds: float,
) -> SqlRows:
    """The rows of a SELECT. Raises NotFound, UsageError for what SQLite refuses, SemsearchError after `seconds`, and
    what `functions` raise. They may be called with any number of values.
    """
    if not (location / DATABASE).is_file():
        raise NotFound(f"there is no index at {location}.", "Check the name.")
    with sqlite.translated(location):
        connection, _ = sqlite.connect_reader(location / DATABASE)
    with closing(connection):
        with sqlite.translated(location):
            schema.check(connection, location, write=False)
            temporary_views.create(connection)
        return _Query(connection, location, seconds).rows(as_table(statement), values, functions)


class _Query:
    """One statement on its connection."""

    def __init__(self, connection: sqlite3.Connection, location: Path, seconds: float) -> None:
        self._connection, self._location, self._seconds = connection, location, seconds
        self._end = time.monotonic() + seconds
        self._raised: list[BaseException] = []  # by a function: SQLite would say only that there was an error

    def rows(
        self,
        statement: str,
        values: Sequence[object] | Mapping[str, object],
        functions: Mapping[str, Callable[..., SqlValue]],
    ) -> SqlRows:
        connection = self._connection
        for name, function in functions.items():
            connection.create_function(name, -1, self._kept(function), deterministic=True)
        connection.execute("PRAGMA query_only=ON")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_authorizer(_authorized)
        connection.set_progress_handler(lambda: time.monotonic() > self._end, STEPS)
        with self._errors():
            found = connection.execute(statement, values)
            if found.description is None:
                raise UsageError("this statement has no rows.", "Write a SELECT.")
            return SqlRows(distinct([column[0] for column in found.description]), _fetched(found))

    def _kept(self, function: Callable[..., SqlValue]) -> Callable[..., SqlValue]:
        def called(*values: object) -> SqlValue:
            try:
                if time.monotonic() > self._end:
                    raise self._late()
                return function(*values)
            except BaseException as error:
                self._raised.append(error)
                raise

        return called

    def _late(self) -> SemsearchError:
        fix = "Add a LIMIT or a condition, or give it more time."
        return SemsearchError(f"the statement took longer than {self._seconds:g} s.", fix)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError, OverflowError, ValueError) as error:
            if self._raised:
                raise self._raised[0] from None
            if time.monotonic() > self._end and "interrupted" in str(error):
                raise self._late() from None
            if isinstance(error, sqlite3.Error) and sqlite.code(error) in _DAMAGE:
                raise sqlite.explain(error, self._location) from error
            raise UsageError(f"SQLite refuses the statement: {_reason(error)}.", _fix(error)) from None


_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY}


def _fetched(rows: Iterable[tuple[SqlValue, ...]]) -> list[tuple[SqlValue, ...]]:
    """All rows. Raises UsageError where they are too many, or too large."""
    found: list[tuple[SqlValue, ...]] = []
    size = 0
    for row in rows:
        found.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if size > MOST_BYTES:
            raise UsageError(f"the rows take more than {MOST_BYTES >> 20} MB.", "Select fewer columns, or add a LIMIT.")
        if len(found) > MOST_ROWS:
            raise UsageError(f"there are more than {MOST_ROWS:,} rows.", "Add a LIMIT.")
    return found


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names of columns, of which a repeated one gets a number, so that no value is lost.

    >>> distinct(["id", "text", "id", "id_2"])
    ('id', 'text', 'id_3', 'id_2')
    """
    found: list[str] = []
    for name in names:
        number, free = 1, name
        while free in found or (number > 1 and free in names):
            number += 1
            free = f"{name}_{number}"
        found.append(free)
    return tuple(found)


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "it contains characters that are not valid Unicode"
    text = str(error).rstrip(".")
    return "it may only read" if re.search("not authorized|authorization denied|prohibited", text) else text


def _fix(error: Exception) -> str:
    if f"no such table: {SEARCH}" in str(error):
        return f"Write it after FROM or JOIN, as in: FROM documents_view JOIN {SEARCH}('diesel', 10)"
    return "docs/sql.md lists the views."


def _authorized(action: int, _: str | None, name: str | None, *__: str | None) -> int:
    allowed = action in READING and not (action == sqlite3.SQLITE_FUNCTION and name in FORBIDDEN)
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def as_table(statement: str) -> str:
    """The statement with each `FROM semsearch_search(…)` made a table: Python's SQLite has no functions that are one.

    >>> as_table("SELECT id FROM semsearch_search('tea', 3) s").count("json_each(semsearch_search('tea', 3)) ")
    1
    >>> as_table("SELECT 'FROM semsearch_search(1)' -- FROM semsearch_search(1)")
    "SELECT 'FROM semsearch_search(1)' -- FROM semsearch_search(1)"
    """
    columns = ", ".join(f"value ->> '{name}' AS {name}" for name in COLUMNS)
    pieces, done, before = [], 0, ""
    tokens = [found for found in TOKEN.finditer(statement) if not found[0].startswith(("--", "/*"))]
    for at, token in enumerate(tokens):
        if token[0].casefold() == SEARCH and before in ("from", "join") and token.start() >= done:
            end = _closing(tokens[at + 1 :])
            call = statement[token.start() : end]
            pieces += [statement[done : token.start()], f"(SELECT {columns} FROM json_each({call}) ORDER BY key)"]
            done = end
        before = token[0].casefold()
    return "".join([*pieces, statement[done:]])


def _closing(tokens: Sequence[re.Match[str]]) -> int:
    """The end of the bracket that the first token opens. Raises UsageError where there is none."""
    depth = 0
    for token in tokens:
        depth += (token[0] == "(") - (token[0] == ")")
        if not depth:
            if token[0] == ")":
                return token.end()
            break
    raise UsageError(f"{SEARCH} has no closing bracket.", f"For example: FROM {SEARCH}('diesel', 10)")
