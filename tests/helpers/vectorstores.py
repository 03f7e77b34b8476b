"""Stores of cheap vectors for tests: documents of one-word passages, vectors around a few centres."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from semsearch.stores.local import LocalWriter, create
from semsearch.stores.records import Entry, Space
from semsearch.types import Document, Passage
from semsearch.utils.vectors import unit_rows

DIM = 16


def some_vectors(count: int, *, seed: int = 0, dim: int = DIM) -> np.ndarray:
    """(count, dim) unit rows around a hundred centres."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(100, dim))
    return unit_rows(centres[random.integers(0, 100, count)] + 0.4 * random.normal(size=(count, dim)))


def entry(uri: str, vectors: np.ndarray) -> Entry:
    """A document with one passage of one word for each row of `vectors`."""
    words = [f"word{position}" for position in range(len(vectors))]
    passages, at = [], 0
    for word in words:
        passages.append(Passage(at, at + len(word), word))
        at += len(word) + 1
    return Entry(Document(uri, " ".join(words)), None, passages, vectors)


def add(store: LocalWriter, space: Space, count: int, *, name: str = "d", seed: int = 0, each: int = 100) -> list[str]:
    """Add `count` passages in documents of `each`; their uris."""
    vectors = some_vectors(count, seed=seed, dim=space.dim)
    entries = [entry(f"{name}{at}", vectors[at : at + each]) for at in range(0, count, each)]
    store.replace(entries, space.id)
    return [one.document.id for one in entries]


def new(folder: Path, count: int = 0, *, dim: int = DIM) -> tuple[LocalWriter, Space]:
    """A store that is open for writing, with `count` passages."""
    store = create(folder)
    space = store.put_space(Space(0, "fingerprint", "test", dim, {}))
    if count:
        add(store, space, count)
    return store, space


def truth(
    store: LocalWriter, space: Space, queries: np.ndarray, k: int, allowed: Sequence[int] | None = None
) -> list[list[int]]:
    """The k nearest ids of each query, by brute force over what the store holds now."""
    parts = list(store.reader.vectors(space.id))
    ids = np.concatenate([np.empty(0, np.int64), *(part for part, _ in parts)])
    stored = np.concatenate([np.empty((0, space.dim), np.float32), *(part for _, part in parts)])
    if allowed is not None:
        stored, ids = stored[np.isin(ids, allowed)], ids[np.isin(ids, allowed)]
    return [ids[np.argsort(-(stored @ query), kind="stable")[:k]].tolist() for query in queries]
