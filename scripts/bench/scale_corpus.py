"""The passages, queries and filters of scale.py, and exact answers to compare with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scripts.bench.wiki_vectors import sentences
from semsearch import Index
from semsearch.stores.local import LocalWriter, open_writer
from semsearch.stores.records import Entry, Space
from semsearch.types import Document, Passage
from semsearch.utils.vectors import unit_rows

K = 10
BATCH = 2_000  # documents of a transaction
QUERIES = 200
FILTERS = {"": "all", 'topic = "science"': "50 %", "shelf = 3": "5 %", "box = 7": "0.1 %"}
BLOCK = 50_000  # vectors compared at a time


@dataclass(frozen=True)
class Corpus:
    """rows (n, d) float16 to index, queries (q, d) float32 that are not among them."""

    rows: NDArray[np.float16]
    queries: NDArray[np.float32]

    @property
    def dim(self) -> int:
        return int(self.rows.shape[1])

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The position of each block of rows, and its unit rows."""
        for at in range(0, len(self.rows), BLOCK):
            yield at, unit_rows(self.rows[at : at + BLOCK])


def load(folder: Path, count: int) -> Corpus:
    """The first `count` rows of FOLDER/rows.npy, and the queries of FOLDER/queries.npy. `make` writes both."""
    rows = np.load(folder / "rows.npy", mmap_mode="r")[:count]
    return Corpus(rows, unit_rows(np.load(folder / "queries.npy")[:QUERIES]))


def make(parts: Path, folder: Path, count: int) -> int:
    """Write rows.npy and queries.npy from the parts of wiki_vectors.py; how many rows are vectors of sentences.

    The last thousand sentences are the queries. Where fewer than `count` are embedded yet, the other rows are mixtures
    of two of them with noise.
    """
    real = np.concatenate([np.load(part) for part in sorted(parts.glob("*.npy"))])
    real, queries = real[:-1000][:count], real[-1000:]
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "queries.npy", queries)
    rows = np.lib.format.open_memmap(folder / "rows.npy", "w+", np.float16, (count, real.shape[1]))
    rows[: len(real)] = real
    random = np.random.default_rng(0)
    for at in range(len(real), count, BLOCK):
        rows[at : at + BLOCK] = _mixtures(real, min(BLOCK, count - at), random)
    return len(real)


def _mixtures(real: NDArray[np.float16], count: int, random: np.random.Generator) -> NDArray[np.float32]:
    one, other = random.integers(0, len(real), (2, count))
    weight = random.uniform(0.55, 0.85, (count, 1)).astype(np.float32)
    noise = 0.35 / np.sqrt(real.shape[1]) * random.normal(size=(count, real.shape[1]))
    return unit_rows(weight * real[one] + (1 - weight) * real[other] + noise)


def metadata(at: int) -> dict[str, object]:
    """The fields of passage `at`, which its text has nothing to do with."""
    mixed = at * 2654435761 >> 16
    return {"topic": "science" if mixed % 2 else "arts", "shelf": mixed % 20, "box": (at * 40503 >> 3) % 1000}


def passing(where: str, count: int) -> NDArray[np.bool_]:
    """(n,) whether each passage passes a filter of FILTERS."""
    at = np.arange(count, dtype=np.int64)
    mixed = at * 2654435761 >> 16
    chosen: dict[str, NDArray[np.bool_]] = {
        'topic = "science"': mixed % 2 == 1,
        "shelf = 3": mixed % 20 == 3,
        "box = 7": (at * 40503 >> 3) % 1000 == 7,
    }
    return chosen.get(where, np.ones(count, dtype=bool))


def tenth(corpus: Corpus) -> dict[str, NDArray[np.float32]]:
    """For each filter (q,): the cosine that a hit has to reach to be among the ten right ones."""
    masks = {where: passing(where, len(corpus.rows)) for where in FILTERS}
    best = {where: np.full((len(corpus.queries), K), -1, dtype=np.float32) for where in FILTERS}
    for at, vectors in corpus.blocks():
        scores = corpus.queries @ vectors.T
        for where, mask in masks.items():
            some = scores[:, mask[at : at + BLOCK]]
            joined = np.concatenate([best[where], some], axis=1)
            best[where] = -np.partition(-joined, K - 1, axis=1)[:, :K]
    return {where: results.min(axis=1) for where, results in best.items()}


def limits(folder: Path, count: int) -> dict[str, NDArray[np.float32]]:
    """`tenth` of a corpus by the labels of the filters; computed once and kept."""
    file = folder / f"truth-{count}.npy"
    if not file.exists():
        results = tenth(load(folder, count))
        np.save(file, np.stack([results[where] for where in FILTERS]))
    return dict(zip(FILTERS.values(), np.load(file), strict=True))


def summary(wall: Sequence[float], cpu: Sequence[float], hits: int, allowed: int) -> dict[str, float]:
    """Milliseconds: the first query, then median and 99th percentile; median of processor time; recall@10 in 0 … 1.

    allowed: the number of passages that pass the filter.
    """
    return {
        "first": wall[0],
        "p50": float(np.median(wall[1:])),
        "p99": float(np.percentile(wall[1:], 99)),
        "cpu": float(np.median(cpu[1:])),
        "recall": hits / max(1, min(K, allowed)) / (len(wall) - 1),
    }


def build_store(corpus: Corpus, folder: Path) -> None:
    """A semsearch index of the corpus; goes on where an earlier run was stopped."""
    if not folder.exists():
        Index.create(folder, encoder="minilm").close()
    with open_writer(folder) as writer:
        space = writer.reader.state().spaces[0]
        start = writer.reader.state().documents
        texts = sentences(len(corpus.rows), start)
        for at in range(start, len(corpus.rows), BATCH):
            _add(writer, space, corpus, at, texts)


def _add(writer: LocalWriter, space: Space, corpus: Corpus, at: int, texts: Iterator[str]) -> None:
    vectors = unit_rows(corpus.rows[at : at + BATCH])
    entries = [
        entry(f"w{at + row}", next(texts), metadata(at + row), vectors[row : row + 1]) for row in range(len(vectors))
    ]
    writer.replace(entries, space.id)


def entry(name: str, text: str, fields: dict[str, object], vector: NDArray[np.float32]) -> Entry:
    """A document of one passage."""
    return Entry(Document(name, text, fields), None, [Passage(0, len(text), text)], vector)
