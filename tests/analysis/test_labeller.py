"""Labels by examples: right where the examples are clear, none where a text is unlike all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from semsearch import Document, Index, Labeller, UsageError, label_examples
from semsearch.analysis.labeller import folds_of
from semsearch.encoders.hashing import HashingEncoder
from semsearch.utils.vectors import unit_rows

EXAMPLES = [
    *((f"diesel engine {word}", "cars") for word in ("fuel", "pump", "oil", "belt")),
    *((f"yeast dough {word}", "bread") for word in ("flour", "salt", "water", "oven")),
]


def drawn(count: int, noise: float, seed: int) -> tuple[np.ndarray, list[str]]:
    """Vectors around four directions, and the names of these."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, 4, count)
    rows = np.eye(4, 16)[codes] + random.normal(size=(count, 16)) * noise
    return unit_rows(rows), [f"label {code}" for code in codes]


def test_held_out_accuracy_is_that_of_new_texts() -> None:
    labeller = Labeller(*drawn(400, 0.35, 1), reject=0.1)
    vectors, gold = drawn(2000, 0.35, 2)
    found = labeller.label(vectors)
    right = np.mean([one.nearest == label for one, label in zip(found, gold, strict=True)])
    assert 0.7 < right < 1 and labeller.accuracy.accuracy == pytest.approx(right, abs=0.05)
    labelled = np.mean([one.label is not None for one in found])
    assert labelled == pytest.approx(0.9, abs=0.05) and labeller.accuracy.labelled == pytest.approx(0.9, abs=0.01)
    sure = [one.probability for one in found]
    assert np.mean(sure) == pytest.approx(right, abs=0.07)  # calibrated
    assert sum(total for _, total in labeller.accuracy.by_label.values()) == 400


def test_a_text_unlike_all_examples_gets_no_label() -> None:
    labeller = Labeller(*drawn(400, 0.2, 1), reject=0.05)
    (strange,) = labeller.label(unit_rows(-np.ones((1, 16))))
    assert strange.label is None and strange.nearest in labeller.labels and strange.fit < 0.05
    (never,) = Labeller(*drawn(400, 0.2, 1), reject=0).label(unit_rows(-np.ones((1, 16))))
    assert never.label == never.nearest


def test_an_example_is_never_labelled_by_itself() -> None:
    random = np.random.default_rng(0)
    vectors = unit_rows(random.normal(size=(300, 64)))
    labels = [f"label {code}" for code in random.integers(0, 3, 300)]
    accuracy = Labeller(vectors, labels).accuracy.accuracy
    assert accuracy is not None and accuracy < 0.45  # chance is 0.33, and each is its own nearest neighbour


def test_the_examples_of_a_label_are_spread_over_the_folds() -> None:
    codes = np.repeat([0, 1, 2], [10, 3, 1])
    part = folds_of(codes, 5)
    assert np.bincount(part[codes == 0]).tolist() == [2] * 5
    assert len(set(part[codes == 1].tolist())) == 3


def test_a_label_with_one_example_is_used_and_not_tested() -> None:
    labeller = label_examples([*EXAMPLES, ("falcon wings", "birds")], encoder="hashing", reject=0)
    assert (labeller.accuracy.examples, labeller.accuracy.tested) == (9, 8)
    (bird,) = labeller.label(HashingEncoder().encode(["falcon wings fly"], role="passage"))
    assert bird.label == "birds"
    alone = label_examples([("falcon", "birds"), ("dough", "bread")], encoder="hashing")
    assert alone.accuracy.accuracy is None


def test_documents_get_the_label_of_the_nearest_examples(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        index.add([Document("a", "a diesel engine"), Document("b", "dough with yeast"), Document("c", "")])
        before = index.version
        labels, accuracy = index.analysis.label(EXAMPLES, reject=0)
        assert {name: one.label for name, one in labels.items()} == {"a": "cars", "b": "bread"}
        assert accuracy.accuracy == 1 and accuracy.by_label == {"bread": (4, 4), "cars": (4, 4)}
        assert list(index.analysis.label(EXAMPLES, where="document = 'a'")[0]) == ["a"] and index.version == before


def test_wrong_examples_are_usage_errors() -> None:
    wrong = ["text", [("a", "b", "c")], [("a", 1)], [("a", "x")], [("a", "x"), ("b", "x")]]
    for examples in wrong:
        with pytest.raises(UsageError):
            label_examples(examples, encoder="hashing")  # type: ignore[arg-type]
    for options in ({"folds": 1}, {"reject": 2}):
        with pytest.raises(UsageError):
            label_examples(EXAMPLES, encoder="hashing", **options)  # type: ignore[arg-type]
