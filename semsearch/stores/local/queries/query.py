"""SQL of a user over a store: one statement that reads, in limited time.

Four things keep it from writing, each by itself: the file is open for reading, `query_only`, an authorizer that allows
reading and functions alone, and no second database.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread

from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.stores.local.database import schema, sqlite
from semsearch.stores.local.location import DATABASE
from semsearch.stores.local.queries import temporary_views
from semsearch.stores.local.queries.search_table import SEARCH, as_table
from semsearch.stores.sql.answers import distinct, fetched
from semsearch.types import SqlRows, SqlValue

LONGEST = 100_000_000  # bytes of one value; SQLite allows a billion
GRACE = 1.0  # seconds beyond the time, for a statement to end by itself
STEPS = 20_000  # of SQLite's machine between two looks at the clock: a few milliseconds
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
    what `functions` raise. They may be called with any number of values, from another thread.
    """
    if not (location / DATABASE).is_file():
        raise NotFound(f"there is no index at {location}.", "Check the name.")
    ask = lambda query: query.rows(as_table(statement), values, functions)  # noqa: E731
    return _in_time(lambda: _answer(location, seconds, ask), seconds)


def _in_time(work: Callable[[], SqlRows], seconds: float) -> SqlRows:
    """What `work` returns or raises. SQLite looks at the clock between the steps of a statement, and one call of a
    function, such as instr() of two long texts, can be a step of hours: it is left to a thread of its own.
    """
    answer: Future[SqlRows] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=run, name="semsearch-sql", daemon=True).start()
    wait([answer], seconds + GRACE)
    if not answer.done():
        raise _late(seconds)
    return answer.result()


def _late(seconds: float) -> SemsearchError:
    fix = "Add a LIMIT or a condition, or give it more time."
    return SemsearchError(f"the statement took longer than {seconds:g} s.", fix)


def _answer(location: Path, seconds: float, ask: Callable[[_Query], SqlRows]) -> SqlRows:
    with sqlite.translated(location):
        connection, _ = sqlite.connect_reader(location / DATABASE)
    with closing(connection):
        with sqlite.translated(location):
            schema.check(connection, location, write=False)
            temporary_views.create(connection)
        return ask(_Query(connection, location, seconds))


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
            cursor = connection.execute(statement, values)
            if cursor.description is None:
                raise UsageError("this statement has no rows.", "Write a SELECT.")
            return SqlRows(distinct([column[0] for column in cursor.description]), fetched(cursor))

    def _kept(self, function: Callable[..., SqlValue]) -> Callable[..., SqlValue]:
        def called(*values: object) -> SqlValue:
            try:
                if time.monotonic() > self._end:
                    raise _late(self._seconds)
                return function(*values)
            except BaseException as error:
                self._raised.append(error)
                raise

        return called

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError, OverflowError, ValueError) as error:
            if self._raised:
                raise self._raised[0] from None
            if time.monotonic() > self._end and "interrupted" in str(error):
                raise _late(self._seconds) from None
            if isinstance(error, sqlite3.Error) and sqlite.code(error) in _DAMAGE:
                raise sqlite.explain(error, self._location) from error
            raise UsageError(f"SQLite refuses the statement: {_reason(error)}.", _fix(error)) from None


_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY}


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
