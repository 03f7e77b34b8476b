"""Whatever happens to the files of the caches, the answer is right, somebody is told, and nothing is deleted."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers.opened import DenseSearch, Store, check, open_newest, reader_of, rebuild, space_vectors, staleness
from helpers.vectorstores import add, new, some_vectors
from programme import record, trials

from semsearch import Document, Index
from semsearch.encoders.hashing import HashingEncoder
from semsearch.stores.local import LocalWriter, open_writer
from semsearch.stores.records import Space
from semsearch.vector_index import cache_files

Damage = Callable[[Path], None]
BACKENDS = ("flat", "compressed", "ivf", "exact")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """What makes a store with two caches of a back end, and passages newer than both, once for all tests."""

    @cache
    def once(backend: str) -> Path:
        store, space = new(tmp_path_factory.mktemp("built") / "notes", 800)
        for turn in range(2):
            rebuild(store, space, backend)
            add(store, space, 100, name=f"more{turn}", seed=turn + 1)
        store.close()
        return store.connection.folder

    return once


@pytest.fixture
def notes(tmp_path: Path, built: Callable[[str], Path], backend: str) -> Iterator[tuple[LocalWriter, Space]]:
    """A copy of it, and its space."""
    shutil.copytree(built(backend), tmp_path / "notes")
    with open_writer(tmp_path / "notes") as store:
        yield store, store.reader.state().spaces[0]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[random.Random(path.name).randrange(len(data))] ^= 1 << 3
    path.write_bytes(data)


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\0")


def empty(path: Path) -> None:
    os.truncate(path, 0)


def zero_the_middle(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 3)
        file.write(bytes(64) + b"\xff" * 64)


DAMAGES = [flip, truncate, append, empty, zero_the_middle]


def cases(*damages: Damage) -> pytest.MarkDecorator:
    """Every damage to a file of one back end, and one to those of the others: bytes are compared before any is read."""
    every = [("flat", damage) for damage in damages] + [(backend, flip) for backend in BACKENDS[1:]]
    return pytest.mark.parametrize(("backend", "damage"), every, indirect=["backend"])


def assert_right(store: Store, space: Space) -> dict[str, object]:
    """Every hit is alive with its true cosine, and the nearest ones are there; the plan of the search."""
    queries = some_vectors(30, seed=77)
    search = DenseSearch(store, space, small=-1)  # an index of this size is otherwise read from the store
    ids, scores, plan = search.search(queries, 10)
    stored = np.concatenate([part for _, part in reader_of(store).vectors(space.id)])
    known = np.concatenate([part for part, _ in reader_of(store).vectors(space.id)])
    for row, values, query in zip(ids, scores, queries, strict=True):
        assert np.isin(row, known).all() and len(set(row.tolist())) == 10
        np.testing.assert_allclose(values, stored[np.searchsorted(known, row)] @ query, atol=1e-6)
    tenth = -np.sort(-(queries @ stored.T), axis=1)[:, 9:10]
    assert (scores >= tenth - 1e-6).mean() >= 0.97
    return plan


@cases(*DAMAGES)
def test_a_damaged_cache_is_set_aside_and_the_one_before_answers(
    notes: tuple[LocalWriter, Space], damage: Damage
) -> None:
    store, space = notes
    newest, before = space_vectors(store, space).caches()
    damage(store.connection.folder / newest.file)
    damaged = (store.connection.folder / newest.file).read_bytes()
    plan = assert_right(store, space)
    assert (plan["pass"], plan["cached"], plan["delta"]) == ("cache+delta", before.count, 200)
    assert newest.file in plan["warnings"][0]
    (aside,) = store.connection.folder.glob("*.corrupt-*")
    assert aside.name.startswith(newest.file) and aside.read_bytes() == damaged
    assert not (store.connection.folder / newest.file).exists()
    record("damaged newest cache", 1, set_aside=1)


@cases(*DAMAGES, Path.unlink)
def test_without_a_sound_cache_the_store_answers_until_the_next_build(
    notes: tuple[LocalWriter, Space], backend: str, damage: Damage
) -> None:
    store, space = notes
    for row in space_vectors(store, space).caches():
        damage(store.connection.folder / row.file)
    plan = assert_right(store, space)
    assert plan["pass"] == "exact" and "without a cache" in plan["warnings"][-1]
    assert len(check(store, space)) == 2
    assert "missing" in str(staleness(store, space, backend))
    rebuild(store, space, backend)
    plan = assert_right(store, space)
    assert (plan["pass"], plan["cached"], plan["warnings"]) == ("cache+delta", 1000, [])
    assert check(store, space) == [] and len(space_vectors(store, space).caches()) == 1


def test_a_file_swapped_for_another_sound_one_is_not_used(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    newest, before = space_vectors(store, space).caches()
    (store.connection.folder / newest.file).write_bytes((store.connection.folder / before.file).read_bytes())
    assert assert_right(store, space)["cached"] == before.count


def test_every_flipped_bit_is_noticed(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    row = space_vectors(store, space).caches()[0]
    path = store.connection.folder / row.file
    whole = path.read_bytes()
    chance, count = random.Random(1), trials(60, 500)
    for _ in range(count):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        opened = open_newest(store, space)
        assert opened.record != row and len(opened.warnings) == 1
    path.write_bytes(whole)
    assert open_newest(store, space).record == row
    record("flipped bit in a cache", count, found=count)


def test_a_reader_that_may_not_rename_still_does_not_use_it(
    notes: tuple[LocalWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, space = notes
    newest, before = space_vectors(store, space).caches()
    flip(store.connection.folder / newest.file)
    monkeypatch.setattr(Path, "rename", _refused)
    assert assert_right(store, space)["cached"] == before.count
    assert (store.connection.folder / newest.file).exists()


def _refused(self: Path, target: Path) -> None:
    raise OSError(30, "Read-only file system")


def test_a_small_index_notices_a_damaged_cache_too(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder=HashingEncoder(), backend="flat") as index:
        index.add([Document("a", "Diesel engines ignite by compression."), Document("b", "Bread needs salt.")])
    (cache,) = (tmp_path / "notes").glob(cache_files.FILES)
    damaged = bytearray(cache.read_bytes())
    damaged[-1] ^= 1
    cache.write_bytes(damaged)
    with Index.open(tmp_path / "notes", encoder=HashingEncoder()) as index:
        found = index.search("diesel", k=1)
    assert found[0].document == "a"
    assert any("cache" in warning for warning in found.warnings)
    assert not cache.exists()
    assert len(list((tmp_path / "notes").glob("*.corrupt-*"))) == 1
