"""Vectors by id: the same whatever was read before, wherever their rows are, and none twice in a snapshot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.stores import entry, made, vectors_of

from semsearch.stores.local import LocalWriter, open_reader, space_vectors
from semsearch.stores.local.database.connection import Connection
from semsearch.stores.local.space_vectors import VectorRows
from semsearch.stores.records import Space


def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The passages whose vectors are read from the store from now on."""
    found: list[int] = []
    read = VectorRows._from_store

    def spied(rows: VectorRows, connection: Connection, space: int, ids: list[int], dim: int) -> object:
        found.extend(ids)
        return read(rows, connection, space, ids, dim)

    monkeypatch.setattr(VectorRows, "_from_store", spied)
    return found


def filled(folder: Path) -> tuple[LocalWriter, int]:
    """Two spaces, whose vectors take turns, and documents that were removed: no row has the number of its passage."""
    store, space = made(folder, 20)
    other = store.put_space(Space(0, "other", "stand-in", 16, {})).id
    store.put_vectors(other, np.arange(1, 30), vectors_of([str(n) for n in range(1, 30)]))
    store.delete([f"d{n}" for n in range(3, 20, 4)])
    store.replace([entry(f"new {n}", f"Text {n}. And more of {n}") for n in range(10)], space.id)
    return store, other


@pytest.mark.parametrize("kept_bytes", [space_vectors.KEPT_BYTES, 1_000])
def test_vectors_by_id_are_those_of_reading_them_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kept_bytes: int
) -> None:
    monkeypatch.setattr(space_vectors, "KEPT_BYTES", kept_bytes)
    store, other = filled(folder)
    random = np.random.default_rng(1)
    for space in (1, other):
        every, rows = next(store.reader.vectors(space))
        for _ in range(5):
            with store.reader.snapshot():
                for _ in range(6):
                    wanted = random.integers(0, 80, size=random.integers(1, 40))
                    found = list(store.reader.vectors(space, ids=wanted))
                    ids, vectors = found[0] if found else (every[:0], rows[:0])
                    assert ids.tolist() == sorted(set(wanted.tolist()) & set(every.tolist()))
                    assert np.array_equal(vectors, rows[np.isin(every, ids)])


def test_a_snapshot_reads_no_vector_twice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, space = made(folder, 20)
    read = asked(monkeypatch)
    with open_reader(store.connection.folder) as reader, reader.snapshot():
        query = vectors_of(["Engine number 3 runs"])
        near = reader.dense(space.id, query, 10, reader.allowed(None, ids=np.arange(1, 31))).ids[0]
        for ids in (near, np.arange(1, 41), np.arange(1, 41)):
            list(reader.vectors(space.id, ids=ids))
    assert sorted(read) == sorted(set(read)) == list(range(1, 41))


def test_the_next_snapshot_sees_what_was_written_meanwhile(folder: Path) -> None:
    store, space = made(folder, 5)
    with open_reader(store.connection.folder) as reader:
        ids = np.arange(1, 11)
        with reader.snapshot():
            ((_, before),) = reader.vectors(space.id, ids=ids)
            store.put_vectors(space.id, ids[:1], -before[:1])
            ((_, same),) = reader.vectors(space.id, ids=ids)
            assert np.array_equal(before, same)
        with reader.snapshot():
            ((_, after),) = reader.vectors(space.id, ids=ids)
        assert np.allclose(after[0], -before[0], atol=1e-3) and np.array_equal(after[1:], before[1:])


def test_a_transaction_sees_its_own_vectors(folder: Path) -> None:
    store, space = made(folder, 5)
    ids = np.arange(1, 11)
    with store.transaction():
        ((_, before),) = store.reader.vectors(space.id, ids=ids)
        store.put_vectors(space.id, ids[:1], -before[:1])
        ((_, after),) = store.reader.vectors(space.id, ids=ids)
    assert np.allclose(after[0], -before[0], atol=1e-3)
