"""What an index holds, and how it differs from that of a clean run: for trials of faults."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from semsearch import Index
from semsearch.stores import drivers

NEAR = 0.9999  # cosine: vectors of 16 bits, texts encoded in other batches

Vectors = dict[str, np.ndarray]  # the vector of every passage, by document and beginning


def contents(location: Path) -> Vectors:
    """Of the index at `location`, in its first space."""
    return {key(document, start): vector for (document, start), (_, vector) in stored(location).items()}


def stored(location: Path) -> dict[tuple[str, int], tuple[str, np.ndarray]]:
    """The text and the vector of every passage of the index at `location`, by document and beginning.

    Read in few calls, for an index on a server too; passages without a vector are left out.
    """
    results = {}
    with drivers.find(location).open_reader(location) as reader:
        for ids, rows in reader.vectors(reader.state().spaces[0].id):
            by_id = dict(zip(ids.tolist(), rows, strict=True))
            for one in reader.passages(ids):
                results[one.document, one.start] = one.text, by_id[one.id].astype(np.float64)
    return results


def near(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two vectors can be those of one text."""
    return float(one @ other) >= NEAR * float(np.linalg.norm(one) * np.linalg.norm(other))


def key(uri: str, start: int) -> str:
    """The name of a passage."""
    return f"{uri}\0{start}"


def document(key: str) -> str:
    """The document of a passage."""
    return key.partition("\0")[0]


def compared(location: Path, clean: Vectors, acknowledged: set[str]) -> dict[str, int]:
    """Differences of an index from the vectors of a clean run. acknowledged: documents that have to be there.

    vectors_differ: of passages in both, those whose cosine is below NEAR.
    """
    there = contents(location)
    with Index.open(location) as index:
        problems, counts = index.analysis.verify(), index.info()
    return {
        "acknowledged": len(acknowledged),
        "lost": len(acknowledged - {document(one) for one in there}),
        "missing": len(clean.keys() - there.keys()),
        "left_over": len(there.keys() - clean.keys()) + abs(counts["vectors"] - len(clean)),
        "vectors_differ": sum(not near(there[one], clean[one]) for one in there.keys() & clean.keys()),
        "problems": len(problems),
    }
