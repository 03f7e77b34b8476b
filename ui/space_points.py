"""An index in two dimensions: which passages, where they lie, what colours them; kept by path, version and settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import streamlit as st

from semsearch import Index, VectorSample

from . import clusters, narrow
from .clusters import Codes, Floats

MOST = 20_000  # points: more of them, and the browser is no longer fluid
LETTERS = 400  # of a passage's text
GROUPS = 18  # that are told apart by colour and shape; what remains is grey
OTHERS, NOTHING = "all others", "not given"
CLUSTER, FOLDER = "cluster", "folder"


@dataclass(frozen=True, slots=True)
class Points:
    """Passages of an index. `key` is another one after every change of the index."""

    key: tuple[str, int, int]
    sample: VectorSample

    def __len__(self) -> int:
        return len(self.sample)


@dataclass(frozen=True, slots=True, eq=False)
class Colours:
    """What colours the points: of each its group, -1 for the grey ones, or its number (NaN where there is none)."""

    title: str
    names: tuple[str, ...] = ()
    codes: Codes | None = None
    numbers: tuple[float, ...] = ()


def points(index: Index) -> Points:
    """The passages of an index, or a fixed sample of them."""
    key = (str(index.path), (index.path / "store.db").stat().st_ino, index.version)
    return Points(key, _sample(*key, index))


@st.cache_resource(max_entries=4, show_spinner="Reading the vectors …")  # shared and only read
def _sample(path: str, file: int, version: int, _index: Index) -> VectorSample:
    return _index.sample_vectors(MOST, letters=LETTERS)


def pca(given: Points) -> tuple[Floats, float]:
    """(n, 2) where the points lie along the two directions in which they differ most; the share of all differences."""
    return _pca(given.key, given.sample)


@st.cache_data(max_entries=16, show_spinner=False)
def _pca(key: tuple[str, int, int], _sample: VectorSample) -> tuple[Floats, float]:
    return principal(_sample.vectors)


def principal(vectors: Floats) -> tuple[Floats, float]:
    """Principal components, always the same way round: the largest weight of each is above 0."""
    if not len(vectors):
        return np.zeros((0, 2), np.float32), 0.0
    centred = vectors - vectors.mean(axis=0)
    spread, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    axes = directions[:, ::-1][:, :2]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    placed = np.zeros((len(vectors), 2), np.float32)
    placed[:, : axes.shape[1]] = centred @ axes.astype(np.float32)
    return placed, float(spread[::-1][:2].sum() / spread.sum()) if spread.sum() > 0 else 1.0


def has_umap() -> bool:
    """Whether UMAP can be computed here."""
    return find_spec("umap") is not None


def umap(given: Points) -> tuple[tuple[Any, ...], Callable[[], Floats]]:
    """What is asked for, and the work that gives (n, 2): UMAP (McInnes et al. 2018) by cosine, with a fixed seed."""
    vectors = given.sample.vectors

    def work() -> Floats:
        near = min(15, len(vectors) - 1)
        made = import_module("umap").UMAP(n_components=2, n_neighbors=near, metric="cosine", random_state=0)
        return np.asarray(made.fit_transform(vectors), np.float32)

    return ("umap", given.key), work


def ways(given: Points) -> list[str]:
    """What the points can be coloured by."""
    return [CLUSTER, FOLDER, *(f"{facet.key} (metadata)" for facet in _facets(given.key, given.sample))]


@st.cache_data(max_entries=16, show_spinner=False)
def _facets(key: tuple[str, int, int], _sample: VectorSample) -> list[narrow.Facet]:
    return narrow.facets({"metadata": each} for each in _sample.metadata)


def colours(given: Points, way: str, k: int) -> Colours:
    """The groups of the points: k clusters, the folders, or the values of a metadata key."""
    if way == CLUSTER:
        names, codes = _clusters(given.key, k, given.sample)
        return Colours(way, tuple(names), codes)
    if way == FOLDER:
        return grouped(way, folders(given.sample.documents))
    facet = next(each for each in _facets(given.key, given.sample) if f"{each.key} (metadata)" == way)
    values = [each.get(facet.key) for each in given.sample.metadata]
    if facet.bounds:
        return Colours(facet.key, numbers=tuple(_number(value) for value in values))
    return grouped(facet.key, [NOTHING if value is None else str(value) for value in values])


@st.cache_data(max_entries=32, show_spinner="Finding clusters …")
def _clusters(key: tuple[str, int, int], k: int, _sample: VectorSample) -> tuple[list[str], Codes]:
    codes = clusters.clusters(_sample.vectors, k)
    return clusters.names(_sample.texts, codes), codes


def near(given: Points) -> tuple[tuple[Any, ...], Callable[[], Any]]:
    """What is asked for, and the work that gives the pairs of passages of different documents that nearly agree."""
    return ("near", given.key), lambda: clusters.near(given.sample.vectors, given.sample.documents)


def grouped(title: str, values: Sequence[str]) -> Colours:
    """Groups by value, the most frequent first; of the rare ones, beyond GROUPS, code -1."""
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    names = sorted(counts, key=lambda name: (-counts[name], name))[:GROUPS]
    code = {name: at for at, name in enumerate(names)}
    return Colours(title, tuple(names), np.array([code.get(value, -1) for value in values], np.int64))


def folders(documents: Sequence[str]) -> list[str]:
    """The folder of each document below what all have in common.

    >>> folders(["notes/cars/a.txt", "notes/cars/old/b.txt", "notes/c.txt"])
    ['cars', 'cars', '(no folder)']
    """
    parts = [document.split("/")[:-1] for document in documents]
    shared = 0
    while parts and all(len(each) > shared and each[shared] == parts[0][shared] for each in parts):
        shared += 1
    if parts and all(len(each) == shared for each in parts):  # all in one folder
        shared = max(0, shared - 1)
    return [each[shared] if len(each) > shared else "(no folder)" for each in parts]


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")
