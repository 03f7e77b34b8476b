"""While a long run goes on, searches have a vector cache that covers at least half of what is stored, and follow it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.opened import DenseSearch, space_vectors
from helpers.vectorstores import add, new, some_vectors, truth

from semsearch import Document, Index
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import SemsearchError
from semsearch.indexing.ingest import BATCH, FIRST, LOOKED_UP
from semsearch.stores.local import LocalWriter, open_reader
from semsearch.stores.local.space_vectors import SpaceVectors
from semsearch.vector_index.cache_files import DELTA, DELTA_SHARE, CacheFile, has_grown

CACHED = {"small": -1}  # a small index would be read from the store


def cache(count: int, highest_id: int) -> CacheFile:
    return CacheFile(1, 1, "vectors-1", 1, "", highest_id, count, "flat Flat", "", "")


@pytest.mark.parametrize(
    ("newest", "highest_id", "share", "due"),
    [
        (None, DELTA, 1.0, False),
        (None, DELTA + 1, 1.0, True),
        (cache(50_000, 60_000), 110_000, 1.0, False),
        (cache(50_000, 60_000), 110_001, 1.0, True),
        (cache(50_000, 60_000), 70_001, DELTA_SHARE, True),
        (cache(1_000_000, 1_000_000), 1_050_000, DELTA_SHARE, False),
    ],
)
def test_a_cache_is_due_when_as_many_are_newer(
    newest: CacheFile | None, highest_id: int, share: float, due: bool
) -> None:
    assert has_grown(newest, highest_id, share) == due


def test_a_doubled_store_gets_a_cache_and_nothing_is_read_to_find_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    vectors, after = SpaceVectors.vectors, SpaceVectors.count_after
    monkeypatch.setattr(SpaceVectors, "vectors", lambda *a, **k: (read.append(1), vectors(*a, **k))[1])
    monkeypatch.setattr(SpaceVectors, "count_after", lambda *a: (read.append(1), after(*a))[1])
    store, space = new(tmp_path / "notes")
    with store:
        add(store, space, DELTA, each=1000)
        store.update_vector_index(space.id, "auto", when="doubled")
        assert (space_vectors(store, space).caches(), read) == ([], [])
        add(store, space, 1, name="more")
        store.update_vector_index(space.id, "auto", when="doubled")
        assert [record.count for record in space_vectors(store, space).caches()] == [DELTA + 1]
        read.clear()
        add(store, space, 300, name="yet more", each=100)
        for when in ("grown", "doubled"):
            store.update_vector_index(space.id, "auto", when=when)
        assert read == []


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked for at each update of a vector index; each is made, and inside no transaction."""
    asked: list[str] = []
    update = LocalWriter.update_vector_index

    def always(self: LocalWriter, space: int, backend: str, *, when: Any = "due") -> None:
        assert not self.connection.raw.in_transaction
        asked.append(when)
        update(self, space, "flat", when="always")

    monkeypatch.setattr(LocalWriter, "update_vector_index", always)
    return asked


def documents(count: int) -> Iterator[Document]:
    return (Document(f"d{n}", f"The engine {n} turns.") for n in range(count))


def test_every_commit_of_a_run_is_an_occasion(tmp_path: Path, updates: list[str]) -> None:
    with Index.create(tmp_path / "index", encoder=HashingEncoder(dim=32)) as index:
        index.add(documents(1200))
    assert updates == [
        "grown",
        "grown",
        "doubled",
        "doubled",
        "doubled",
        "due",
    ]  # grown: the null distribution is measured too


def test_an_open_reader_takes_up_what_was_committed_and_each_new_cache(tmp_path: Path, updates: list[str]) -> None:
    encoder = HashingEncoder(dim=32)
    seen: list[tuple[int, int]] = []
    with Index.create(tmp_path / "index", encoder=encoder) as index, open_reader(tmp_path / "index") as reader:
        search = DenseSearch(reader, 1, **CACHED)  # type: ignore[arg-type]

        def watched() -> Iterator[Document]:
            for document in documents(1200):
                number = int(document.id[1:])
                if number % BATCH == LOOKED_UP:  # the first batch, a smaller one, and others were committed
                    query = encoder.encode([f"The engine {number - LOOKED_UP + FIRST - 1} turns."], role="query")
                    _, cosines, plan = search.search(query, 1)
                    assert cosines[0, 0] > 0.99
                    seen.append((plan["cached"], plan["cached"] + plan["delta"]))
                yield document

        index.add(watched())
    assert seen == [(n, n) for n in range(FIRST, 1200, BATCH)] and len(updates) == 6


def test_a_cache_of_an_earlier_run_serves_with_what_was_added_and_without_what_was_deleted(tmp_path: Path) -> None:
    store, space = new(tmp_path / "notes", 500)
    with store, open_reader(tmp_path / "notes") as reader:
        store.update_vector_index(space.id, "flat", when="always")
        search, queries = DenseSearch(reader, space, **CACHED), some_vectors(20, seed=5)
        add(store, space, 2000, name="new", seed=1)  # four times the cache: far beyond what a run's end leaves
        store.delete(["d0", "d300", "new100"])
        ids, _, plan = search.search(queries, 10)
        assert (plan["cached"], plan["delta"], plan["pass"]) == (500, 1900, "cache+delta")
        assert ids.tolist() == truth(store, space, queries, 10)


def test_a_cache_that_cannot_be_written_does_not_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fails(self: LocalWriter, space: int, backend: str, *, when: Any = "due") -> None:
        asked.append(when)
        raise SemsearchError("the disk is full.")

    monkeypatch.setattr(LocalWriter, "update_vector_index", fails)
    with Index.create(tmp_path / "index", encoder=HashingEncoder(dim=32)) as index:
        report = index.add(documents(1200))
        assert (report.added, len(index)) == (1200, 1200)
    assert len(asked) == 2 and asked[-1] == "due"  # once on the way, and once more at the end
    assert ["the disk is full" in warning for warning in report.warnings] == [True, True]


def test_a_damaged_vector_is_named(tmp_path: Path) -> None:
    store, space = new(tmp_path / "notes", 300)
    with store:
        for damage in ("zeroblob(32)", "zeroblob(30)", "'text'"):
            with store.transaction():
                store.connection.execute(f"UPDATE vectors SET vector = CAST({damage} AS BLOB) WHERE passage = 42")
            with pytest.raises(SemsearchError, match="the vector of passage 42 is damaged"):
                list(space_vectors(store, space).vectors())
