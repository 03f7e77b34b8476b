"""Stores for tests: documents whose passages are their sentences, with vectors that follow from the text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers.opened import all_stamps, reader_of
from semsearch.encoders.hashing import HashingEncoder
from semsearch.stores.local import LocalWriter, create
from semsearch.stores.records import Entry, Source, Space
from semsearch.types import Document, Passage
from semsearch.utils.strength import Null, NullDistribution

if TYPE_CHECKING:
    from semsearch.types import Vectors

DIM = 16
WIDE, NARROW = HashingEncoder(), HashingEncoder(64)


def vectors_of(texts: Sequence[str], dim: int = DIM) -> Vectors:
    """A unit row for each text; the same text always has the same one."""
    seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts]
    rows = np.array([np.random.default_rng(seed).normal(size=dim) for seed in seeds]).reshape(len(texts), dim)
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)


def entry(uri: str, text: str, *, source: int | None = None, dim: int = DIM, **rest: Any) -> Entry:
    """A document cut at its full stops."""
    passages, start = [], 0
    for part in text.split(". "):
        if part:
            passages.append(Passage(start, start + len(part), part))
        start += len(part) + 2
    return Entry(Document(uri, text, **rest), source, passages, vectors_of([p.text for p in passages], dim))


def source(path: str = "a.md", *, root: str = "/notes", mtime_ns: int = 5, sha256: str = "ab") -> Source:
    return Source(root, path, mtime_ns, 10, sha256, "text")


def made(folder: Path, count: int = 0, *, dim: int = DIM) -> tuple[LocalWriter, Space]:
    """A new store with one space and `count` documents of two passages."""
    store = create(folder)
    space = store.put_space(Space(0, "fingerprint", "stand-in", dim, {"name": "stand-in"}))
    texts = {f"d{n}": f"Engine number {n} runs. 日本語の文章 {n}" for n in range(count)}
    store.replace([entry(uri, text, dim=dim) for uri, text in texts.items()], space.id)
    return store, space


def contents(store: LocalWriter) -> dict[str, list[str]]:
    """{document: its passages in order}, read the way a search reads them."""
    reader = reader_of(store)
    return {uri: [p.text for p in reader.passages(reader.passage_ids([uri]))] for uri in all_stamps(store)}


def measured_null(passages: int) -> NullDistribution:
    """What unanswerable questions reach, in two languages."""
    nulls = (Null(each, (1.0, 2.0), (0.1, 0.2, 0.05), (0.3, 0.4, 0.06)) for each in ("de", "en"))
    return NullDistribution(tuple(nulls), passages)
