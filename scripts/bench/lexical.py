"""Search by words with the index's own posting lists, beside FTS5 alone on the same table.

    python -m scripts.bench.lexical FOLDER [--count 10000 100000 1000000] [--queries 100] [-o FIGURES.json]

FOLDER keeps indexes without an encoder from run to run: sentences of Wikipedia (`wiki_sentences_1m` of the data). The
figures are in docs/choices.md.

The queries are three words drawn from the sentences by document frequency, function words left out; the most frequent
words; and function words alone. Each runs once before it is measured. Milliseconds of processor time, which other work
on the machine disturbs least: p50 / p99. "same ten": the share of the ten best passages that FTS5 alone gives too.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from scripts.bench import wiki_vectors
from scripts.shared import figures
from semsearch import Index
from semsearch.stores.local import LocalReader
from semsearch.stores.local.full_text.matching import Fts5Matching
from semsearch.stores.sql import lexical_search
from semsearch.stores.sql.query_terms import query_terms
from semsearch.types import Document
from semsearch.utils.languages import stop_words

WIDTH = 8
AT_ONCE = 20_000
K = 10
DEPTH = 300  # candidates of a hybrid search
HEAD = ("passages", "queries", "own posting lists", "FTS5 alone", "same ten")


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("folder", type=Path, help="where the indexes are, or will be")
    parser.add_argument("--count", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], help="English sentences")
    parser.add_argument("--queries", type=int, default=100, help="of each kind")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rows = [row for count in options.count for row in measured(options.folder, count, options.queries)]
    figures.show(figures.table(HEAD, rows), "Milliseconds, p50 / p99.", rows, options.output)


def measured(folder: Path, count: int, queries: int) -> Iterator[tuple[str, ...]]:
    """A row of the table for each kind of queries."""
    with LocalReader.open(made(folder / f"english-{count}", count)) as reader:
        for name, texts in english_queries(reader, queries).items():
            some = texts[: queries // 4]  # FTS5 alone takes seconds for some
            own = times(lambda text: reader.lexical(text, DEPTH), texts)
            alone = times(lambda text: _fts5(reader, text), some)
            same = np.mean([_same(reader, text) for text in some])
            yield f"{count:,}", name, own, alone, f"{same:.3f}"


def made(folder: Path, count: int) -> Path:
    """The index in `folder`, made of so many sentences if it is not there."""
    if not folder.exists():
        with Index.create(folder, encoder=None, dimensions=WIDTH) as index:
            numbered = enumerate(wiki_vectors.sentences(count))
            while batch := [Document(f"passage {at}", text or "-") for at, text in islice(numbered, AT_ONCE)]:
                index.add(batch, vectors=np.full((len(batch), WIDTH), WIDTH**-0.5, dtype=np.float32))
    return folder


def english_queries(reader: LocalReader, count: int) -> dict[str, list[str]]:
    """Queries by kind."""
    rng = np.random.default_rng(1)
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


def times(search: Callable[[str], object], queries: Sequence[str]) -> str:
    """p50 / p99 in milliseconds of the processor; each query runs once before."""
    spent = []
    for text in queries:
        search(text)
        began = time.process_time()
        search(text)
        spent.append((time.process_time() - began) * 1000)
    return f"{np.percentile(spent, 50):.1f} / {np.percentile(spent, 99):.1f}"


def _fts5(reader: LocalReader, text: str) -> object:
    """What SQLite's documentation recommends."""
    sql = f"SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? ORDER BY bm25(passages_fts) LIMIT {K}"
    return reader.connection.rows(sql, (" OR ".join(f'"{word}"' for word in text.split()),))


def _same(reader: LocalReader, text: str) -> float:
    """The share of the ten best passages that FTS5 alone gives too."""
    own = reader.lexical(text, DEPTH).ids[:K]
    with reader.snapshot():
        alone = lexical_search.search(Fts5Matching(reader.connection.raw, None), query_terms(text), DEPTH).ids[:K]
    return len(set(own) & set(alone)) / max(1, len(alone))


if __name__ == "__main__":
    main()
