"""scripts/encoders/train_default.py: what the shipped encoder is trained on, and what teaches it."""

from __future__ import annotations

import importlib
import random
import string
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def teachers() -> ModuleType:
    return importlib.import_module("scripts.encoders.teachers")


def bare(text: str) -> str:
    return text.casefold().translate(str.maketrans("", "", string.punctuation + string.whitespace))


@pytest.fixture(scope="module")
def texts(data: Path) -> Iterator[ModuleType]:
    """The module that makes the texts; the STS sets are read once for all of its stages."""
    texts = importlib.import_module("scripts.encoders.texts")
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(texts, "DATA", data)
        changed.setattr(texts, "Allowed", cache(texts.Allowed))
        yield texts


@pytest.mark.parametrize(
    "stage",
    [
        pytest.param("mixed", marks=pytest.mark.long),
        "widened",
        "triplets",
        "ranked",
        "sentences",
    ],  # widened is mixed and more
)
def test_no_text_of_an_sts_set_is_trained_on(stage: str, texts: ModuleType, data: Path) -> None:
    lines = (line for part in ("train", "dev", "test") for line in read(data, part))
    seen = {bare(cell) for line in lines for cell in line.split("\t")[5:7]}
    trained = {bare(each) for column in getattr(texts, stage)(random.Random(0)).columns.values() for each in column}
    assert len(seen) > 10_000
    assert not {each for each in seen & trained if len(each) > texts.SHORT}


def read(data: Path, part: str) -> list[str]:
    (file,) = (data / "sts" / "senteval").rglob(f"sts-{part}.csv")
    return file.read_text(encoding="utf-8").splitlines()


class Fixed:
    """An encoder whose vector of a text is drawn by the text alone."""

    def __init__(self, width: int) -> None:
        self.width = width

    def encode(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        return np.stack([np.random.default_rng([self.width, *text.encode()]).normal(size=self.width) for text in texts])


def test_two_teachers_are_as_alike_as_the_weighted_mean_of_their_cosines(teachers: ModuleType) -> None:
    first, second = Fixed(24), Fixed(6)
    fitted = [f"text {at}" for at in range(400)]
    asked = fitted[:50]
    mix = teachers.Mix(power=1e-9, weight=0.5, static_power=1e-9)
    both = teachers.Both(first.encode, second, fitted, mix)

    def cosines(one: Any) -> Any:
        # whitening takes the mean off, whatever its power
        middle = teachers.unit(one.encode(fitted)).mean(axis=0)
        unit = teachers.unit(teachers.unit(one.encode(asked)) - middle)
        return unit @ unit.T

    wanted = (cosines(first) + 0.25 * cosines(second)) / 1.25
    vectors = both.encode(asked)
    assert vectors.shape == (50, 24)
    assert np.corrcoef((vectors @ vectors.T).ravel(), wanted.ravel())[0, 1] > 0.9  # 24 numbers hold most of 30
    alone = teachers.Both(first.encode, second, fitted, teachers.Mix(power=1e-9, weight=0)).encode(asked)
    assert alone @ alone.T == pytest.approx(cosines(first), abs=1e-5)


def test_a_student_of_two_teachers_starts_near_the_first(teachers: ModuleType) -> None:
    first, fitted = Fixed(24), [f"text {at}" for at in range(400)]
    both = teachers.Both(first.encode, Fixed(6), fitted, teachers.Mix(power=1e-9, weight=0))
    assert (both.encode(fitted) * teachers.unit(first.encode(fitted))).sum(axis=1).min() > 0.9
