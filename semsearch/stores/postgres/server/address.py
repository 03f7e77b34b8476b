"""A PostgreSQL server: how it is reached, and what its errors mean.

No password is in an address, a message or a log: libpq takes it from PGPASSWORD, PGPASSFILE or ~/.pgpass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from semsearch.errors import Locked, NotFound, SemsearchError, Unreadable, UsageError
from semsearch.stores.postgres.server.client import conninfo, errors, psycopg
from semsearch.stores.remote import links

CONNECT_SECONDS = 10
READ_SECONDS = 120  # of one statement of a search; `sql` has its own limit
WRITE_SECONDS = 600  # of one statement of a writer, which may wait for another one
LOCK_SECONDS = 60  # that a statement waits for the rows of another writer
SILENCE_SECONDS = 30  # after which a connection without an answer on the network is given up
_KEEPALIVES = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}  # seconds, seconds, probes
_DEFAULTS: dict[str, str | int] = {
    "connect_timeout": CONNECT_SECONDS,
    "application_name": "semsearch",
    **_KEEPALIVES,
    "tcp_user_timeout": SILENCE_SECONDS * 1000,
}
# the server gives up a machine that went as soon, or its transaction would hold its locks for two hours
SILENT_CLIENT = "; ".join(
    [f"SET tcp_{name} = {value}" for name, value in _KEEPALIVES.items()]
    + [f"SET tcp_user_timeout = {SILENCE_SECONDS * 1000}"]
).encode()
_SECRETS = {"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"}
EXTENSION = (
    "pgvector has to be installed on the server, and in the database once: CREATE EXTENSION vector. That needs the "
    "rights of a superuser, or of the database's owner where the extension is marked as trusted."
)
PASSWORD = "Set PGPASSWORD, or write it to ~/.pgpass."

Raw: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"


@dataclass(frozen=True)
class Server:
    """What an address, a connection string or URI of libpq, says."""

    address: str

    @classmethod
    def at(cls, address: str) -> Server:
        """Raises UsageError for what is no address, or has a password in it."""
        links.refuse_secrets(address, "PGPASSWORD, or an entry in ~/.pgpass,")
        try:
            parts = conninfo.conninfo_to_dict(address)
        except psycopg.Error:  # its message may have a password in it
            raise UsageError(
                "the address of the store is no connection string of PostgreSQL.",
                "Write postgres:postgresql://USER@HOST:PORT/DATABASE",
            ) from None
        if secret := sorted(_SECRETS & parts.keys()):
            raise UsageError(f"the address of the store has a secret in it ({secret[0]}).", PASSWORD)
        return cls(address)

    @property
    def where(self) -> str:
        """Host, port and database, for messages."""
        parts = conninfo.conninfo_to_dict(self.address)
        host = str(parts.get("host") or parts.get("hostaddr") or "this machine")
        port = f":{parts['port']}" if "port" in parts else ""
        return f"{host}{port}/{parts.get('dbname', '')}".rstrip("/")

    def connect(self) -> Raw:
        """A new connection. Raises psycopg.OperationalError, after CONNECT_SECONDS at the latest for each host."""
        parts = conninfo.conninfo_to_dict(self.address)
        missing = {key: value for key, value in _DEFAULTS.items() if key not in parts}
        whole = conninfo.make_conninfo(self.address, client_encoding="utf8", **missing)
        raw = psycopg.connect(whole, autocommit=True, prepare_threshold=None)
        raw.add_notice_handler(lambda _: None)
        return raw

    @contextmanager
    def explained(self, name: str) -> Iterator[None]:
        """Errors of the client as those of semsearch; `name`: of the index."""
        try:
            yield
        except psycopg.Error as error:
            raise explain(error, name, self.where) from error
        except UnicodeEncodeError as error:
            raise Unreadable(f"the name {error.object[:60]!r} is not valid Unicode") from error


def is_lost(raw: Raw, error: psycopg.Error) -> bool:
    """Whether a connection has ended, or its server is about to."""
    return raw.closed or raw.broken or isinstance(error, _GOING)


def is_refused(error: psycopg.Error) -> bool:
    """Whether another trial to connect would be refused for the same reason."""
    said = " ".join(str(error).split())
    return any(re.search(str(meaning.sign), said) for meaning in _REFUSALS)


_GOING = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)


class _Meaning(NamedTuple):
    """A pattern of a message of libpq, or kinds of errors of the server; what it means, and what to do."""

    sign: str | tuple[type[psycopg.Error], ...]
    kind: type[SemsearchError]
    message: str
    fix: str


_LOST = "the connection to {where} was lost."
_TRY = "Try again."
_REFUSALS = (
    _Meaning("no password supplied", SemsearchError, "the server at {where} asks for a password.", PASSWORD),
    _Meaning("password authentication failed", SemsearchError, "the server at {where} refuses the password.", PASSWORD),
    _Meaning("no pg_hba.conf entry", SemsearchError, "the server at {where} lets this user not in from here.",
             "Add an entry to its pg_hba.conf, or use TLS."),
    _Meaning('role ".*" does not exist', SemsearchError, "the server at {where} does not know this user.",
             "Check the user of the address."),
    _Meaning('database ".*" does not exist', NotFound, "the server at {where} does not have this database.",
             "Create it with createdb, or check the address."),
    _Meaning("permission denied for database|is not permitted to log in", SemsearchError,
             "the server at {where} lets this user not into this database.",
             "It takes LOGIN, and CONNECT on the database."),
)  # fmt: skip
_FAILURES = (
    _Meaning("too many (clients|connections)|connection slots are reserved", SemsearchError,
             "the server at {where} has no room for another connection.", "Try again later, or raise max_connections."),
    _Meaning("the connection is closed", SemsearchError, _LOST, _TRY),
    _Meaning("server closed the connection", SemsearchError, _LOST, _TRY),
    _Meaning("terminating connection", SemsearchError, _LOST, _TRY),
    _Meaning("connection to server was lost", SemsearchError, _LOST, _TRY),
    _Meaning("EOF detected", SemsearchError, _LOST, _TRY),
)  # fmt: skip
_MEANINGS = (
    _Meaning((errors.DiskFull,), SemsearchError,
             "the disk of the server at {where} is full; what was not acknowledged is not stored.",
             "Free some space there, and run this again."),
    _Meaning((errors.LockNotAvailable, errors.DeadlockDetected), Locked,
             "another writer has locked what is to be changed.", "Wait until it has finished, and run this again."),
    _Meaning((errors.QueryCanceled,), SemsearchError, "a statement took too long on the server at {where}.", _TRY),
    _Meaning((errors.ReadOnlySqlTransaction,), SemsearchError,
             "the server at {where} is a standby, which cannot be written to.",
             "Name the primary, or several hosts and target_session_attrs=read-write."),
    _Meaning((errors.InvalidSchemaName, errors.UndefinedTable), NotFound,
             "its collection is no longer on the server at {where}.", "It may have been removed."),
    _Meaning((errors.InsufficientPrivilege,), SemsearchError,
             "this user may not do that on the server at {where}.",
             "To create takes CREATE on the database; to search, USAGE on the schema and SELECT on its tables."),
    _Meaning(_GOING, SemsearchError, "the server at {where} is shutting down or starting.", _TRY),
    _Meaning((errors.InvalidRegularExpression,), UsageError, "the path pattern is too long for PostgreSQL.",
             "Use a shorter one."),
    _Meaning((errors.StatementTooComplex,), UsageError, "the filter is too deep for PostgreSQL.",
             "Use fewer parentheses."),
    _Meaning((errors.TooManyConnections, errors.OutOfMemory, errors.ConfigurationLimitExceeded), SemsearchError,
             "the server at {where} has no room left.", "Try again later."),
)  # fmt: skip
_REASONS = (
    "Connection refused",
    "timeout expired",
    "No such file or directory",
    "could not translate host name",
    "the database system is starting up",
)


def explain(error: psycopg.Error, name: str, where: str) -> SemsearchError:
    """What an error of the client means for the index called `name`."""
    said = " ".join(str(error).split())
    of_libpq = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    for meaning in (*_REFUSALS, *_FAILURES) if of_libpq else _MEANINGS:
        if re.search(meaning.sign, said) if isinstance(meaning.sign, str) else isinstance(error, meaning.sign):
            return meaning.kind(f"index {name}: {meaning.message.format(where=where)}", meaning.fix)
    if of_libpq:
        reason = next((part for part in _REASONS if part in said), said.rpartition(": ")[2][:120])
        return SemsearchError(
            f"index {name}: no PostgreSQL server answers at {where} ({reason}).", "Check that it runs."
        )
    said = (error.diag.message_primary or said).rstrip(".")
    return SemsearchError(f"index {name}: the server at {where} says: {said}.", "Its log may say more.")
