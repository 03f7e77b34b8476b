"""The points of the map: a sample of passages, their positions and their colours, cached by the state of the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import takewhile
from operator import attrgetter
from typing import Any

import numpy as np
import streamlit as st

from semsearch import Index
from semsearch.evaluation import group_names
from semsearch.types import VectorSample

from ..shared import background, pool
from . import clusters
from .clusters import Codes, Floats

MOST = 100_000  # points: scripts/bench_map.py measures how a browser copes
MOST_UMAP = 10_000  # points: half a minute on one core, and it grows faster than they do
LETTERS = 400  # characters of a passage's text
GROUPS = 10  # that differ in colour and shape; the rest is grey
OTHERS, NOTHING = "all others", "not given"
CLUSTER, FOLDER = "cluster", "folder"
Key = tuple[str, int, int, int]  # path, inode and version of the index, and the size of the sample


@dataclass(frozen=True, slots=True)
class Points:
    """Passages of an index. `key` changes with every change of the index."""

    key: Key
    sample: VectorSample

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
    return Points(key, _index.sample_vectors(key[-1], letters=LETTERS))


@st.cache_data(max_entries=16, show_spinner=False, hash_funcs=BY_KEY)
def pca(points: Points) -> tuple[Floats, float]:
    """Positions (n, 2) along the two principal components; the share of the variance that they explain."""
    return principal(points.sample.vectors)


def principal(vectors: Floats) -> tuple[Floats, float]:
    """Principal components with a fixed sign: the largest weight of each is above 0."""
    if not len(vectors):
        return np.zeros((0, 2), np.float32), 0.0
    centred = vectors - vectors.mean(axis=0)
    spread, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    axes = directions[:, ::-1][:, :2]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    placed = np.zeros((len(vectors), 2), np.float32)
    placed[:, : axes.shape[1]] = centred @ axes.astype(np.float32)
    return placed, float(spread[::-1][:2].sum() / spread.sum()) if spread.sum() > 0 else 1.0


def ways(index: Index) -> list[str]:
    """The ways to colour the points."""
    return [CLUSTER, *_kinds(pool.state(index), index)]


@st.cache_data(max_entries=16, show_spinner=False)
def _kinds(key: tuple[str, int, int], _index: Index) -> dict[str, tuple[str, str]]:
    """By their labels: the folder, then the metadata keys with several values; each with its kind."""
    shown = (each for each in _index.facets() if not each.builtin and each.kind in ("number", "date", "words", "flag"))
    return {FOLDER: (FOLDER, FOLDER), **{f"{each.key} (metadata)": (each.key, each.kind) for each in shown}}


def colours(points: Points, index: Index, way: str, k: int) -> Colours:
    """The colours: k clusters, folders, or the values of a metadata key; all grey while clusters are computed."""
    if way == CLUSTER:
        vectors, texts = points.sample.vectors, points.sample.texts
        work, key = lambda: _clusters(vectors, texts, k), ("clusters", points.key, k)
        found = background.result(key, work, "Computing clusters …")
        return found or Colours(way, codes=np.full(len(points), -1, np.int64))
    return _values(points, *_kinds(pool.state(index), index)[way])


def _clusters(vectors: Floats, texts: Sequence[str], k: int) -> Colours:
    codes = clusters.clusters(vectors, k)
    return Colours(CLUSTER, tuple(group_names(texts, codes)), codes)


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
