"""A slice of the data judges what was not trained on it."""

from __future__ import annotations

import pytest

from semsearch.errors import UsageError
from semsearch.training.datasets.dataset import Examples

pytest.importorskip("torch")

from semsearch.training.selection import Paired, Scored
from semsearch.training.validation import dev_of, held_out

LONG = [f"text {at} has some words more than six" for at in range(40)]
PAIRS = {"anchor": [f"q{at // 2}" for at in range(40)], "positive": [f"p{at}" for at in range(40)]}


def test_each_kind_of_data_judges_in_its_own_way() -> None:
    labels = [float(at % 3) for at in range(40)]
    scored, paired = dev_of(Examples(PAIRS, labels), "mine"), dev_of(Examples(PAIRS), "mine")
    halved = dev_of(Examples({"anchor": LONG}), "mine")
    assert isinstance(scored, Scored) and scored.gold == labels and scored.measure == "Spearman on mine"
    assert isinstance(paired, Paired) and paired.pairs[3] == ("q1", "p3")
    assert isinstance(halved, Paired) and halved.pairs[0] == ("text 0 has some", "words more than six")


def test_no_text_that_judges_is_trained_on_and_the_slice_is_the_same_every_time() -> None:
    left, dev = held_out(Examples(PAIRS), 5)
    again, same = held_out(Examples(PAIRS), 5)
    assert isinstance(dev, Paired) and isinstance(same, Paired)
    seen = {text for texts in left.columns.values() for text in texts}
    assert len(dev.pairs) == 5 and not seen & {text for pair in dev.pairs for text in pair}
    assert 30 <= len(left) < 35
    assert (left.columns, dev.pairs) == (again.columns, same.pairs)


@pytest.mark.parametrize(
    ("examples", "count", "said"),
    [
        (Examples({"anchor": LONG}), 40, "40 of 40"),
        (Examples({"anchor": LONG}), 39, "1 of 40 examples share no text"),
        (Examples({"anchor": ["a"] * 40, "positive": LONG}), 5, "share no text"),
        (Examples(PAIRS, [1.0] * 40), 5, "all one"),
        (Examples({"anchor": [f"w{at}" for at in range(40)]}), 5, "6 words"),
    ],
)
def test_what_cannot_judge_is_refused(examples: Examples, count: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        held_out(examples, count)
