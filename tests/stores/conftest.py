"""Fixtures for the tests of stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers.stores import WIDE

from semsearch import Document, Index, admin

if TYPE_CHECKING:
    from scripts.shared.postgres_server import PostgresServer


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs a PostgreSQL server beyond the contract of stores, which runs on one too, is for `--scale`."""
    for item in items:
        if item.path.parent == Path(__file__).parent and "postgres" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.scale)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a test makes its store: not there yet."""
    return tmp_path / "notes"


@pytest.fixture(scope="module")
def address(postgres: PostgresServer) -> str:
    """The address of a database of the tests of a module."""
    from helpers.postgres import new_database

    return new_database(postgres)


@pytest.fixture
def shared(address: str, tmp_path: Path) -> Iterator[tuple[Index, Index]]:
    """One collection on two machines, with a document."""
    name = f"shared-{tmp_path.name}"
    with Index.create(name, encoder=WIDE, home=tmp_path / "a", store=f"postgres:{address}") as one:
        one.add([Document("d0", "Diesel engines ignite by compression.")])
        assert admin.link(name, f"postgres:{address}", tmp_path / "b")
        with Index.open(name, encoder=WIDE, home=tmp_path / "b") as two:
            yield one, two
