"""Flat search on a GPU: the CPU's answers from candidates in float16, and the CPU itself where the card cannot.

No GPU is needed: a stand-in for FAISS's GPU functions searches vectors rounded to float16 on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from helpers.opened import DenseSearch, rebuild
from helpers.vectorstores import new, some_vectors, truth

from semsearch.utils.vectors import unit_rows
from semsearch.vector_index.backends import _gpu, flat

DIM = 48


class Machine:
    """One card: what it was asked, and what it answers with."""

    def __init__(self) -> None:
        self.copies = self.searches = 0
        self.scratch = 0
        self.float16: list[bool] = []
        self.numbers: list[int] = []
        self.failure: Exception | None = None


class Resources:
    machine: Machine

    def setTempMemory(self, size: int) -> None:
        self.machine.scratch = size


class Options:
    useFloat16 = False


class Copy:
    """A flat index in float16 that refuses what a GPU index cannot do."""

    def __init__(self, machine: Machine, index: Any) -> None:
        self.machine, self.ntotal = machine, index.ntotal
        self._rounded = faiss.IndexFlatIP(index.d)
        self._rounded.add(_half(index.reconstruct_n(0, index.ntotal)))

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        assert k <= 2048
        if self.machine.failure:
            raise self.machine.failure
        self.machine.searches += len(queries)
        return self._rounded.search(_half(queries), k)


def _half(vectors: np.ndarray) -> np.ndarray:
    return vectors.astype(np.float16).astype(np.float32)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """A machine with one GPU, a FAISS that was built for it, and --device cuda."""
    made = Machine()

    def copied(resources: Any, number: int, index: Any, options: Options) -> Copy:
        made.copies += 1
        made.float16.append(options.useFloat16)
        made.numbers.append(number)
        return Copy(made, index)

    Resources.machine = made
    for name, value in {
        "StandardGpuResources": Resources,
        "GpuClonerOptions": Options,
        "index_cpu_to_gpu": copied,
        "get_num_gpus": lambda: 1,
    }.items():
        monkeypatch.setattr(faiss, name, value, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEMSEARCH_DEVICE", "cuda")
    return made


def built(vectors: np.ndarray) -> Any:
    ids = np.arange(1, len(vectors) + 1, dtype=np.int64)
    return flat.Backend.build(vectors.shape[1], lambda: iter([(ids, vectors)]), count=len(vectors))


def rows(count: int, seed: int = 0) -> np.ndarray:
    return unit_rows(np.random.default_rng(seed).normal(size=(count, DIM)))


def on_cpu(index: Any, queries: np.ndarray, k: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patch:
        patch.setenv("SEMSEARCH_DEVICE", "cpu")
        fresh = built(index._index.reconstruct_n(0, len(index)))
        found = fresh.search(queries, k)
        assert fresh.device == "cpu"
    return found


@pytest.mark.parametrize(("count", "k"), [(3000, 10), (3000, 1), (50, 80), (2500, 1000), (1, 3)])
def test_the_card_answers_as_the_cpu_does(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, count: int, k: int
) -> None:
    index, queries = built(rows(count)), rows(20, seed=1)
    ids, scores = index.search(queries, k)
    assert (index.device, index.warnings, machine.copies) == ("cuda:0", (), 1)
    right_ids, right_scores = on_cpu(index, queries, k, monkeypatch)
    np.testing.assert_allclose(scores, right_scores, atol=1e-6)
    assert (ids == right_ids).mean() > 0.99  # the order of nearly equal scores may turn on the last bit


def close(count: int) -> np.ndarray:
    """Vectors whose cosines with one another differ by less than float16 rounds, and by more than float32 does."""
    return unit_rows(rows(1) + 3e-3 * np.random.default_rng(3).normal(size=(count, DIM)))


@pytest.mark.parametrize("count", [500, 4000])
def test_what_float16_cannot_tell_apart_is_told_apart(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """500 go through the card whole; of 4000 it cannot give enough, and the CPU answers."""
    index, queries = built(close(count)), close(3)
    half = Copy(machine, index._index).search(queries, 5)[1] + 1
    ids, scores = index.search(queries, 5)
    right_ids, right_scores = on_cpu(index, queries, 5, monkeypatch)
    assert (half != right_ids).any()  # the stand-in does err
    np.testing.assert_allclose(scores, right_scores, atol=1e-6)
    assert (ids == right_ids).mean() > 0.9


def test_the_card_is_asked_for_little_memory(machine: Machine) -> None:
    built(rows(100)).search(rows(2), 5)
    assert machine.float16 == [True]
    assert 0 < machine.scratch <= 256 << 20


def test_one_copy_serves_until_vectors_are_added(machine: Machine) -> None:
    index = built(rows(100))
    for _ in range(3):
        index.search(rows(2), 5)
    assert machine.copies == 1
    more = rows(1, seed=9)
    index.add(np.array([500]), more)
    assert index.search(more, 1)[0][0, 0] == 500
    assert machine.copies == 2


def test_a_filtered_search_stays_off_the_card(machine: Machine) -> None:
    index = built(rows(300))
    index.search(rows(1), 5)
    asked = machine.searches
    allowed = np.arange(1, 300, 7, dtype=np.int64)
    found, _ = index.search(rows(300), 5, allowed)
    assert np.isin(found, allowed).all()
    assert (machine.searches, index.device) == (asked, "cpu")


def test_a_card_that_fails_is_left_for_good_and_said(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    index, queries = built(rows(400)), rows(5, seed=2)
    index.search(queries, 5)
    machine.failure = RuntimeError("Error in virtual void*\nStandardGpuResourcesImpl: Failed to cudaMalloc 12 bytes")
    found = index.search(queries, 5)
    np.testing.assert_array_equal(found[0], on_cpu(index, queries, 5, monkeypatch)[0])
    assert index.device == "cpu"
    assert "Failed to cudaMalloc" in index.warnings[0]
    machine.failure = None
    index.search(queries, 5)
    assert (index.device, machine.copies) == ("cpu", 1)


def test_a_faiss_that_lacks_a_function_searches_on_the_cpu(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(faiss, "index_cpu_to_gpu")
    index = built(rows(100))
    assert index.search(rows(100), 1)[0][:, 0].tolist() == list(range(1, 101))
    assert "index_cpu_to_gpu" in index.warnings[0]


def _none(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(faiss, "get_num_gpus", lambda: 0)


def _broken(patch: pytest.MonkeyPatch) -> None:
    def failing() -> int:
        raise RuntimeError("CUDA error 35")

    patch.setattr(faiss, "get_num_gpus", failing)


def _built_for_cpus(patch: pytest.MonkeyPatch) -> None:
    patch.delattr(faiss, "StandardGpuResources")


def _asked_for_cpu(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("SEMSEARCH_DEVICE", "cpu")


def _another_card(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("SEMSEARCH_DEVICE", "cuda:7")


@pytest.mark.parametrize("change", [_none, _broken, _built_for_cpus, _asked_for_cpu, _another_card])
def test_without_a_card_to_use_the_cpu_searches(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, change: Callable[[pytest.MonkeyPatch], None]
) -> None:
    change(monkeypatch)
    index = built(rows(60))
    assert index.search(rows(60), 1)[0][:, 0].tolist() == list(range(1, 61))
    assert (index.device, index.warnings, machine.copies) == ("cpu", (), 0)


def test_auto_starts_the_card_when_the_searches_have_paid_for_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMSEARCH_DEVICE", "auto")
    monkeypatch.setattr(_gpu, "PAYS", 2500)
    index = built(rows(100))
    index.search(rows(20), 5)  # 2,000 comparisons
    assert (index.device, machine.copies) == ("cpu", 0)
    index.search(rows(20), 5)
    assert (index.device, machine.copies) == ("cuda:0", 1)
    assert machine.numbers == [0]


def test_the_plan_of_a_search_says_where_it_ran(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store, space = new(tmp_path / "index", 400)
    with store:
        rebuild(store, space, "flat")
        queries = some_vectors(5, seed=4)
        search = DenseSearch(store, space, small=100)
        found, _, plan = search.search(queries, 3)
        assert (plan["device"], plan["warnings"]) == ("cuda:0", [])
        assert found.tolist() == truth(store, space, queries, 3)
        machine.failure = RuntimeError("out of memory")
        found, _, plan = search.search(queries, 3)
        assert (plan["device"], len(plan["warnings"])) == ("cpu", 1)
        assert found.tolist() == truth(store, space, queries, 3)
