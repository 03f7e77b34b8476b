"""The points of the map: a sample of passages, their positions, colours and days, cached by the index's state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from itertools import takewhile
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from semsearch import Index
from semsearch.types import Facet, VectorSample

from ..shared import pool

Floats: TypeAlias = NDArray[np.float32]
Codes: TypeAlias = NDArray[np.int64]
MOST = 100_000  # points: scripts/bench/map.py measures how a browser copes
MOST_UMAP = 30_000  # points: some minutes on one core, once
LETTERS = 400  # characters of a passage's text
GROUPS = 10  # that differ in colour and shape; the rest is grey
OTHERS, NOTHING = "all others", "not given"
TOPIC, FOLDER = "topic", "folder"
Key = tuple[str, int, int, int]  # path, inode and version of the index, and the size of the sample


@dataclass(frozen=True, slots=True)
class Points:
    """Passages of an index, laid out by PCA.

    `key` changes with every change of the index, `content` only when the vectors are others.
    """

    key: Key
    sample: VectorSample
    places: Floats  # (n, 2), by PCA
    explained: float  # the share of the variance along its axes
    content: str

    def __len__(self) -> int:
        return len(self.sample)


BY_KEY: Any = {Points: attrgetter("key")}  # how caches tell points apart


@dataclass(frozen=True, slots=True, eq=False)
class Colours:
    """The group of each point, -1 for the grey ones, or its number, NaN where there is none."""

    title: str
    names: tuple[str, ...] = ()
    codes: Codes | None = None
    numbers: tuple[float, ...] = ()

    def code(self, name: str) -> int | None:
        """The code of a group by its name; None for none."""
        if name and name in self.names:
            return self.names.index(name)
        return -1 if name == OTHERS and self.codes is not None and (self.codes < 0).any() else None


def sample(index: Index, most: int) -> Points:
    """The passages of an index; of more than `most` a fixed sample."""
    return _sample((*pool.state(index), most), index)


@st.cache_resource(max_entries=3, show_spinner="Reading the vectors …")  # shared and only read
def _sample(key: Key, _index: Index) -> Points:
    laid_out = _index.analysis.layout(key[-1], method="pca", letters=LETTERS)
    content = sha256(laid_out.sample.ids.tobytes() + laid_out.sample.vectors[:1].tobytes()).hexdigest()
    return Points(key, laid_out.sample, laid_out.places, laid_out.explained or 0.0, content)


def ways(index: Index) -> list[str]:
    """The ways to colour the points."""
    return [TOPIC, *_kinds(index)]


def facets(index: Index) -> list[Facet]:
    """The facets of the index."""
    return _facets(pool.state(index), index)


@st.cache_data(max_entries=16, show_spinner=False)
def _facets(key: tuple[str, int, int], _index: Index) -> list[Facet]:
    return _index.analysis.facets()


def _kinds(index: Index) -> dict[str, tuple[str, str]]:
    """By their labels: the folder, then the metadata keys with several values; each with its kind."""
    kinds = ("number", "date", "words", "flag")
    shown = (each for each in facets(index) if not each.builtin and each.kind in kinds)
    return {FOLDER: (FOLDER, FOLDER), **{f"{each.key} (metadata)": (each.key, each.kind) for each in shown}}


def colours(points: Points, index: Index, way: str) -> Colours:
    """The colours by the folders, or by the values of a metadata key."""
    return _values(points, *_kinds(index)[way])


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=BY_KEY)
def _values(points: Points, name: str, kind: str) -> Colours:
    if kind == FOLDER:
        return grouped(name, folders(points.sample.documents))
    values = [each.get(name) for each in points.sample.metadata]
    if kind in ("number", "date"):
        return Colours(name, numbers=tuple(_year(one) if kind == "date" else _number(one) for one in values))
    return grouped(name, [NOTHING if value is None else str(value) for value in values])


def grouped(title: str, values: Sequence[str]) -> Colours:
    """Groups by value, the most frequent first; code -1 for the rare ones beyond GROUPS."""
    counts = Counter(values)
    names = sorted(counts, key=lambda name: (-counts[name], name))[:GROUPS]
    code = {name: at for at, name in enumerate(names)}
    return Colours(title, tuple(names), np.array([code.get(value, -1) for value in values], np.int64))


def folders(documents: Sequence[str]) -> list[str]:
    """The folder of each document, below the folders that all have in common.

    >>> folders(["notes/cars/a.txt", "notes/cars/old/b.txt", "notes/c.txt"])
    ['cars', 'cars', '(no folder)']
    """
    parts = [document.split("/")[:-1] for document in documents]
    shared = len(list(takewhile(lambda level: len(set(level)) == 1, zip(*parts, strict=False))))
    if all(len(each) == shared for each in parts):  # all in one folder
        shared = max(0, shared - 1)
    return [each[shared] if len(each) > shared else "(no folder)" for each in parts]


def days(on: Points, index: Index) -> Floats | None:
    """The number of each point's day (`date.toordinal`), NaN for none; None where all have one day."""
    dated = any(each.builtin and each.kind == "date" for each in facets(index))
    return _days(on, index) if dated else None


@st.cache_resource(max_entries=4, show_spinner="Reading the dates …", hash_funcs=BY_KEY)
def _days(on: Points, _index: Index) -> Floats | None:
    by_document = _index.analysis.days(list(dict.fromkeys(on.sample.documents)))
    number = {name: float(date.fromisoformat(day).toordinal()) for name, day in by_document.items()}
    numbers = np.array([number.get(name, np.nan) for name in on.sample.documents], np.float32)
    seen = numbers[~np.isnan(numbers)]
    return numbers if len(seen) and seen.min() < seen.max() else None


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")


def _year(value: object) -> float:
    """An ISO date as a fractional year.

    >>> _year("2021-07-02"), _year(None)
    (2021.5, nan)
    """
    try:
        day = date.fromisoformat(str(value)[:10])
    except ValueError:
        return float("nan")
    return round(day.year + (day.timetuple().tm_yday - 1) / 365, 2)
