"""Labels as data sets write them, converted to numbers that grow with similarity."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

NLI = ("contradiction", "neutral", "entailment")
ORDERS = (NLI, ("not_entailment", "entailment"), ("false", "true"), ("no", "yes"))  # least similar first
MISSING = ("", "-", "none", "null", "nan", "n/a")  # SNLI writes - where its annotators disagreed
NO_GOLD, UNKNOWN = "no gold label", "a label that is neither a number nor a known word (see --labels)"


def to_numbers(words: Iterable[str], role: Literal["score", "label"], order: Sequence[str] = ()) -> Mapping[str, float]:
    """Each valid label and its number: its index in `order`, by default its value, or its index in one of ORDERS.

    A label of -1 means none, as in the data sets of Hugging Face; a score of -1 is valid.

    >>> dict(to_numbers(["entailment", "Neutral", "-"], "label"))
    {'entailment': 2.0, 'Neutral': 1.0}
    """
    plain = {word: word.strip().lower() for word in words}
    there = {each for each in plain.values() if not is_missing(each, role)}
    places = {name.lower(): float(at) for at, name in enumerate(order)}
    if not order:
        best = max(ORDERS, key=lambda each: len(there.intersection(each)))
        places = {name: float(at) for at, name in enumerate(best)} if there.intersection(best) else {}
    found = {}
    for word, each in plain.items():
        number = places.get(each) if places else _number(each)
        if number is not None and each in there:
            found[word] = number
    return found


def is_missing(word: str, role: Literal["score", "label"]) -> bool:
    """Whether a label means that there is none."""
    return word.strip().lower() in MISSING or (role == "label" and word.strip() in ("-1", "-1.0"))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
