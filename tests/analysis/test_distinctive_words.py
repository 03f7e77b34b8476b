"""Names of groups: the words by which their texts differ, each name once."""

from __future__ import annotations

import numpy as np

from semsearch.analysis import group_names


def test_a_group_is_named_by_words_that_the_others_lack() -> None:
    texts = ["the diesel engine", "a diesel pump", "bread and salt", "bread with yeast"]
    assert group_names(texts, np.array([0, 0, 1, 1])) == ["diesel · engine · pump", "bread · salt · yeast"]


def test_groups_without_a_difference_have_different_names_all_the_same() -> None:
    assert group_names(["rain"] * 2, np.array([0, 1])) == ["no distinctive word", "no distinctive word (2)"]
