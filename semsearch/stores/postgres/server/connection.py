"""The connections of an open store: kept for the next call, and opened again where one was lost.

Threads may share one `Connection`: each call has a connection of its own, and a snapshot or transaction belongs to the
thread that began it. What only reads is repeated after a lost connection, so that a failover costs one reconnect.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar
from weakref import WeakKeyDictionary

from semsearch.errors import Corrupt, NotFound, SemsearchError
from semsearch.stores.postgres.server import escapes, schema, vector_types
from semsearch.stores.postgres.server.address import (
    LOCK_SECONDS,
    READ_SECONDS,
    SILENT_CLIENT,
    WRITE_SECONDS,
    Raw,
    Server,
    is_lost,
    is_refused,
)
from semsearch.stores.postgres.server.client import errors, pq, psycopg
from semsearch.stores.postgres.server.schema import BACKUP
from semsearch.stores.records import storable
from semsearch.stores.remote.links import Link
from semsearch.stores.sql.database import Database, Row

RECHECK_SECONDS = 1.0  # after which a single read looks again whether the collection is where it was
RETRY_SECONDS = 30  # from a lost connection on; a standby is promoted in a few
AWAY_SECONDS = 60  # after a server was given up: until then a call tries once, so that pages do not wait each time
FIRST_WAIT, LONGEST_WAIT = 0.05, 2.0
MOST_IDLE = 8  # connections that are kept
MOST_TERMS = 500_000  # that are known to be in the vocabulary

LOG = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass
class Session:
    """A snapshot or transaction of one thread. `changes` of the counters and new `terms` are written at its end."""

    raw: Raw
    writing: bool
    depth: int = 1
    changes: Counter[str] = field(default_factory=Counter)
    terms: set[str] = field(default_factory=set)


class _Moved(psycopg.OperationalError):
    """The schema of a connection is no longer that of the collection."""


class Connection(Database):
    """The connections to one collection. `creating`: its schema, which does not exist yet."""

    repair = BACKUP
    among = "= ANY(?::bigint[])"

    def __init__(self, location: Path, link: Link, *, write: bool, creating: str = "") -> None:
        self.location, self.name, self.title = location, location.name, f"index {location.name}"
        self.link = link
        self.server = Server.at(link.address)
        self._write = write
        self._creating = creating
        self._idle: list[Raw] = []
        self._checked: WeakKeyDictionary[Raw, float] = WeakKeyDictionary()  # when the schema of each was looked at
        self._guard = threading.Lock()  # of `_idle`, `_checked` and `_closed`
        self._here = threading.local()
        self._turn = threading.RLock()  # of the threads that write
        self._recorded_terms: set[str] = set()
        self._closed = False
        self._away_until = 0.0  # on the monotonic clock
        with self.explained():
            self._give_back(self._connected())

    def close(self) -> None:
        """Close the connections. Every later call raises SemsearchError."""
        with self._guard:
            idle, self._idle, self._closed = self._idle, [], True
        for raw in idle:
            raw.close()

    def explained(self) -> AbstractContextManager[None]:
        """Errors of the client as those of semsearch."""
        return self.server.explained(self.name)

    # ---- statements

    def packed(self, ids: Sequence[int]) -> list[int]:
        return list(ids)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        self._check_open()
        session = self._session()
        with self.explained():
            if session is not None:
                return _rows(session.raw, sql, values)
            return self._repeated(lambda raw: _rows(self._right(raw), sql, values))

    def rows_in(self, sql: str, texts: Sequence[str], *before: object) -> Iterator[Row]:
        yield from self.rows(f"{sql} = ANY(?::text[])", (*before, storable(texts)))

    def execute(self, sql: str, values: Sequence[object] = ()) -> int:
        with self.explained():
            return self._writing().raw.execute(_marked(sql), values).rowcount

    def changed(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """The rows that a statement locks or changes, inside `transaction()`."""
        with self.explained():
            return _rows(self._writing().raw, sql, values)

    def execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        with self.explained(), self._writing().raw.cursor() as cursor:
            cursor.executemany(_marked(sql), rows)

    @contextmanager
    def alone(self, purpose: str) -> Iterator[Callable[[str], None] | None]:
        """Runs statements that cannot be in a transaction, in no time limit but that for locks.

        None where another writer is at work for the same purpose.
        """
        self._check_open()
        with self.explained():
            raw = self._repeated(lambda raw: self._right(raw, at_once=True), keep=True)
            try:
                raw.execute("SET statement_timeout = 0")
                key = (f"{self.link.id} {purpose}",)
                free = _rows(raw, "SELECT pg_try_advisory_lock(hashtextextended(?, 0))", key)[0][0]
                yield (lambda sql: _run(raw, sql)) if free else None
            finally:
                raw.close()

    def on_session(self, work: Callable[[Raw], T]) -> T:
        """What `work` gives with the connection of this thread's transaction."""
        with self.explained():
            return work(self._writing().raw)

    def reading(self, work: Callable[[Raw], T]) -> T:
        """What `work` gives with the connection of a snapshot."""
        with self.snapshot():
            session = self._session()
            assert session is not None
            return work(session.raw)

    def hold(self, name: str, *, alone: bool = False) -> None:
        """Waits for those that hold it, and those that ask later wait for this one."""
        self._writing()
        kind = "" if alone else "_shared"
        self.rows(f"SELECT pg_advisory_xact_lock{kind}(hashtextextended(?, 0))", (f"{self.link.id} {name}",))

    def count(self, counter: str) -> int:
        """With what this thread's transaction adds to it."""
        rows = self.rows("SELECT value FROM counters WHERE name = ?", (counter,))
        session = self._session()
        if not rows:
            raise Corrupt(f"index {self.name}: its counter {counter!r} is missing on the server.", BACKUP)
        return int(rows[0][0]) + (session.changes[counter] if session else 0)

    def set_local(self, setting: str, value: int) -> None:
        """Change a setting of the server until this thread's snapshot or transaction ends."""
        self.rows("SELECT set_config(?, ?, true)", (setting, str(value)))

    def add(self, counter: str, change: int) -> None:
        self._writing().changes[counter] += change

    def add_terms(self, terms: set[str]) -> None:
        """Record words for the vocabulary, inside `transaction()`."""
        self._writing().terms |= terms - self._recorded_terms

    @cached_property
    def pgvector(self) -> str:
        """The version of pgvector in the database, read once."""
        return str(self.rows("SELECT extversion FROM pg_extension WHERE extname = 'vector'")[0][0])

    # ---- snapshots and transactions

    @property
    def is_new(self) -> bool:
        """Whether the collection is being created, so that nobody else sees it."""
        return bool(self._creating)

    @property
    def is_writing(self) -> bool:
        """Whether a transaction of this thread goes on."""
        session = self._session()
        return session is not None and session.writing

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self._check_open()
        session = self._session()
        if session is not None:
            session.depth += 1
            try:
                yield
            finally:
                session.depth -= 1
            return
        with self.explained():
            self._here.session = Session(self._repeated(self._begin_snapshot, keep=True), writing=False)
            try:
                yield
            finally:
                self._end("ROLLBACK")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._check_open()
        if not self._write:
            raise SemsearchError(f"index {self.name} is open for reading only.")
        session = self._session()
        with self.explained(), self._savepoint(session) if session else self._outermost():
            yield

    @contextmanager
    def _outermost(self) -> Iterator[None]:
        with self._turn:
            self._here.session = Session(self._repeated(self._begin, keep=True), writing=True)
            try:
                yield
                terms = self._settle(self._here.session)
            except BaseException:
                self._end("ROLLBACK")
                raise
            self._end("COMMIT")
            if len(self._recorded_terms) > MOST_TERMS:
                self._recorded_terms.clear()
            self._recorded_terms |= terms

    @contextmanager
    def _savepoint(self, session: Session) -> Iterator[None]:
        if not session.writing:
            raise SemsearchError("a write inside a snapshot would be acknowledged before it is on disk.")
        changes, terms = Counter(session.changes), set(session.terms)
        session.raw.execute("SAVEPOINT inner_one")
        try:
            yield
        except BaseException:
            session.changes, session.terms = changes, terms
            with suppress(psycopg.Error):  # the connection may be gone
                session.raw.execute("ROLLBACK TO SAVEPOINT inner_one")
                session.raw.execute("RELEASE SAVEPOINT inner_one")
            raise
        session.raw.execute("RELEASE SAVEPOINT inner_one")

    def _settle(self, session: Session) -> set[str]:
        """Write what writers have in common, last: they wait for each other no longer than a commit takes.

        The rows are locked in one order by all. Returns the terms that are in the vocabulary now.
        """
        if session.raw.info.transaction_status == pq.TransactionStatus.INERROR:
            raise SemsearchError(f"index {self.name}: the transaction has already failed.")
        if terms := sorted(session.terms):
            sql = "INSERT INTO vocabulary SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING"
            session.raw.execute(sql, (terms,))
        session.raw.execute("UPDATE counters SET value = value + 1 WHERE name = 'version'")
        changes = {name: change for name, change in session.changes.items() if change}
        if changes:
            sql = """INSERT INTO counters SELECT * FROM unnest(%s::text[], %s::bigint[])
                     ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value"""
            session.raw.execute(sql, (list(changes), list(changes.values())))
        return session.terms

    def _end(self, statement: str) -> None:
        """End the session of this thread. The connection of one that cannot be rolled back is closed."""
        raw, self._here.session = self._here.session.raw, None
        try:
            _run(raw, statement)
        except psycopg.Error:
            raw.close()
            if statement == "COMMIT":
                raise
        self._give_back(raw)

    def _session(self) -> Session | None:
        session: Session | None = getattr(self._here, "session", None)
        return session

    def _writing(self) -> Session:
        session = self._session()
        if session is None or not session.writing:
            raise SemsearchError(f"index {self.name}: a change outside a transaction.")
        return session

    # ---- connections

    def _check_open(self) -> None:
        if self._closed:
            raise SemsearchError(f"index {self.name} is closed.", "Open it again.")

    def _repeated(self, work: Callable[[Raw], T], *, keep: bool = False) -> T:
        """What `work` gives with a connection; tried again with another one where it was lost. keep: do not give it
        back."""
        began, wait = time.monotonic(), FIRST_WAIT
        end = began + (RETRY_SECONDS if began > self._away_until else 0)
        while True:
            raw = None
            try:
                raw = self._taken() or self._connected()
                result = work(raw)
            except psycopg.Error as error:
                again = not is_refused(error) if raw is None else is_lost(raw, error) or self._has_moved(raw, error)
                if raw is not None:
                    self._drop(raw) if again else self._give_back(raw)
                if not again:
                    raise
                if time.monotonic() + wait > end:
                    self._away_until = time.monotonic() + AWAY_SECONDS
                    raise
                LOG.info("index %s: the connection to %s was lost; trying again.", self.name, self.server.where)
                time.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)
                continue
            except BaseException:
                if raw is not None:
                    raw.close()
                raise
            self._away_until = 0.0
            if not keep:
                self._give_back(raw)
            return result

    def _taken(self) -> Raw | None:
        with self._guard:
            return self._idle.pop() if self._idle else None

    def _give_back(self, raw: Raw) -> None:
        with self._guard:
            is_idle = not raw.closed and raw.info.transaction_status == pq.TransactionStatus.IDLE
            if is_idle and not self._closed and len(self._idle) < MOST_IDLE:
                self._idle.append(raw)
                return
        raw.close()

    def _drop(self, raw: Raw) -> None:
        """Close a lost connection, and with it those that were open at the time: a server that went has lost all."""
        raw.close()
        while other := self._taken():
            other.close()

    def _connected(self) -> Raw:
        """A new connection that sees the collection's schema. Raises NotFound where there is none of its id."""
        raw = self.server.connect()
        try:
            name = self._creating or schema.of_collection(raw, self.link.id)
            if name is None:
                raise NotFound(
                    f"the collection of index {self.name} is not on the server at {self.server.where}.",
                    "It was removed there, or the address leads to another server.",
                )
            schema.use(raw, name)
            if not self._creating:
                schema.check(raw, self.name)
            escapes.register(raw)
            vector_types.register(raw)
            seconds = WRITE_SECONDS if self._write else READ_SECONDS
            raw.execute(f"SET statement_timeout = '{seconds}s'; SET lock_timeout = '{LOCK_SECONDS}s'".encode())
            raw.execute(SILENT_CLIENT)
        except BaseException:
            raw.close()
            raise
        return raw

    def _begin_snapshot(self, raw: Raw) -> Raw:
        raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return self._right(raw, at_once=True)  # the moment is now

    def _begin(self, raw: Raw) -> Raw:
        raw.execute("BEGIN")
        return self._right(raw, at_once=True)

    def _right(self, raw: Raw, *, at_once: bool = False) -> Raw:
        """The connection, if its schema is still that of the collection. Raises _Moved."""
        with self._guard:
            recent = time.monotonic() - self._checked.get(raw, float("-inf")) < RECHECK_SECONDS
        if not self._creating and (at_once or not recent):
            if not schema.is_of(raw, self.link.id):
                raise _Moved
            with self._guard:
                self._checked[raw] = time.monotonic()
        return raw

    def _has_moved(self, raw: Raw, error: psycopg.Error) -> bool:
        """Whether an error means that the collection is no longer where it was."""
        if isinstance(error, errors.UndefinedTable) and raw.info.transaction_status == pq.TransactionStatus.IDLE:
            return not self._creating and not schema.is_of(raw, self.link.id)
        return isinstance(error, _Moved)

    def created(self) -> None:
        """From here on the schema is found by the collection's id."""
        self._creating = ""


def _marked(sql: str) -> bytes:
    """A statement with the marks of psycopg for its values."""
    return sql.replace("?", "%s").encode()


def _rows(raw: Raw, sql: str, values: Sequence[object]) -> list[Row]:
    return raw.execute(_marked(sql), values, binary=True).fetchall()


def _run(raw: Raw, sql: str) -> None:
    raw.execute(sql.encode())
