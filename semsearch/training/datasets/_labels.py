"""Labels as people write them, as numbers that grow with how alike two texts are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

NLI = ("contradiction", "neutral", "entailment")
ORDERS = (NLI, ("not_entailment", "entailment"), ("false", "true"), ("no", "yes"))  # least alike first
NOTHING = ("", "-", "none", "null", "nan", "n/a")  # SNLI writes - where its judges did not agree
NO_GOLD, NOT_KNOWN = "no gold label", "a label that is no number and no word that is known (see --labels)"


def values(words: Iterable[str], role: Literal["score", "label"], order: Sequence[str] = ()) -> Mapping[str, float]:
    """Each word that is a label, and its number: of `order` its place, else itself, or its place among ORDERS.

    A label of -1 says that there is none, as the data sets of Hugging Face write it; a score of -1 is one.

    >>> dict(values(["entailment", "Neutral", "-"], "label"))
    {'entailment': 2.0, 'Neutral': 1.0}
    """
    plain = {word: word.strip().lower() for word in words}
    there = {each for each in plain.values() if not is_nothing(each, role)}
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


def is_nothing(word: str, role: Literal["score", "label"]) -> bool:
    """Whether a label says that there is none."""
    return word.strip().lower() in NOTHING or (role == "label" and word.strip() in ("-1", "-1.0"))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
