"""Word contributions: how much each word of two texts brings their vectors together, found by leaving it out.

Sources: Li, Monroe and Jurafsky 2016, Understanding Neural Networks through Representation Erasure,
https://arxiv.org/abs/1612.08220; for images, where the method is called occlusion, Zeiler and Fergus 2014,
https://arxiv.org/abs/1311.2901. Only the vectors of an encoder are needed, so every encoder can be asked.

One word is left out at a time. Two words that say the same cover for each other, so that both may seem to add nothing;
the changes do not add up to the cosine.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from semsearch.errors import UsageError
from semsearch.evaluation.sts import cosines
from semsearch.types import EncoderLike
from semsearch.utils.languages.writing_systems import IDEOGRAPHIC

MOST_WORDS = 200  # of a text: each is one more text to encode
_ATOM = re.compile(rf"[{IDEOGRAPHIC}]|[^\s{IDEOGRAPHIC}]+")


@dataclass(frozen=True, slots=True)
class WordContribution:
    """A word of a text, text[start:end], and by how much the cosine falls when it is left out; below 0 it rises."""

    word: str
    start: int
    end: int
    change: float


def word_contributions(
    encoder: EncoderLike, first: str, second: str
) -> tuple[list[WordContribution], list[WordContribution]]:
    """The words of both texts in order, with the cosine of the texts minus that without the word.

    Words end at spaces, without the punctuation around them; a Chinese or Japanese character is a word. Raises
    UsageError for a text without words, or with more than 200.

    >>> from semsearch import Encoder
    >>> one, other = word_contributions(Encoder.load("hashing"), "a red car", "the red bus")
    >>> max(one, key=lambda each: each.change).word
    'red'
    """
    spans = [words_of(text) for text in (first, second)]
    for text, words in zip((first, second), spans, strict=True):
        if not words:
            raise UsageError(f"the text {text!r} has no words.", "Write a sentence.")
        if len(words) > MOST_WORDS:
            raise UsageError(f"a text has {len(words)} words, and at most {MOST_WORDS} are compared.", "Shorten it.")
    pairs = [(first, second), *((_without(first, *span), second) for span in spans[0])]
    pairs += [(first, _without(second, *span)) for span in spans[1]]
    whole, *rest = cosines(pairs, encoder).tolist()
    changes = iter(whole - each for each in rest)
    return _with(first, spans[0], changes), _with(second, spans[1], changes)


def words_of(text: str) -> list[tuple[int, int]]:
    """Start and end of each word.

    >>> words_of("“Well, it's 5 °C!”")
    [(1, 5), (7, 11), (12, 13), (15, 16)]
    """
    spans = []
    for atom in _ATOM.finditer(text):
        start, end = atom.span()
        while start < end and _is_punctuation(text[start]):
            start += 1
        while start < end and _is_punctuation(text[end - 1]):
            end -= 1
        if start < end:
            spans.append((start, end))
    return spans


def _is_punctuation(letter: str) -> bool:
    return unicodedata.category(letter)[0] in "PSC"


def _without(text: str, start: int, end: int) -> str:
    return " ".join((text[:start] + text[end:]).split())


def _with(text: str, spans: list[tuple[int, int]], changes: Iterator[float]) -> list[WordContribution]:
    return [WordContribution(text[start:end], start, end, next(changes)) for start, end in spans]
