"""What every backend promises, found through the registry: a new file in `backends/` is held to this by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.errors import Corrupt, SemsearchError
from semsearch.utils import plugins
from semsearch.utils.vectors import unit_rows
from semsearch.vector_index import backends

NAMES = plugins.names(backends)
DIM = 32


@pytest.fixture(params=NAMES)
def kind(request: pytest.FixtureRequest) -> Any:
    return plugins.load(backends, request.param).Backend


def clustered(count: int, dim: int = DIM, *, seed: int = 0, clusters: int = 100, spread: float = 0.6) -> np.ndarray:
    """(count, dim) unit rows around `clusters` centres, as texts about a hundred subjects are."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(clusters, dim))
    return unit_rows(centres[random.integers(0, clusters, count)] + spread * random.normal(size=(count, dim)))


def some_ids(count: int, seed: int = 0) -> np.ndarray:
    """Ascending, with gaps, as ids are after deletions; some beyond 32 bits."""
    steps = np.random.default_rng(seed).integers(1, 5, count)
    return np.cumsum(steps) + (1 << 33)


def chunks_of(ids: np.ndarray, vectors: np.ndarray, size: int = 700) -> Callable[[], Iterator[Any]]:
    return lambda: ((ids[at : at + size], vectors[at : at + size]) for at in range(0, len(ids), size))


def built(kind: Any, ids: np.ndarray, vectors: np.ndarray) -> Any:
    return kind.build(vectors.shape[1], chunks_of(ids, vectors), count=len(ids))


def loaded(kind: Any, path: Path) -> Any:
    return kind.read(memoryview(path.read_bytes()))


def brute_force(ids: np.ndarray, vectors: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    scores = queries @ vectors.T
    order = np.lexsort((np.broadcast_to(ids, scores.shape), -scores), axis=-1)[:, :k]
    return ids[order], np.take_along_axis(scores, order, axis=1)


def assert_well_formed(ids: np.ndarray, scores: np.ndarray, known: np.ndarray, k: int, available: int) -> None:
    """Shapes, padding, order, uniqueness, membership."""
    assert ids.shape == scores.shape and ids.shape[1] == k
    assert ids.dtype == np.int64 and scores.dtype == np.float32
    for row, values in zip(ids, scores, strict=True):
        found = min(k, available)
        assert (row[:found] >= 0).all() and np.isfinite(values[:found]).all()
        assert (row[found:] == -1).all() and (values[found:] == -np.inf).all()
        assert len(set(row[:found].tolist())) == found
        assert np.isin(row[:found], known).all()
        assert (np.diff(values[:found]) <= 0).all()
        equal = np.flatnonzero(np.diff(values[:found]) == 0)
        assert (row[equal] < row[equal + 1]).all()


def ordered(
    index: Any, known: np.ndarray, vectors: np.ndarray, queries: np.ndarray, k: int, allowed: np.ndarray | None = None
) -> np.ndarray:
    """(q, k): the best ids by exact cosine among the candidates of the index, as a search orders them."""
    best = []
    for row, query in zip(index.search(queries, index.candidates(k), allowed)[0], queries, strict=True):
        among = np.sort(row[row >= 0])
        scores = vectors[np.searchsorted(known, among)] @ query
        best.append(among[np.lexsort((among, -scores))][:k])
    return np.array(best)


def assert_cosines(
    ids: np.ndarray, scores: np.ndarray, known: np.ndarray, vectors: np.ndarray, asked: Any, rounding: float
) -> None:
    there = ids >= 0
    for row, query in enumerate(asked):
        right = vectors[np.searchsorted(known, ids[row, there[row]])] @ query
        assert np.abs(scores[row, there[row]] - right).max(initial=0) <= rounding


@pytest.mark.parametrize("name", NAMES)
@given(
    count=st.integers(0, 120),
    dim=st.sampled_from([8, 20, 64]),
    k=st.integers(1, 140),
    seed=st.integers(0, 1000),
    allowed=st.one_of(st.none(), st.sets(st.integers(0, 130))),
    copies=st.booleans(),
)
def test_answers_are_sorted_unique_padded_cosines_of_allowed_ids(
    name: str, count: int, dim: int, k: int, seed: int, allowed: set[int] | None, copies: bool
) -> None:
    vectors = clustered(count, dim, seed=seed)
    if copies:
        vectors[: count // 2] = vectors[:1]
    ids = np.arange(1, count + 1, dtype=np.int64)
    index = built(plugins.load(backends, name).Backend, ids, vectors)
    queries = clustered(3, dim, seed=seed + 1)
    chosen = None if allowed is None else np.array(sorted(allowed), dtype=np.int64)
    known = ids if chosen is None else np.intersect1d(ids, chosen)
    found, scores = index.search(queries, k, chosen)
    assert_well_formed(found, scores, known, k, len(known))
    assert_cosines(found, scores, ids, vectors, queries, index.rounding)


@pytest.fixture(scope="module")
def texts() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ids, vectors, and queries near some of them."""
    vectors = clustered(20_000)
    nudge = np.random.default_rng(5).normal(size=(100, DIM))
    return some_ids(len(vectors)), vectors, unit_rows(vectors[::200] + 0.05 * nudge)


@pytest.fixture(scope="module")
def large(texts: Any) -> Callable[[Any], Any]:
    """Every backend over `texts`, built once."""
    made: dict[str, Any] = {}

    def get(kind: Any) -> Any:
        if kind.name not in made:
            made[kind.name] = built(kind, texts[0], texts[1])
        return made[kind.name]

    return get


@pytest.mark.parametrize("share", [1.0, 0.5, 0.05, 0.001])
def test_recall_at_10_is_095_or_more_whatever_is_allowed(kind: Any, texts: Any, large: Any, share: float) -> None:
    ids, vectors, queries = texts
    allowed = None if share == 1.0 else np.sort(np.random.default_rng(3).choice(ids, int(share * len(ids)), False))
    found, scores = large(kind).search(queries, 10, allowed)
    known = ids if allowed is None else allowed
    assert_well_formed(found, scores, known, 10, len(known))
    right, _ = brute_force(known, vectors[np.searchsorted(ids, known)], queries, 10)
    got = ordered(large(kind), ids, vectors, queries, 10, allowed)
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(got.tolist(), right.tolist(), strict=True)])
    assert recall >= 0.95


def test_a_saved_index_answers_as_before(kind: Any, texts: Any, large: Any, tmp_path: Path) -> None:
    before = large(kind)
    before.save(tmp_path / "index")
    after = loaded(kind, tmp_path / "index")
    assert (len(after), after.dim, after.spec) == (len(before), before.dim, before.spec)
    np.testing.assert_array_equal(after.ids, before.ids)
    for allowed in (None, texts[0][::3]):
        for one, other in zip(before.search(texts[2], 7, allowed), after.search(texts[2], 7, allowed), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("first", [0, 1, 40])
@pytest.mark.parametrize("reopened", [False, True])
def test_what_is_added_later_is_found(kind: Any, tmp_path: Path, first: int, reopened: bool) -> None:
    vectors, ids = clustered(90), some_ids(90)
    index = built(kind, ids[:first], vectors[:first])
    if reopened:
        index.save(tmp_path / "index")
        index = loaded(kind, tmp_path / "index")
    index.add(ids[first:], vectors[first:])
    assert len(index) == 90
    np.testing.assert_array_equal(ordered(index, ids, vectors, vectors, 1)[:, 0], ids)
    found, scores = index.search(vectors, 1)
    np.testing.assert_allclose(scores[:, 0], 1.0, atol=kind.rounding)
    index.save(tmp_path / "again")
    np.testing.assert_array_equal(loaded(kind, tmp_path / "again").search(vectors, 1)[0], found)


def test_the_same_vectors_give_the_same_answers(kind: Any, texts: Any) -> None:
    ids, vectors, queries = texts
    answers = [built(kind, ids[:1500], vectors[:1500]).search(queries, 10) for _ in range(2)]
    np.testing.assert_array_equal(answers[0][0], answers[1][0])


def test_an_answer_does_not_depend_on_the_other_queries(kind: Any, texts: Any, large: Any) -> None:
    queries = np.concatenate([texts[2]] * 6)  # more than go to FAISS at once
    together, _ = large(kind).search(queries, 5)
    alone = np.concatenate([large(kind).search(query[None], 5)[0] for query in texts[2]])
    assert (together[: len(alone)] == alone).mean() > 0.99  # the order of equal cosines may turn on the last bit
    np.testing.assert_array_equal(together[: len(alone)], together[-len(alone) :])


@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_indexes_work(kind: Any, count: int) -> None:
    vectors, ids = clustered(count), some_ids(count)
    found, scores = built(kind, ids, vectors).search(clustered(4, seed=9), 5)
    assert_well_formed(found, scores, ids, 5, count)


def test_equal_vectors_are_all_found(kind: Any) -> None:
    vectors = np.repeat(clustered(1), 50, axis=0)
    found, scores = built(kind, some_ids(50), vectors).search(vectors[:1], 50)
    assert set(found[0].tolist()) == set(some_ids(50).tolist())
    np.testing.assert_allclose(scores, 1.0, atol=kind.rounding)


def test_a_zero_vector_is_a_neighbour_of_none_but_breaks_nothing(kind: Any) -> None:
    vectors = clustered(60)
    vectors[7] = 0
    found, scores = built(kind, some_ids(60), vectors).search(np.concatenate([vectors[:1], vectors[7:8]]), 60)
    assert np.isfinite(scores).all() and (found >= 0).all()
    assert ordered(built(kind, some_ids(60), vectors), some_ids(60), vectors, vectors[:1], 1)[0, 0] == some_ids(60)[0]
    np.testing.assert_allclose(scores[1], 0, atol=kind.rounding)


def test_no_query_gives_no_rows(kind: Any, texts: Any, large: Any) -> None:
    found, scores = large(kind).search(np.empty((0, DIM), np.float32), 5)
    assert found.shape == scores.shape == (0, 5)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(kind: Any, texts: Any, large: Any, bad: float) -> None:
    vectors = clustered(3)
    vectors[1, 4] = bad
    with pytest.raises(SemsearchError, match="row 1"):
        large(kind).search(vectors, 3)
    with pytest.raises(SemsearchError, match="row 1"):
        built(kind, some_ids(3), vectors)


def test_a_wrong_width_is_refused(kind: Any, large: Any) -> None:
    with pytest.raises(SemsearchError, match=r"\(n, 32\)"):
        large(kind).search(clustered(2, 31), 3)


@pytest.mark.parametrize("ids", [[5, 4], [4, 4]])
def test_ids_that_do_not_ascend_are_refused(kind: Any, ids: list[int]) -> None:
    with pytest.raises(SemsearchError, match="ascend"):
        built(kind, np.array(ids), clustered(2))


def test_a_file_that_is_none_of_ours_is_refused(kind: Any, tmp_path: Path) -> None:
    (tmp_path / "index").write_bytes(b"IxFI" + bytes(1000))
    with pytest.raises(Corrupt):
        loaded(kind, tmp_path / "index")
