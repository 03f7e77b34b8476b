"""The recipe, the caches and the runs of a store, and compacting."""

from __future__ import annotations

from pathlib import Path

from helpers.opened import space_vectors, verify
from helpers.stores import contents, entry, made

from semsearch.stores.local import open_reader, open_writer
from semsearch.vector_index.cache_files import CacheFile


def test_caches_are_listed_newest_first(folder: Path) -> None:
    store, space = made(folder)
    rows = [store.add_cache(CacheFile(0, space.id, f"c{n}", 1, "ab", 0, 2, "Flat", "1.15", "why")) for n in range(3)]
    assert space_vectors(store, space).caches() == rows[::-1]
    assert len({row.id for row in rows}) == 3
    store.drop_cache(rows[1].id)
    assert [row.file for row in space_vectors(store, space).caches()] == ["c2", "c0"]


def test_compacting_gives_the_room_back_and_keeps_everything(folder: Path) -> None:
    store, space = made(folder, 5)
    store.replace([entry(f"big{n}", f"{n} " + "word " * 300) for n in range(300)], space.id)
    store.delete([f"big{n}" for n in range(300)])
    store.close()
    store = open_writer(folder)
    before, kept = (folder / "store.db").stat().st_size, contents(store)
    with open_reader(folder) as reader, reader.snapshot():
        store.compact()
    store.compact()
    assert (folder / "store.db").stat().st_size < before / 2
    assert contents(store) == kept
    assert verify(store) == []
