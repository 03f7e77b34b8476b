"""The PostgreSQL server that tests use: one for each test process, in a temporary folder, ended by its id."""

from __future__ import annotations

import itertools
from importlib.util import find_spec

import pytest

from helpers.scripts import loaded

postgres_server = loaded("postgres_server")
_numbers = itertools.count(1)


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
