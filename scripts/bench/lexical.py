"""Search by words at a million passages, beside plain FTS5 and tantivy.

    python -m scripts.bench.lexical FOLDER [--count 1000000] [--queries 100]

FOLDER keeps an index without an encoder from run to run: sentences of Wikipedia (`wiki_sentences_1m` of the data
folder). Where tantivy is installed, it is measured too, on the same texts with its English stemmer.

The queries are three words drawn from the sentences by document frequency, function words left out; the most frequent
words; and function words alone. Hybrid queries bring a vector, so nothing is encoded; the vectors are random and 8
wide, so the time is that of the words, of the fusion and of the hits. Each query runs once before it is measured.
Milliseconds of processor time, which other work on the machine disturbs least: p50 / p99.

1,000,000 sentences, AMD EPYC, a busy machine: three ordinary words 8.7 / 17.2 (plain FTS5 20.8 / 56.2, tantivy 0.4 /
1.3), the most frequent words 19.1 / 32.6 (304 / 594, 3.0 / 4.2), function words 55 / 75 (1,199 / 1,957, 12.9 / 20.8),
with 50, 5 and 0.1 % of the passages allowed 13.5, 10.4 and 9.4. Hybrid search 30, 58 and 85: 18 of them compare the
vector with all million others, the rest reads the candidates. The ten best passages are those of FTS5 alone in every
query.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before FAISS and numpy start their threads

import argparse
import importlib
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from scripts.bench import wiki_vectors
from semsearch import Index
from semsearch.evaluation.environment import caption
from semsearch.stores.local import LocalReader
from semsearch.stores.local.filtering.allowed import AllowedIds
from semsearch.stores.local.full_text.matching import Fts5Matching
from semsearch.stores.sql import lexical_search
from semsearch.stores.sql.query_terms import query_terms
from semsearch.types import Document
from semsearch.utils.languages import stop_words
from semsearch.utils.vectors import unit_rows

WIDTH = 8
AT_ONCE = 20_000
K = 10
DEPTH = 300  # candidates of each channel in a hybrid search
SHARES = (0.5, 0.05, 0.001)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the index is, or will be")
    parser.add_argument("--count", type=int, default=1_000_000, help="English sentences")
    parser.add_argument("--queries", type=int, default=100, help="of each kind")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print(caption())
    english = made(options.folder / "english", wiki_vectors.sentences(options.count))
    print("\n| queries | words alone | keyword search | hybrid search | plain FTS5 | tantivy | same ten |")
    print("|---|---|---|---|---|---|---|")
    peer = tantivy_peer(options.folder / "tantivy", english)
    for name, queries in english_queries(english, options.queries).items():
        print(line(name, english, queries, peer), flush=True)
    for share in SHARES:
        print(filtered(english, english_queries(english, options.queries)["three ordinary words"], share), flush=True)


# ---- indexes


def made(folder: Path, texts: Iterator[str]) -> Path:
    """The index in `folder`, made from `texts` if it is not there."""
    if not folder.exists():
        with Index.create(folder, encoder=None, dimensions=WIDTH) as index:
            numbered = enumerate(texts)
            while batch := [Document(f"passage {at}", text or "-") for at, text in islice(numbered, AT_ONCE)]:
                index.add(batch, vectors=_random(len(batch), batch[0].id))
    return folder


def _random(count: int, seed: str) -> np.ndarray:
    rng = np.random.default_rng(int(seed.split()[1]))
    return unit_rows(rng.standard_normal((count, WIDTH), dtype=np.float32))


# ---- queries


def english_queries(folder: Path, count: int) -> dict[str, list[str]]:
    """Queries by kind."""
    rng = np.random.default_rng(1)
    with LocalReader.open(folder) as reader:
        sample = [text for (text,) in reader.connection.rows("SELECT text FROM passages WHERE id % 20 = 0")]
    having = Counter(word for text in sample for word in set(text.lower().split()) if word.isalpha())
    ordinary = [word for word in having if len(word) > 2 and word not in stop_words.ENGLISH]
    weights = np.array([having[word] for word in ordinary], dtype=float)
    drawn = [rng.choice(len(ordinary), 3, replace=False, p=weights / weights.sum()) for _ in range(count)]
    frequent = [word for word, _ in having.most_common(80) if word not in stop_words.QUERY][:20]
    function = [word for word, _ in having.most_common(40) if word in stop_words.QUERY][:12]
    return {
        "three ordinary words": [" ".join(ordinary[at] for at in one) for one in drawn],
        "three of the 20 most frequent words": [" ".join(rng.choice(frequent, 3, replace=False)) for _ in range(count)],
        "three function words": [" ".join(rng.choice(function, 3, replace=False)) for _ in range(count)],
    }


# ---- measurement


def line(name: str, folder: Path, queries: Sequence[str], peer: Callable[[str], object] | None) -> str:
    """A row of the table."""
    vectors = unit_rows(np.random.default_rng(3).standard_normal((len(queries), WIDTH), dtype=np.float32))
    near = dict(zip(queries, vectors, strict=True))
    with LocalReader.open(folder) as reader, Index.open(folder) as index:
        timed = [
            times(lambda text: reader.lexical(text, DEPTH), queries),
            times(lambda text: list(index.search(text, k=K, mode="keyword")), queries),
            times(lambda text: list(index.search(text, k=K, vector=near[text])), queries),
        ]
        timed.append(times(lambda text: _plain(reader, text), queries[: len(queries) // 4]))
        same = np.mean([_same(reader, text) for text in queries[: len(queries) // 4]])
    results = times(peer, queries) if peer else "–"
    return f"| {name} | {' | '.join(timed)} | {results} | {same:.3f} |"


def filtered(folder: Path, queries: Sequence[str], share: float) -> str:
    """A row of the table: the same queries, where only some passages are allowed."""
    with LocalReader.open(folder) as reader:
        ids = np.array([row for (row,) in reader.connection.rows("SELECT id FROM passages ORDER BY id")])
        allowed = AllowedIds(ids[np.random.default_rng(4).random(len(ids)) < share])
        spent = times(lambda text: reader.lexical(text, DEPTH, allowed), queries)
        some = queries[: len(queries) // 10]
        same = np.mean([_same(reader, text, allowed) for text in some])
    return f"| three ordinary words, {share:.1%} allowed | {spent} | – | – | – | – | {same:.3f} |"


def times(search: Callable[[str], object], queries: Sequence[str]) -> str:
    """p50 / p99 in milliseconds of the processor; each query runs once before."""
    spent = []
    for text in queries:
        search(text)
        began = time.process_time()
        search(text)
        spent.append((time.process_time() - began) * 1000)
    return f"{np.percentile(spent, 50):.1f} / {np.percentile(spent, 99):.1f}"


def _plain(reader: LocalReader, text: str) -> list[Any]:
    """What SQLite's documentation recommends."""
    sql = f"SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? ORDER BY bm25(passages_fts) LIMIT {K}"
    return reader.connection.rows(sql, (" OR ".join(f'"{word}"' for word in text.split()),))


def _same(reader: LocalReader, text: str, allowed: AllowedIds | None = None) -> float:
    """The share of the ten best passages that FTS5 alone gives too."""
    fast = reader.lexical(text, DEPTH, allowed).ids[:K]
    with reader.snapshot():
        alone = Fts5Matching(reader.connection.raw, None if allowed is None else allowed.ids)
        right = lexical_search.search(alone, query_terms(text), DEPTH)
    names = right.ids[:K]
    return len(set(fast) & set(names)) / max(1, len(names))


def tantivy_peer(folder: Path, english: Path) -> Callable[[str], object] | None:
    """Search in an index of tantivy with the same texts; None where the package is missing."""
    try:
        tantivy: Any = importlib.import_module("tantivy")
    except ImportError:
        return None
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=False, tokenizer_name="en_stem")
    builder.add_integer_field("number", stored=True)
    fresh = not folder.exists()
    folder.mkdir(exist_ok=True)
    index = tantivy.Index(builder.build(), path=str(folder))
    if fresh:
        writer = index.writer(num_threads=1)
        with sqlite3.connect(f"file:{english / 'store.db'}?mode=ro", uri=True) as store:
            for number, text in store.execute("SELECT id, text FROM passages"):
                writer.add_document(tantivy.Document(text=text, number=number))
        writer.commit()
    index.reload()
    searcher = index.searcher()
    return lambda text: searcher.search(index.parse_query(text, ["text"]), K).hits


if __name__ == "__main__":
    main()
