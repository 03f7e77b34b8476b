"""DenseSearch answers like brute force over the store, whatever the cache holds and however it got old."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import numpy as np
import pytest
from helpers.opened import DenseSearch, rebuild, space_vectors
from helpers.vectorstores import add, entry, new, some_vectors, truth
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from semsearch.errors import SemsearchError
from semsearch.stores.local import LocalWriter, open_reader, open_writer
from semsearch.stores.records import Space
from semsearch.vector_index.backends import _top

if TYPE_CHECKING:
    from semsearch.types import Ids, Vectors

BACKENDS = ["exact", "flat", "compressed", "ivf"]
ROUNDING = 2e-3  # a stored vector is fp16


ALWAYS_CACHED = {"small": -1, "subset": -1}  # small indexes go through their cache too, and small sets of allowed ids


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | None], Path]:
    """The folder of a store of 3,000 passages with a cache of this back end, or none."""

    @cache
    def once(backend: str | None) -> Path:
        folder = tmp_path_factory.mktemp("built") / "notes"
        store, space = new(folder, 3000)
        if backend:
            rebuild(store, space, backend)
        store.close()
        return folder

    return once


@pytest.fixture
def notes(
    tmp_path: Path, built: Callable[[str | None], Path], request: pytest.FixtureRequest
) -> Iterator[tuple[LocalWriter, Space]]:
    """A copy of it with a cache of the `backend` of the test, where it has one, and its space."""
    backend = request.node.callspec.params.get("backend") if hasattr(request.node, "callspec") else None
    with open_writer(copytree(built(backend), tmp_path / "notes")) as store:
        yield store, store.reader.state().spaces[0]


def found(search: DenseSearch, queries: np.ndarray, k: int, allowed: np.ndarray | None = None) -> list[list[int]]:
    return [[one for one in row if one >= 0] for row in search.search(queries, k, allowed)[0].tolist()]


def share_of(got: list[list[int]], right: list[list[int]]) -> float:
    hits = sum(len(set(a) & set(b)) for a, b in zip(got, right, strict=True))
    return hits / max(1, sum(map(len, right)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("share", [None, 0.5, 0.05])
def test_hits_are_alive_new_ones_included_and_nearly_all_right(
    notes: tuple[LocalWriter, Space], backend: str, share: float | None
) -> None:
    store, space = notes
    search = DenseSearch(store, space, **ALWAYS_CACHED)
    queries = some_vectors(40, seed=7)
    found(search, queries, 10)
    store.delete([f"d{at}" for at in range(0, 3000, 300)])
    add(store, space, 400, name="new", seed=3)
    store.replace([entry("d100", some_vectors(90, seed=4))], space.id)
    everything = np.concatenate([ids for ids, _ in store.reader.vectors(space.id)])
    allowed = None if share is None else everything[np.random.default_rng(0).random(len(everything)) < share]
    right = truth(store, space, queries, 10, None if allowed is None else allowed.tolist())
    got = found(search, queries, 10, allowed)
    assert all(len(row) == 10 and len(set(row)) == 10 for row in got)
    assert space_vectors(store, 1).existing(np.unique(got)).all()
    assert allowed is None or np.isin(got, allowed).all()
    assert share_of(got, right) >= (0.97 if backend in ("compressed", "ivf") else 0.999)


@pytest.mark.parametrize("backend", BACKENDS)
def test_scores_are_the_cosines_of_the_stored_vectors(notes: tuple[LocalWriter, Space], backend: str) -> None:
    store, space = notes
    add(store, space, 100, name="new", seed=3)
    queries = some_vectors(5, seed=8)
    ids, scores, plan = DenseSearch(store, space, **ALWAYS_CACHED).search(queries, 30)
    assert plan["pass"] == "cache+delta" and plan["backend"].startswith(backend)
    assert (plan["cached"], plan["delta"]) == (3000, 100)
    for row, values, query in zip(ids, scores, queries, strict=True):
        stored = dict(zip(*(part.tolist() for part in next(store.reader.vectors(space.id, ids=row))), strict=True))
        np.testing.assert_allclose(values, [np.array(stored[one]) @ query for one in row.tolist()], atol=1e-6)
        assert (np.diff(values) <= 0).all()


def test_a_cache_of_mostly_dead_passages_still_fills_the_list(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    rebuild(store, space, "flat")
    store.delete([f"d{at}" for at in range(0, 2900, 100)])
    ids, _, plan = DenseSearch(store, space, **ALWAYS_CACHED).search(some_vectors(3), 100)
    assert (ids >= 0).all() and (ids > 2900).all()
    assert plan["fetched"] > 220


@pytest.mark.parametrize("backend", ["compressed"])
@pytest.mark.parametrize("cached", [True, False])
def test_exact_and_small_subsets_are_exact(notes: tuple[LocalWriter, Space], backend: str, cached: bool) -> None:
    store, space = notes
    search, queries = DenseSearch(store, space, small=-1 if cached else 10_000), some_vectors(20, seed=9)
    ids, _, plan = search.search(queries, 10, exact=True)
    assert ids.tolist() == truth(store, space, queries, 10) and plan["pass"] == "exact"
    some = np.arange(5, 3000, 13)
    ids, _, plan = search.search(queries, 10, some)
    assert ids.tolist() == truth(store, space, queries, 10, some.tolist()) and plan["pass"] == "exact subset"
    ids, _, _ = search.search(queries, 10, np.arange(1, 2500), exact=True)
    assert ids.tolist() == truth(store, space, queries, 10, range(1, 2500))


def test_a_subset_that_stays_in_memory_follows_every_commit(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    allowed = np.arange(1, 900)
    allowed.flags.writeable = False
    search, queries = DenseSearch(store, space), some_vectors(5, seed=9)
    for gone in ([], ["d0"], ["d100", "d300"]):
        store.delete(gone)
        for _ in range(2):
            ids, _, plan = search.search(queries, 10, allowed)
            assert plan["pass"] == "exact subset"
            assert ids.tolist() == truth(store, space, queries, 10, allowed.tolist())


@pytest.mark.parametrize("backend", ["compressed", "ivf"])
def test_a_filter_that_passes_only_what_is_far_away_is_answered(notes: tuple[LocalWriter, Space], backend: str) -> None:
    store, space = notes
    ids, vectors = (np.concatenate(part) for part in zip(*store.reader.vectors(space.id), strict=True))
    query = some_vectors(1, seed=3)
    allowed = np.sort(ids[np.argsort(vectors @ query[0])[:60]])
    got = found(DenseSearch(store, space, **ALWAYS_CACHED), query, 10, allowed)
    assert got == truth(store, space, query, 10, allowed.tolist())


@pytest.mark.parametrize("exact", [True, False])
def test_k_beyond_the_size_and_an_empty_index_pad(tmp_path: Path, exact: bool) -> None:
    store, space = new(tmp_path / "empty")
    with store:
        ids, scores, _ = DenseSearch(store, space).search(some_vectors(2), 5, exact=exact)
        assert (ids == -1).all() and (scores == -np.inf).all() and ids.shape == (2, 5)
        add(store, space, 3)
        ids, scores, _ = DenseSearch(store, space).search(some_vectors(2), 5, exact=exact)
        assert ((ids > 0).sum(axis=1) == 3).all() and (ids[:, 3:] == -1).all()
        nobody = np.empty(0, dtype=np.int64)
        assert (DenseSearch(store, space).search(some_vectors(2), 5, nobody, exact=exact)[0] == -1).all()


def test_a_reader_follows_the_commits_of_a_writer(tmp_path: Path) -> None:
    store, space = new(tmp_path / "notes", 500)
    with store, open_reader(tmp_path / "notes") as readable:
        reader = DenseSearch(readable, space)
        fresh = some_vectors(1, seed=1234)
        assert reader.search(fresh, 1)[1][0, 0] < 0.99
        store.replace([entry("fresh", fresh)], space.id)
        assert reader.search(fresh, 1)[1][0, 0] == pytest.approx(1, abs=ROUNDING)
        rebuild(store, space, "flat")
        assert reader.search(fresh, 1)[1][0, 0] == pytest.approx(1, abs=ROUNDING)
        store.delete(["fresh"])
        assert reader.search(fresh, 1)[1][0, 0] < 0.99


def test_a_tail_too_long_for_memory_is_read_from_the_store(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    rebuild(store, space, "flat")
    add(store, space, 500, name="new", seed=3)
    queries = some_vectors(10, seed=2)
    ids, _, plan = DenseSearch(store, space, **ALWAYS_CACHED, most_buffered=1000).search(queries, 10)
    assert ids.tolist() == truth(store, space, queries, 10) and "delta" not in plan


def test_memory_of_an_exact_pass_does_not_grow_with_the_queries(
    notes: tuple[LocalWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, space = notes
    best, scores_at_once = _top.best, []

    def watched(ids: Ids, scores: Vectors, k: int) -> tuple[Ids, Vectors]:
        scores_at_once.append(scores.size)
        return best(ids, scores, k)

    monkeypatch.setattr(_top, "BLOCK", 1 << 12)
    monkeypatch.setattr(_top, "best", watched)
    queries = some_vectors(300, seed=2)
    ids, _, _ = DenseSearch(store, space).search(queries, 3, exact=True)
    monkeypatch.setattr(_top, "best", best)
    assert ids.tolist() == truth(store, space, queries, 3)
    everything = 300 * store.reader.state().vectors[space.id]
    assert max(scores_at_once) <= 300 * 256 < everything == sum(scores_at_once)


def test_a_query_of_another_width_is_refused(notes: tuple[LocalWriter, Space]) -> None:
    with pytest.raises(SemsearchError, match="query"):
        DenseSearch(*notes).search(some_vectors(1, dim=8), 3)


class AgedIndex(RuleBasedStateMachine):
    """Any order of adding, replacing, deleting, rebuilding and reopening answers like brute force."""

    @initialize()
    def start(self) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.store, self.space = new(Path(self.folder.name) / "notes", 60)
        self.search = DenseSearch(self.store, self.space, **ALWAYS_CACHED)
        self.seed = 0

    @rule(document=st.integers(0, 8), count=st.integers(0, 30))
    def put(self, document: int, count: int) -> None:
        self.seed += 1
        self.store.replace([entry(f"d{document}", some_vectors(count, seed=self.seed))], self.space.id)

    @rule(document=st.integers(0, 8))
    def delete(self, document: int) -> None:
        self.store.delete([f"d{document}"])

    @rule(backend=st.sampled_from(["exact", "flat"]))
    def rebuild(self, backend: str) -> None:
        rebuild(self.store, self.space, backend)

    @rule()
    def reopen(self) -> None:
        self.search = DenseSearch(self.store, self.space, **ALWAYS_CACHED)

    @invariant()
    def answers_like_brute_force(self) -> None:
        queries = some_vectors(2, seed=5)
        assert found(self.search, queries, 7) == truth(self.store, self.space, queries, 7)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


def test_any_history_answers_like_brute_force() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(AgedIndex, settings=settings(stateful_step_count=15))  # type: ignore[no-untyped-call]


def test_a_small_index_is_searched_without_importing_faiss(notes: tuple[LocalWriter, Space]) -> None:
    store, space = notes
    rebuild(store, space)
    program = """
import sys
from pathlib import Path
from helpers.vectorstores import some_vectors
from helpers.opened import DenseSearch
from semsearch.stores.local import open_reader
with open_reader(Path(sys.argv[1])) as store:
    print(DenseSearch(store, store.state().spaces[0]).search(some_vectors(1), 3)[2]["pass"], "faiss" in sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, str(store.connection.folder)]
    assert subprocess.run(command, env=environment, capture_output=True, text=True).stdout == "exact False\n"
