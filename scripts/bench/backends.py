"""The backends on real vectors: time to build, bytes, time of a query, recall@10, with filters and without.

    python -m scripts.bench.backends                                   200,000 sentences, a static encoder (128 wide)
    python -m scripts.bench.backends --count 20000 --model default     the encoder that ships (384 wide)

Sentences are English Wikipedia's (`wiki_sentences_1m` of the data folder); the queries are other sentences of it. One
thread, one query at a time, medians of processor time, which other work on the machine disturbs least. Recall counts
hits whose cosine reaches the tenth right one. No re-scoring: in a search `nearest` fetches 2 k + 20 candidates and
orders them by the stored vectors, which can only be better.

200,000 x 128, static encoder, faiss 1.15.1, AMD EPYC: flat 7.9 ms; compressed 2.7 ms, recall@10 0.978, 160 bytes a
vector, built in 1.5 s; ivf 2.7 ms, 0.969, 176 bytes, 11 s. Real vectors ask for 128 candidates a neighbour where
synthetic ones ask for 16: one bit a dimension tells them apart less well.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before FAISS and numpy start their threads

import argparse
import json
import lzma
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from scripts.shared import machine
from scripts.shared.places import DATA
from semsearch import Encoder
from semsearch.utils import plugins
from semsearch.utils.vectors import unit_rows
from semsearch.vector_index import backends

STATIC = "weights/potion-base-4m-int8"  # model2vec: a row of a table for each token, averaged
SHARES = (1.0, 0.5, 0.05, 0.001)
QUERIES = 100
K = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200_000, help="sentences to index")
    parser.add_argument("--model", default="static", help="static, or what Encoder.load takes")
    parser.add_argument("--backends", nargs="*", default=["flat", "compressed", "ivf"], help="which to measure")
    given = parser.parse_args()
    began = time.perf_counter()
    texts = sentences(given.count + QUERIES)
    vectors = static(texts) if given.model == "static" else Encoder.load(given.model).encode(texts)
    stored, queries = vectors[: given.count], vectors[given.count :]
    print(f"{len(stored):,} x {stored.shape[1]}, {given.model}, encoded in {time.perf_counter() - began:.0f} s")
    print(machine.caption())
    columns = [f"ms, recall ({share:.1%} allowed)" for share in SHARES]
    print(f"| backend | build s | bytes a vector | {' | '.join(columns)} |\n|---|{'---|' * (len(columns) + 2)}")
    for name in given.backends:
        print(line(name, stored, queries))


def sentences(count: int) -> list[str]:
    """`count` sentences of Wikipedia, the same ones every time."""
    with lzma.open(DATA / "wiki_sentences_1m" / "wiki1m.txt.xz", "rt", encoding="utf-8") as lines:
        texts = [next(lines).strip() for _ in range(min(count, 1_000_000))]
    order = np.random.default_rng(0).permutation(len(texts))
    return [texts[at] for at in order]


def static(texts: list[str]) -> np.ndarray:
    """(n, 128) unit rows: mean of the table's rows of a text's tokens."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(DATA / STATIC / "tokenizer.json"))
    table = _table(DATA / STATIC / "model.safetensors")
    rows = []
    for at in range(0, len(texts), 10_000):
        for found in tokenizer.encode_batch_fast(texts[at : at + 10_000], add_special_tokens=False):
            rows.append(table[found.ids].mean(axis=0) if found.ids else np.zeros(table.shape[1], np.float32))
    return unit_rows(np.stack(rows))


def _table(file: Path) -> np.ndarray:
    raw = file.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    entry = json.loads(raw[8 : 8 + size])["embeddings"]
    start, end = entry["data_offsets"]
    kind = {"I8": np.int8, "F16": np.float16, "F32": np.float32}[entry["dtype"]]
    return np.frombuffer(raw[8 + size + start : 8 + size + end], kind).reshape(entry["shape"]).astype(np.float32)


def line(name: str, stored: np.ndarray, queries: np.ndarray) -> str:
    """One row of the table."""
    ids = np.arange(1, len(stored) + 1, dtype=np.int64)

    def chunks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return ((ids[at : at + 8192], stored[at : at + 8192]) for at in range(0, len(ids), 8192))

    began = time.process_time()
    index = plugins.load(backends, name).Backend.build(stored.shape[1], chunks, count=len(ids))
    took = time.process_time() - began
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "index")
        size = (Path(folder) / "index").stat().st_size / max(1, len(ids))
    cells = [measured(index, ids, stored, queries, share) for share in SHARES]
    return f"| {name} {getattr(index, 'settings', '') or ''} | {took:.1f} | {size:.0f} | {' | '.join(cells)} |"


def measured(index: Any, ids: np.ndarray, stored: np.ndarray, queries: np.ndarray, share: float) -> str:
    """Median processor ms of a query and recall@10, where `share` of all passages is allowed."""
    chosen = np.random.default_rng(1).random(len(ids)) < share if share < 1 else np.ones(len(ids), dtype=bool)
    allowed = None if share == 1 else ids[chosen]
    tenth = np.sort(queries @ stored[chosen].T, axis=1)[:, -K]
    took, hits = [], 0
    for query, limit in zip(queries, tenth, strict=True):
        began = time.thread_time()
        found, _ = index.search(query[None], K, allowed)
        took.append((time.thread_time() - began) * 1000)
        hits += int((stored[found[0] - 1] @ query >= limit - 1e-6).sum())
    return f"{median(took):.2f}, {hits / K / len(queries):.3f}"


if __name__ == "__main__":
    main()
