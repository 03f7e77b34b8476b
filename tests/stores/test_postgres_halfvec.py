"""Vectors of half precision on PostgreSQL: the type that pgvector has from 0.7 on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from helpers.postgres import missing, new_database
from helpers.stores import DIM, entry, vectors_of

if TYPE_CHECKING:
    from scripts.shared.postgres_server import PostgresServer
    from semsearch.stores.postgres import PostgresWriter
    from semsearch.stores.records import Space

if missing():
    pytest.skip(missing(), allow_module_level=True)

from semsearch.stores import postgres as driver
from semsearch.stores.postgres import space_vectors
from semsearch.stores.postgres.server.schema import kind_of_vectors

COUNT = 400
QUERIES = vectors_of([f"query {number}" for number in range(20)])


@pytest.mark.parametrize(
    ("version", "kind"),
    [("0.5.1", "vector"), ("0.6.2", "vector"), ("0.7.0", "halfvec"), ("0.10.1", "halfvec"), ("1.0", "halfvec")],
)
def test_the_type_of_new_vectors_follows_from_the_version_of_pgvector(version: str, kind: str) -> None:
    assert kind_of_vectors(version) == kind


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    """The address of a new database on a server with halfvec."""
    sql = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
    if kind_of_vectors(found := postgres.sql(sql)) != "halfvec":
        pytest.skip(f"pgvector is {found} here, halfvec came with 0.7: SEMSEARCH_POSTGRES names other binaries")
    return new_database(postgres)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index from few vectors on."""
    monkeypatch.setattr(space_vectors.SpaceVectors, "INDEXED_FROM", 10)


def made(address: str, folder: Path) -> Iterator[tuple[PostgresWriter, Space]]:
    with driver.create(folder, address=address) as writer:
        space = writer.put_space(Space(0, "fingerprint", "stand-in", DIM, {"name": "stand-in"}))
        writer.replace([entry(f"d{number}", f"Engine {number}") for number in range(COUNT)], space.id)
        writer.update_vector_index(space.id, "auto")
        yield writer, space


def shared(writer: PostgresWriter, space: Space) -> float:
    """The share of the ten nearest of an exact search that the index finds, by way of the index."""
    found = writer.reader.dense(space.id, QUERIES, 10)
    assert found.plan["pass"] == "hnsw"
    exact = writer.reader.dense(space.id, QUERIES, 10, exact=True)
    assert np.allclose(found.cosines, exact.cosines, atol=0.02)
    return float(np.mean([len({*one} & {*other}) / 10 for one, other in zip(found.ids, exact.ids, strict=True)]))


def uses_index(writer: PostgresWriter, space: Space) -> bool:
    """Whether the server can answer from the index, with as few rows as here."""
    here = space_vectors.SpaceVectors(writer.connection, space.id)
    assert here.is_indexed()
    near = f"vector <=> '{[1] * DIM}'::{here.kind}({DIM})"
    with writer.transaction():
        writer.connection.execute("SET LOCAL enable_seqscan = off")
        rows = writer.connection.rows(f"EXPLAIN SELECT passage FROM {here.table} ORDER BY {near} LIMIT 10")
    return any(f"Index Scan using {here.index}" in line for (line,) in rows)


def test_new_vectors_and_their_index_have_half_precision_where_the_server_has_it(database: str, tmp_path: Path) -> None:
    for writer, space in made(database, tmp_path / "half"):
        here = space_vectors.SpaceVectors(writer.connection, space.id)
        assert here.kind == "halfvec" and here.is_indexed()
        assert shared(writer, space) >= 0.98 and uses_index(writer, space)
        assert "halfvec" in writer.reader.info()["spaces"][0]["why"]
        assert writer.reader.verify(lambda _: None) == []
