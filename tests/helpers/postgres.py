"""The PostgreSQL server that tests use: one for each test process, in a temporary folder, ended by its id."""

from __future__ import annotations

import itertools
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from helpers.scripts import loaded

postgres_server = loaded("postgres_server")
_numbers = itertools.count(1)


class Addressed:
    """A driver whose new stores are all at one address, for tests that call it like that of a local store."""

    def __init__(self, driver: Any, address: str) -> None:
        self._driver, self._address = driver, address

    def create(self, location: Path, fill: Any = None, /, *, address: str = "") -> Any:
        return self._driver.create(location, fill, address=address or self._address)

    def restore(self, file: Path, location: Path, prepare: Any, progress: Any, /) -> None:
        self._driver.restore(file, location, prepare, progress, address=self._address)

    def link(self, location: Path, address: str, /) -> bool:
        return bool(self._driver.link(location, address or self._address))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


def missing() -> str:
    """Why there can be no server; "" where there can."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed (the extra `scale`)"
    return "" if postgres_server.binaries() else "pgserver is not installed (the extra `dev`)"


def new_database(server: postgres_server.PostgresServer) -> str:
    """The address of a database of its own."""
    name = f"test{next(_numbers)}"
    server.sql(f"CREATE DATABASE {name}")
    return str(server.address(name))


def skip_without() -> None:
    if reason := missing():
        pytest.skip(reason)
