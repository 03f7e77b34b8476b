"""What a checkpoint is chosen by gives the scores that can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import UsageError
from semsearch.training import Dataset, RetrievalValidation, SimilarityValidation, split_halves


def pointing(angles: Mapping[str, float]) -> Callable[[Sequence[str]], Any]:
    """An encoder of two numbers: each text points where it is told to, in degrees."""

    def encode(texts: Sequence[str]) -> Any:
        turns = np.radians([angles[text] for text in texts])
        return np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)

    return encode


def test_scored_pairs_are_judged_by_the_order_of_their_cosines() -> None:
    dev = SimilarityValidation([("a", "b"), ("a", "c"), ("a", "d")], [5.0, 3.0, 1.0], "three pairs")
    assert dev.measure == "Spearman on three pairs"
    assert dev.score(pointing({"a": 0, "b": 10, "c": 20, "d": 30})) == pytest.approx(100)
    assert dev.score(pointing({"a": 0, "b": 30, "c": 20, "d": 10})) == pytest.approx(-100)
    assert dev.score(pointing({"a": 0, "b": 20, "c": 10, "d": 30})) == pytest.approx(50)
    assert dev.score(pointing(dict.fromkeys("abcd", 0))) == 0.0  # and not NaN, which nothing is better than


def test_pairs_are_judged_by_the_rank_of_the_own_second_text() -> None:
    dev = RetrievalValidation([("a", "x"), ("b", "y"), ("c", "z")], "three pairs")
    assert dev.measure == "MRR@10 on three pairs"
    assert dev.score(pointing({"a": 0, "b": 50, "c": 90, "x": 1, "y": 51, "z": 91})) == pytest.approx(100)
    # b is nearer to x and z than to its own y: ranks 1, 3 and 1
    assert dev.score(pointing({"a": 0, "b": 45, "c": 90, "x": 1, "y": 180, "z": 89})) == pytest.approx(100 * 7 / 9)


def test_an_encoder_that_gives_all_texts_one_vector_finds_nothing() -> None:
    pairs = [(f"first {at}", f"second {at}") for at in range(40)]
    angles = dict.fromkeys([text for pair in pairs for text in pair], 30.0)
    assert RetrievalValidation(pairs, "forty").score(pointing(angles)) == 0.0


def test_a_second_text_that_many_share_is_found_once() -> None:
    """Thirty questions with one of two answers: what is right for the one is no rival for the other."""
    pairs = [(f"question {at}", f"answer {at % 2}") for at in range(30)]
    angles = {text: 90.0 * (int(text.split()[1]) % 2) for pair in pairs for text in pair}
    assert RetrievalValidation(pairs, "questions").score(pointing(angles)) == pytest.approx(100)
    crossed = {text: 90 - angle if text.startswith("answer") else angle for text, angle in angles.items()}
    assert RetrievalValidation(pairs, "questions").score(pointing(crossed)) == pytest.approx(50)


def test_many_searches_are_the_searches_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    pairs = [(f"first {at}", f"second {at}") for at in range(23)]
    angles = {text: float(rng.uniform(0, 360)) for pair in pairs for text in pair}
    want = RetrievalValidation(pairs, "many").score(pointing(angles))
    monkeypatch.setattr("semsearch.training.validation.QUERIES_AT_ONCE", 4)
    assert RetrievalValidation(pairs, "many").score(pointing(angles)) == pytest.approx(want)
    assert 0 < want < 100


def test_halves_of_texts_are_found_by_an_encoder_that_knows_words(hashing: HashingEncoder) -> None:
    texts = [
        "a diesel engine burns oil and the diesel engine turns the oil into heat",
        "soup of carrots needs salt and good soup needs carrots in it",
        "too short",
        "the old bridge over the river was closed for the river rose over the bridge",
        "the old bridge over the river was closed for the river rose over the bridge",
    ]
    dev = split_halves(texts, "my notes")
    assert len(dev.pairs) == 3 and dev.measure == "MRR@10 on halves of my notes"
    assert " ".join(dev.pairs[0]) == texts[0]
    assert dev.score(hashing.encode) == pytest.approx(100)
    with pytest.raises(UsageError, match="1 of the texts of my notes have 6 words or more"):
        split_halves(["one two three four five six", "short"], "my notes")


def test_texts_that_part_no_words_have_halves_too() -> None:
    texts = ["我喜欢喝茶，因为茶很好喝。", "今日は天気がいいから散歩しましょう。", "短い"]
    dev = split_halves(texts, "notes")
    assert ["".join(pair) for pair in dev.pairs] == texts[:2]
    assert dev.pairs[0] == ("我喜欢喝茶，", "因为茶很好喝。")


def test_no_text_that_is_held_out_is_trained_on() -> None:
    texts = [f"text {at % 30}" for at in range(40)]
    data = Dataset({"anchor": texts, "positive": texts[::-1]}, labels=[float(at) for at in range(40)])
    rest, held = data.split(5, seed=3)
    seen = {text for column in held.columns.values() for text in column}
    assert len(held) == 5 and 0 < len(rest) <= 35
    assert not seen & {text for column in rest.columns.values() for text in column}
    assert rest.labels is not None and all(
        (texts[int(label)], texts[39 - int(label)]) == pair
        for label, pair in zip(rest.labels, zip(*rest.columns.values(), strict=True), strict=True)
    )
    again, _ = data.split(5, seed=3)
    assert again == rest and data.split(5, seed=4)[1] != held


@pytest.mark.parametrize(
    ("columns", "labels", "said"),
    [
        ({"text": ["a"]}, None, r"has columns text\. One has to be called anchor"),
        ({}, None, r"has columns \(none\)"),
        ({"anchor": ["a", "b"], "positive": ["c"]}, None, "of different lengths: anchor 2, positive 1"),
        ({"anchor": ["a", "b"]}, [1.0], "of different lengths: anchor 2, labels 1"),
    ],
)
def test_columns_that_do_not_fit_are_told(columns: Any, labels: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Dataset(columns, labels)
