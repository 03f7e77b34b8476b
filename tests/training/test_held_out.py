"""A slice of the data judges what was not trained on it."""

from __future__ import annotations

import pytest

from semsearch.errors import UsageError
from semsearch.training import Dataset

pytest.importorskip("torch")

from semsearch.training import RetrievalValidation, SimilarityValidation, hold_out, validation_of

LONG = [f"text {at} has some words more than six" for at in range(40)]
PAIRS = {"anchor": [f"q{at // 2}" for at in range(40)], "positive": [f"p{at}" for at in range(40)]}


def test_each_kind_of_data_judges_in_its_own_way() -> None:
    labels = [float(at % 3) for at in range(40)]
    scored, paired = validation_of(Dataset(PAIRS, labels), "mine"), validation_of(Dataset(PAIRS), "mine")
    halved = validation_of(Dataset({"anchor": LONG}), "mine")
    assert isinstance(scored, SimilarityValidation) and scored.gold == labels and scored.measure == "Spearman on mine"
    assert isinstance(paired, RetrievalValidation) and paired.pairs[3] == ("q1", "p3")
    assert isinstance(halved, RetrievalValidation) and halved.pairs[0] == ("text 0 has some", "words more than six")


def test_no_text_that_judges_is_trained_on_and_the_slice_is_the_same_every_time() -> None:
    left, dev = hold_out(Dataset(PAIRS), 5)
    again, same = hold_out(Dataset(PAIRS), 5)
    assert isinstance(dev, RetrievalValidation) and isinstance(same, RetrievalValidation)
    seen = {text for texts in left.columns.values() for text in texts}
    assert len(dev.pairs) == 5 and not seen & {text for pair in dev.pairs for text in pair}
    assert 30 <= len(left) < 35
    assert (left.columns, dev.pairs) == (again.columns, same.pairs)


@pytest.mark.parametrize(
    ("examples", "count", "said"),
    [
        (Dataset({"anchor": LONG}), 40, "40 of 40"),
        (Dataset({"anchor": LONG}), 39, "1 of 40 examples share no text"),
        (Dataset({"anchor": ["a"] * 40, "positive": LONG}), 5, "share no text"),
        (Dataset(PAIRS, [1.0] * 40), 5, "are the same"),
        (Dataset({"anchor": [f"w{at}" for at in range(40)]}), 5, "6 words"),
    ],
)
def test_what_cannot_judge_is_refused(examples: Dataset, count: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        hold_out(examples, count)
