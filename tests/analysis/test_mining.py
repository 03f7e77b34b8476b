"""Closest pairs, near-duplicates and clusters are those that a comparison of all with all finds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from semsearch import BadFilter, Document, Index, Pair, UsageError, clusters, near_duplicates, paraphrase_mining
from semsearch.analysis import closest_pairs, mining
from semsearch.encoders.hashing import HashingEncoder
from semsearch.utils.vectors import unit_rows

TEXTS = ["How do I descale a kettle?", "Bread needs salt.", "how do i descale a KETTLE", "Bread needs salt and time."]
shapes = st.tuples(st.integers(0, 60), st.integers(1, 4), st.integers(0, 2**32 - 1))


def drawn(shape: tuple[int, int, int]) -> np.ndarray:
    """Random vectors (n, d) around a few directions, some of them equal."""
    n, d, seed = shape
    random = np.random.default_rng(seed)
    rows = random.normal(size=(4, d))[random.integers(0, 4, n)] + random.normal(size=(n, d)) * 0.4
    return unit_rows(np.concatenate([rows, rows[:3]]))


@given(shapes, st.floats(-1, 1, width=16), st.integers(1, 40), st.integers(1, 5), st.sampled_from([1, 97, 10**6]))
def test_the_closest_pairs_are_those_of_all_pairs(
    shape: tuple[int, int, int], threshold: float, most: int, groups: int, cells: int
) -> None:
    vectors = drawn(shape)
    owners = [n % groups for n in range(len(vectors))] if groups > 1 else None
    cosines = vectors.astype(np.float64) @ vectors.T
    expected = sorted(
        (float(cosines[a, b]) for a, b in itertools.combinations(range(len(vectors)), 2)
         if (owners is None or owners[a] != owners[b]) and cosines[a, b] >= threshold - 1e-6),
        reverse=True,
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closest_pairs, "CELLS", cells)
        patch.setattr(closest_pairs, "PIECE", max(1, cells // 10))
        found = paraphrase_mining(vectors, threshold=threshold, max_pairs=most, groups=owners)
    assert [pair.score for pair in found] == sorted((pair.score for pair in found), reverse=True)
    assert len({(pair.first, pair.second) for pair in found}) == len(found) <= most
    for pair in found:
        assert pair.first < pair.second and pair.score == pytest.approx(cosines[pair.first, pair.second], abs=1e-5)
        assert owners is None or owners[pair.first] != owners[pair.second]
    surely = [score for score in expected if score >= threshold + 1e-6]
    assert min(len(surely), most) <= len(found) <= len(expected)
    assert [pair.score for pair in found] == pytest.approx(expected[: len(found)], abs=1e-5)


def community_detection(cosines: np.ndarray, threshold: float, least: int) -> list[list[int]]:
    """As in sentence-transformers, util.py: candidates by size, without what an earlier one has."""
    close = [[other for other in np.argsort(-row, kind="stable") if row[other] >= threshold] for row in cosines]
    candidates = sorted((each for each in close if len(each) >= least), key=len, reverse=True)
    found: list[list[int]] = []
    taken: set[int] = set()
    for candidate in candidates:
        rest = [int(one) for one in candidate if one not in taken]
        if len(rest) >= least:
            found.append(rest)
            taken |= set(rest)
    return sorted(found, key=len, reverse=True)


@given(shapes, st.sampled_from([-0.5, 0.3, 0.7071, 0.95]), st.integers(1, 12), st.sampled_from([1, 50, 10**6]))
def test_clusters_are_the_communities_of_sentence_transformers(
    shape: tuple[int, int, int], threshold: float, least: int, cells: int
) -> None:
    vectors = drawn(shape)
    cosines = vectors @ vectors.T
    assume((abs(cosines - threshold) > 1e-5).all())  # else it is a matter of rounding
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closest_pairs, "CELLS", cells)
        found = clusters(vectors, threshold=threshold, min_size=least)
    expected = community_detection(cosines, threshold, least)
    assert [sorted(each) for each in found] == [sorted(each) for each in expected]
    assert all(
        cosines[each[0], each[1:]].min(initial=1) >= 2 * threshold**2 - 1 - 1e-4 for each in found if threshold > 0
    )


@given(shapes, st.sampled_from([-0.5, 0.5, 0.9, 0.999]), st.sampled_from([1, 50, 10**6]))
def test_near_duplicates_are_the_connected_groups(shape: tuple[int, int, int], threshold: float, cells: int) -> None:
    vectors = drawn(shape)
    cosines = vectors @ vectors.T
    assume((abs(cosines - threshold) > 1e-5).all())  # else it is a matter of rounding
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closest_pairs, "CELLS", cells)
        found = near_duplicates(vectors, threshold=threshold)
    reached = cosines >= threshold
    np.fill_diagonal(reached, True)
    for _ in range(len(vectors)):
        reached = reached @ reached
    groups = {tuple(np.flatnonzero(row).tolist()) for row in reached if row.sum() > 1}
    assert {tuple(each) for each in found} == groups and len(found) == len(groups)
    assert [len(each) for each in found] == sorted((len(each) for each in found), reverse=True)


def test_k_clusters_cover_all_the_largest_first() -> None:
    vectors = unit_rows([[1, 0]] * 5 + [[0, 1]] * 3 + [[1, 0.1]])
    assert [sorted(each) for each in clusters(vectors, k=2)] == [[0, 1, 2, 3, 4, 8], [5, 6, 7]]
    assert clusters(vectors[:0], k=3) == clusters(vectors[:0]) == paraphrase_mining(vectors[:0]) == []
    assert len(clusters(vectors, k=9)) == 3


def test_texts_are_compared_by_meaning_and_equal_ones_encoded_once() -> None:
    calls: list[list[str]] = []

    class Counting(HashingEncoder):
        def encode(self, texts: list[str], *, role: str = "passage") -> np.ndarray:  # type: ignore[override]
            calls.append(list(texts))
            return super().encode(texts, role=role)  # type: ignore[arg-type]

    found = paraphrase_mining([*TEXTS, TEXTS[0]], encoder=Counting(), max_pairs=3)  # type: ignore[arg-type]
    assert calls == [TEXTS] and found[0] == Pair(pytest.approx(1), 0, 2)
    score, first, second = found[1]
    assert (first, second) in ((0, 4), (2, 4)) and score > 0.99
    assert near_duplicates(TEXTS, encoder="hashing", threshold=0.9) == [[0, 2]]
    assert [sorted(each) for each in clusters(TEXTS, encoder="hashing", threshold=0.6, min_size=2)] == [[0, 2], [1, 3]]


def test_wrong_arguments_are_usage_errors() -> None:
    wrong = [
        lambda: paraphrase_mining("a text"),  # type: ignore[arg-type]
        lambda: paraphrase_mining(5),  # type: ignore[arg-type]
        lambda: clusters([1, 2]),  # type: ignore[list-item]
        lambda: near_duplicates(["a", 5]),  # type: ignore[list-item]
        lambda: near_duplicates([[1.0, float("nan")]]),
        lambda: near_duplicates([[1.0]], threshold=2),
        lambda: paraphrase_mining([[1.0]], max_pairs=0),
        lambda: paraphrase_mining([[1.0]], groups=[1, 2]),
        lambda: clusters([[1.0]], k=2, threshold=0.5),
        lambda: clusters([[1.0]], min_size=0),
    ]
    for call in wrong:
        with pytest.raises(UsageError):
            call()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """Forty documents around four directions, some with the same vector; the last has two passages, one has none."""
    vectors = drawn((37, 8, 5))
    with Index.create(tmp_path / "own", encoder=None, dimensions=8) as made:
        made.add([Document(f"d{n:02}", f"Number {n}.", {"n": n}) for n in range(40)], vectors=vectors)
        yield made


def test_an_index_finds_what_a_list_of_its_vectors_has(index: Index) -> None:
    vectors = index.vectors(range(1, 41))
    names = [f"d{n:02}" for n in range(40)]
    pairs = index.analysis.paraphrase_mining(max_pairs=25)
    expected = paraphrase_mining(vectors, max_pairs=25)
    assert [pair.score for pair in pairs] == pytest.approx([pair.score for pair in expected], abs=1e-3)
    assert {(pair.first - 1, pair.second - 1) for pair in pairs[:3]} == {(n, n + 37) for n in range(3)}
    groups = near_duplicates(vectors, threshold=0.9)
    assert index.analysis.near_duplicates(threshold=0.9) == [[names[at] for at in group] for group in groups]
    assert index.analysis.clusters(k=4) == [[names[at] for at in group] for group in clusters(vectors, k=4)]
    assert index.analysis.clusters(min_size=3)[0][0] in names
    few = index.analysis.near_duplicates(threshold=-1, where="n < 10")
    assert few == [names[:10]] and index.analysis.near_duplicates(where="n > 50") == []
    assert {pair.first for pair in index.analysis.paraphrase_mining(where={"n": {"$lt": 3}})} == {1, 2}
    with pytest.raises(BadFilter):
        index.analysis.clusters(where="n <")


def test_a_large_index_is_compared_through_its_vector_index(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = index.analysis.paraphrase_mining(threshold=0.3, max_pairs=60)
    monkeypatch.setattr(mining, "EXACT", 5)
    monkeypatch.setattr(mining, "AT_ONCE", 7)
    near = index.analysis.paraphrase_mining(threshold=0.3, max_pairs=60)
    assert [pair.score for pair in near] == pytest.approx([pair.score for pair in exact], abs=1e-5)
    assert len({pair[1:] for pair in near}) == 60 and all(pair.first < pair.second for pair in near)


def test_passages_of_one_document_make_no_pair_and_a_document_is_their_mean(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        long = "\n\n".join(["Diesel engines ignite by compression. " * 40] * 3)
        index.add([Document("long", long), Document("short", long[:500]), Document("other", "Bread needs salt.")])
        assert len(index.passages("long")) > 1
        owner = {one["id"]: name for name in ("long", "short", "other") for one in index.passages(name)}
        pairs = index.analysis.paraphrase_mining(threshold=0.5)
        assert pairs and all({owner[pair.first], owner[pair.second]} == {"long", "short"} for pair in pairs)
        assert index.analysis.near_duplicates() == [["long", "short"]]
