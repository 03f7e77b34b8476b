"""Caches are switched to by one commit, rebuilt when due and not before, and the last good one is kept."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.opened import check, open_newest, rebuild, space_vectors, staleness
from helpers.vectorstores import add, entry, new, some_vectors

from semsearch.errors import SemsearchError, UnknownName
from semsearch.stores.local import LocalWriter, open_reader
from semsearch.stores.local.space_vectors import SpaceVectors
from semsearch.stores.records import Space
from semsearch.vector_index import cache_files, planner


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[tuple[LocalWriter, Space]]:
    store, space = new(tmp_path / "notes", 500)
    yield store, space
    store.close()


def files(store: LocalWriter) -> set[str]:
    return {path.name for path in store.connection.folder.glob("vectors-*")}


def test_a_cache_is_built_once_searches_would_open_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "SMALL", 10)
    store, space = new(tmp_path / "notes")

    def shown() -> tuple[str | None, str, str]:
        info = store.reader.info()["spaces"][0]
        return staleness(store, space), info["backend"], info["why"]

    with store:
        assert shown() == (None, "exact", "empty")
        add(store, space, 10)
        assert shown() == (None, "exact", "10 vectors; read from the store up to 10")
        for when in ("due", "always"):
            store.update_vector_index(space.id, "auto", when=when)
            assert files(store) == set()
        assert staleness(store, space, "flat") == "there is no cache yet"  # whoever names one gets it
        add(store, space, 1, name="one")
        assert shown() == ("there is no cache yet", "exact", "11 vectors; there is no cache yet")
        store.update_vector_index(space.id, "auto")
        assert shown()[:2] == (None, "flat Flat") and len(files(store)) == 1


def test_the_cache_that_an_earlier_version_made_of_a_small_index_is_kept_up(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    row = rebuild(store, space, "flat")
    store.update_vector_index(space.id, "auto")
    assert [one.file for one in space_vectors(store, space).caches()] == [row.file]
    (store.connection.folder / row.file).unlink()
    store.update_vector_index(space.id, "auto")
    assert open_newest(store, space).warnings == () and check(store, space) == []


def test_a_cache_of_nothing_can_be_built(tmp_path: Path) -> None:
    store, space = new(tmp_path / "notes")
    with store:
        row = rebuild(store, space)
        assert (row.count, row.highest_id) == (0, 0)
        backend = open_newest(store, space).index
        assert backend is not None and len(backend) == 0
        assert check(store, space) == []


@pytest.mark.parametrize("backend", ["exact", "flat", "compressed", "ivf"])
def test_a_cache_holds_every_vector_of_its_snapshot(notes: tuple[LocalWriter, Space], backend: str) -> None:
    store, space = notes
    store.delete(["d100"])
    row = rebuild(store, space, backend)
    opened = open_newest(store, space)
    assert opened.record == row and opened.warnings == ()
    assert opened.index is not None
    np.testing.assert_array_equal(opened.index.ids, np.concatenate([ids for ids, _ in store.reader.vectors(space.id)]))
    assert row.backend == opened.index.name == backend
    assert f"-{row.highest_id}-" in row.file and f"-{space.id}-" in row.file
    assert (store.connection.folder / row.file).stat().st_size == row.bytes
    assert backend in row.why and "400 vectors" in row.why
    assert check(store, space) == []


def test_the_planner_chooses_for_auto(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    row, many = rebuild(store, space), 100_000
    assert cache_files.choose("auto", 500, space.dim).backend == row.backend and staleness(store, space) is None
    reason = cache_files.staleness(store.connection.folder, replace(row, count=many), many, 0, space.dim, "auto")
    assert reason == "the cache is flat, and ivf is wanted"
    assert cache_files.choose("auto", many, space.dim).backend == "ivf"


def test_a_cache_of_an_older_version_is_passed_over_and_built_again(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    row = rebuild(store, space, "ivf")
    path = store.connection.folder / row.file
    path.write_bytes(path.read_bytes().replace(b"semsearch vectors 2 ", b"semsearch vectors 1 ", 1))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    store.drop_cache(row.id)
    store.add_cache(replace(row, sha256=digest, spec="ivf RR16,IVF8,RaBitQfs,Refine(SQ8)"))
    opened = open_newest(store, space)
    assert opened.index is None and "older version" in opened.warnings[0] and path.exists()
    assert "older version" in str(staleness(store, space, "ivf"))
    rebuild(store, space, "ivf")
    assert open_newest(store, space).warnings == () and staleness(store, space, "ivf") is None


def test_another_wanted_backend_is_a_reason_to_rebuild(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    rebuild(store, space)
    assert staleness(store, space, "ivf") == "the cache is flat, and ivf is wanted"
    store.change_recipe(lambda _: {"backend": "exact"})
    assert staleness(store, space) == "the cache is flat, and exact is wanted"
    rebuild(store, space, "exact")
    assert staleness(store, space) is None


def test_ten_more_documents_do_not_rebuild_a_large_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_files, "DELTA", cache_files.DELTA // 10)
    store, space = new(tmp_path / "notes", 6_000)
    with store:
        built = rebuild(store, space)
        add(store, space, 10, name="more", each=1)
        assert staleness(store, space) is None
        assert space_vectors(store, space).caches() == [built]
        add(store, space, cache_files.DELTA - 10, name="many", each=1000)
        assert staleness(store, space) is None
        add(store, space, 1, name="one")
        assert staleness(store, space) == "1,001 passages are newer than the cache of 6,000"


def test_dead_passages_beyond_a_fifth_are_a_reason_to_rebuild(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    rebuild(store, space)
    store.delete(["d0"])
    assert staleness(store, space) is None
    store.replace([entry("d100", some_vectors(3))], space.id)
    assert staleness(store, space) == "200 of 500 cached passages are deleted"


def test_a_missing_or_short_file_is_a_reason_to_rebuild(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    path = store.connection.folder / rebuild(store, space).file
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert "missing or truncated" in str(staleness(store, space))
    path.unlink()
    assert "missing or truncated" in str(staleness(store, space))


def test_the_newest_two_files_are_kept_and_no_name_comes_twice(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    seen: list[str] = []
    for _ in range(4):
        seen.append(rebuild(store, space).file)
        assert files(store) == set(seen[-2:])
        assert [row.file for row in space_vectors(store, space).caches()] == seen[:-3:-1]
    assert len(set(seen)) == 4


def test_what_a_killed_process_left_is_removed_by_the_next_build(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    left = ["vectors-1-77-aaaaaaaa.cache", "vectors-1-77-bbbbbbbb.cache.tmp"]
    left += ["vectors-2-5-dddddddd.cache"]  # of a space that is gone
    kept = ["vectors-1-77-cccccccc.cache.corrupt-20250101T000000", "other.cache"]
    for name in left + kept:
        (store.connection.folder / name).write_bytes(b"x")
    row = rebuild(store, space)
    assert all((store.connection.folder / name).exists() for name in [*kept, row.file])
    assert not any((store.connection.folder / name).exists() for name in left)


def test_a_build_that_fails_leaves_the_present_cache(
    notes: tuple[LocalWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, space = notes
    row = rebuild(store, space)
    before = files(store)
    monkeypatch.setattr(os, "fsync", _full_disk)
    with pytest.raises(SemsearchError, match="could not be written"):
        rebuild(store, space)
    assert space_vectors(store, space).caches() == [row] and files(store) == before
    with pytest.raises(UnknownName, match="backend"):
        rebuild(store, space, "fiass")


def _full_disk(handle: int) -> None:
    raise OSError(28, "No space left on device")


def test_every_step_is_synced_before_the_switch(
    notes: tuple[LocalWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order on disk is file, folder, row: cut at any point, there is a complete cache or the one before."""
    store, space = notes
    steps: list[str] = []
    sync, rename, switch = os.fsync, Path.rename, LocalWriter.add_cache

    def synced(handle: int) -> None:
        steps.append("sync folder" if Path(f"/proc/self/fd/{handle}").resolve().is_dir() else "sync file")
        sync(handle)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", lambda self, target: (steps.append("rename"), rename(self, target))[1])
    monkeypatch.setattr(LocalWriter, "add_cache", lambda self, row: (steps.append("switch"), switch(self, row))[1])
    rebuild(store, space)
    assert steps[:4] == ["sync file", "rename", "sync folder", "switch"]
    assert set(steps[4:]) <= {"sync file"}  # of the record of commits


def test_a_reader_can_open_while_a_writer_switches(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    rebuild(store, space)
    with open_reader(store.connection.folder) as reader, reader.snapshot():
        old = space_vectors(reader, space).caches()[0]
        rebuild(store, space)
        opened = open_newest(reader, space)
        assert opened.record == old and opened.warnings == ()


def test_check_accepts_passages_that_came_and_went_since(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    rebuild(store, space)
    add(store, space, 20, name="new", seed=4)
    store.delete(["d100"])
    assert check(store, space) == []


def test_check_finds_a_row_that_claims_more_than_its_file(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    row = rebuild(store, space)
    add(store, space, 20, name="new", seed=4)
    store.drop_cache(row.id)
    store.add_cache(replace(row, highest_id=520))
    assert "highest id" in check(store, space)[0]
    assert open_newest(store, space).index is None


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda ids, vectors: (ids[ids % 50 != 7], vectors[ids % 50 != 7]), "10 stored vectors are not in it"),
        (lambda ids, vectors: (ids, -vectors), "do not find themselves"),
    ],
)
def test_check_finds_a_cache_that_was_built_wrongly(
    notes: tuple[LocalWriter, Space], monkeypatch: pytest.MonkeyPatch, spoil: Callable[..., object], problem: str
) -> None:
    store, space = notes
    honest = SpaceVectors.vectors
    with monkeypatch.context() as patch:
        patch.setattr(
            SpaceVectors, "vectors", lambda *given, **options: (spoil(*each) for each in honest(*given, **options))
        )
        rebuild(store, space)
    (found,) = check(store, space)
    assert problem in found


def test_a_file_name_that_leads_elsewhere_is_not_followed(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    row = rebuild(store, space)
    (store.connection.folder / row.file).rename(store.connection.folder.parent / "elsewhere.cache")
    store.drop_cache(row.id)
    store.add_cache(replace(row, file="../elsewhere.cache"))
    opened = open_newest(store, space)
    assert opened.index is None and "not the name of a file" in opened.warnings[0]
    assert (store.connection.folder.parent / "elsewhere.cache").exists()


def test_threads_that_share_the_store_go_on_while_a_cache_is_built(
    notes: tuple[LocalWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, space = notes
    answered: list[int] = []

    read = SpaceVectors.vectors

    def ask(*given: Any, **options: Any) -> Any:
        asking = threading.Thread(target=lambda: answered.append(store.reader.state().passages), daemon=True)
        asking.start()
        asking.join(60)
        assert not asking.is_alive(), "a reader waits for the cache to be built"
        return read(*given, **options)

    monkeypatch.setattr(SpaceVectors, "vectors", ask)
    row = rebuild(store, space, "flat")
    assert row.count == store.reader.state().vectors[space.id] and set(answered) == {store.reader.state().passages}
