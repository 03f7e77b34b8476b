"""Topics in topics: coarse ones cover everything, finer ones are parts of them with names of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from semsearch.analysis import nested_topics
from semsearch.errors import UsageError

if TYPE_CHECKING:
    from semsearch.types import Vectors

WORDS = ("diesel", "petrol"), ("yeast", "rye"), ("falcon", "owl")
SUBJECTS = ("engine", "bread", "bird")


def given(count: int = 20) -> tuple[Vectors, list[str]]:
    """Three subjects, each of two kinds: `count` texts of each kind."""
    random = np.random.default_rng(0)
    vectors, texts = [], []
    for subject, kinds in enumerate(WORDS):
        for kind, word in enumerate(kinds):
            centre = 3 * np.eye(12)[subject] + 1.2 * np.eye(12)[3 + 2 * subject + kind]
            vectors += [centre + 0.05 * random.normal(size=12) for _ in range(count)]
            texts += [f"{SUBJECTS[subject]} {word}"] * count
    rows = np.array(vectors, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), texts


def test_finer_topics_divide_a_coarse_one_and_are_named_by_what_sets_them_apart() -> None:
    vectors, texts = given()
    found = nested_topics(vectors, texts, k=3, levels=2, least=20)
    coarse = [each for each in found if each.level == 0]
    assert sorted(row for each in coarse for row in each.rows) == list(range(120))
    assert {name for each in coarse for name in each.name.split(" · ")} >= set(SUBJECTS)
    for each in coarse:
        inside = [finer for finer in found if finer.level == 1 and set(finer.rows) <= set(each.rows)]
        assert len(inside) == 2 and {len(finer.rows) for finer in inside} == {20}
        assert {finer.name for finer in inside} in [set(kinds) for kinds in WORDS]


def test_they_are_the_same_at_every_call_and_as_deep_as_there_are_texts() -> None:
    vectors, texts = given(5)
    first, again = (nested_topics(vectors, texts, k=3) for _ in range(2))
    assert [(each.name, each.level, each.rows) for each in first] == [
        (each.name, each.level, each.rows) for each in again
    ]
    assert {each.level for each in first} == {0}  # ten texts of a subject are too few to divide
    assert nested_topics(vectors[:0], []) == []


def test_vectors_and_texts_have_to_be_of_one_number() -> None:
    with pytest.raises(UsageError):
        nested_topics(np.eye(3, dtype=np.float32), ["a"])
