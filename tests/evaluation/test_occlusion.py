"""Contributions of words: the cosine of a pair, less that without the word, for any encoder."""

from __future__ import annotations

import pytest

from semsearch import Encoder, sts
from semsearch.errors import UsageError
from semsearch.evaluation import word_contributions
from semsearch.evaluation.papers.occlusion import words_of


@pytest.mark.parametrize("encoder", ["hashing", "minilm"])
def test_a_word_contributes_what_the_cosine_loses_without_it(encoder: str) -> None:
    first, second = "A man, not old, plays the guitar.", "An old man plays music."
    one, other = word_contributions(Encoder.load(encoder), first, second)
    assert [each.word for each in one] == ["A", "man", "not", "old", "plays", "the", "guitar"]
    assert [first[each.start : each.end] for each in one] == [each.word for each in one]
    without = [(first, second), ("A man, not old, plays the .", second), (first, "An old man plays .")]
    whole, less, least = sts(without, encoder).cosines
    assert one[-1].change == pytest.approx(whole - less, abs=1e-5)
    assert other[-1].change == pytest.approx(whole - least, abs=1e-5)


def test_a_common_word_brings_texts_together_and_a_foreign_one_holds_them_apart() -> None:
    one, _ = word_contributions(Encoder.load("hashing"), "diesel zeppelins", "diesel")
    assert one[0].change > 0.1 > -0.1 > one[1].change


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("“Well—well,” it's 5 °C!", ["Well—well", "it's", "5", "C"]),
        ("東京 tower", ["東", "京", "tower"]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया"]),
        ("… — !", []),
    ],
)
def test_words_are_told_apart_in_any_script(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in words_of(text)] == words


def test_texts_that_cannot_be_measured_are_refused() -> None:
    encoder = Encoder.load("hashing")
    with pytest.raises(UsageError, match="has no words"):
        word_contributions(encoder, "a car", "…")
    with pytest.raises(UsageError, match="has 201 words, and at most 200"):
        word_contributions(encoder, "car " * 201, "a car")
