"""The PostgreSQL server that tests use: one for each test process, in a temporary folder, ended by its id."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from helpers.scripts import loaded

postgres_server = loaded("shared.postgres_server")
_numbers = itertools.count(1)
PATIENCE = 60.0  # seconds


def missing() -> str:
    """Why there can be no server; "" where there can."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed (the extra `scale`)"
    return "" if postgres_server.binaries() else "pgserver is not installed (the extra `dev`)"


class Addressed:
    """A driver whose new stores are all at one address, so that tests can call it like that of a local store."""

    def __init__(self, driver: Any, address: str) -> None:
        self._driver, self.address = driver, address

    def create(self, location: Path, fill: Callable[..., None] | None = None, /, *, address: str = "") -> Any:
        return self._driver.create(location, fill, address=address or self.address)

    def restore(self, file: Path, location: Path, prepare: Any, progress: Any, /, *, address: str = "") -> None:
        self._driver.restore(file, location, prepare, progress, address=address or self.address)

    def link(self, location: Path, address: str, /) -> bool:
        return bool(self._driver.link(location, address or self.address))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


def new_database(server: postgres_server.PostgresServer) -> str:
    """The address of a database of its own."""
    name = f"test{next(_numbers)}"
    server.sql(f"CREATE DATABASE {name}")
    return str(server.address(name))


def skip_without() -> None:
    if reason := missing():
        pytest.skip(reason)


class Other:
    """A call in another thread, as of another machine."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:
            self.error = error

    def ended(self) -> BaseException | None:
        """Its error, once it has ended; None for none."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        return self.error


def until_one_waits(postgres: postgres_server.PostgresServer, address: str) -> None:
    """Return when a session of this database waits for the lock of the spaces."""
    database = address.partition("///")[2].partition("?")[0]
    waiting = f"""SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
                  WHERE locktype = 'advisory' AND NOT granted AND datname = '{database}'"""
    end = time.monotonic() + PATIENCE
    while postgres.sql(waiting) == "0":
        assert time.monotonic() < end, "nobody waits"
