"""One other vector index of bench_scale.py, measured in a process of its own: prints a line of JSON.

    python -m scripts.bench.scale_peers FOLDER COUNT NAME

Vectors go in and positions come out: no texts, no commits, no re-scoring. Filters are measured where the library has
them without an extra copy of the data.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scripts.bench import scale_corpus as corpora
from scripts.bench.scale_corpus import FILTERS, Corpus, K
from scripts.bench.scale_semsearch import resident
from semsearch.utils.vectors import unit_rows

Search = Callable[[Any, Any], Any]  # (query (1, d), mask (n,) or None) -> positions
LINKS, BREADTH, WIDTH = 32, 40, 128  # of an HNSW graph: links, candidates while building, and while searching


def faiss_hnsw(corpus: Corpus, file: Path) -> Search:
    import faiss

    index = faiss.IndexHNSWFlat(corpus.dim, LINKS, faiss.METRIC_INNER_PRODUCT)
    return _faiss(index, corpus, file, lambda selected: faiss.SearchParametersHNSW(efSearch=WIDTH, sel=selected))


def faiss_ivf(corpus: Corpus, file: Path) -> Search:
    import faiss

    cells = max(1, int(len(corpus.rows) ** 0.5))
    index = faiss.index_factory(corpus.dim, f"IVF{cells},Flat", faiss.METRIC_INNER_PRODUCT)
    index.cp.niter, index.cp.min_points_per_centroid = 8, 1
    index.train(next(vectors for _, vectors in corpus.blocks()))
    probes = max(1, cells // 10)
    return _faiss(index, corpus, file, lambda selected: faiss.SearchParametersIVF(nprobe=probes, sel=selected))


def _faiss(index: Any, corpus: Corpus, file: Path, parameters: Callable[[Any], Any]) -> Search:
    import faiss

    for _, vectors in corpus.blocks():
        index.add(vectors)
    faiss.write_index(index, str(file))
    selectors = {
        where: faiss.IDSelectorBitmap(np.packbits(corpora.passing(where, len(corpus.rows)), bitorder="little"))
        for where in FILTERS
        if where
    }
    return lambda query, where: index.search(query, K, params=parameters(selectors.get(where)))[1][0]


def hnswlib(corpus: Corpus, file: Path) -> Search:
    import hnswlib as library

    index = library.Index(space="ip", dim=corpus.dim)
    index.init_index(max_elements=len(corpus.rows), M=LINKS, ef_construction=BREADTH)
    for at, vectors in corpus.blocks():
        index.add_items(vectors, np.arange(at, at + len(vectors)))
    index.set_ef(WIDTH)
    index.save_index(str(file))
    return lambda query, where: index.knn_query(query, k=K)[0][0] if not where else None


def usearch(corpus: Corpus, file: Path) -> Search:
    from usearch.index import Index

    index = Index(ndim=corpus.dim, metric="ip", dtype="f16", connectivity=LINKS, expansion_search=WIDTH)
    for at, vectors in corpus.blocks():
        index.add(np.arange(at, at + len(vectors)), vectors)
    index.save(str(file))
    return lambda query, where: index.search(query[0], K).keys if not where else None


def sqlite_vec(corpus: Corpus, file: Path) -> Search:
    import sqlite_vec as library

    connection = sqlite3.connect(file)
    connection.enable_load_extension(True)
    library.load(connection)
    connection.execute(
        f"CREATE VIRTUAL TABLE v USING vec0(embedding float[{corpus.dim}], topic text, shelf integer, box integer)"
    )
    for at, vectors in corpus.blocks():
        rows = [(at + row, one.tobytes(), *corpora.metadata(at + row).values()) for row, one in enumerate(vectors)]
        connection.executemany("INSERT INTO v (rowid, embedding, topic, shelf, box) VALUES (?, ?, ?, ?, ?)", rows)
    connection.commit()

    def search(query: Any, where: str) -> Any:
        condition = f" AND {where.replace(chr(34), chr(39))}" if where else ""
        sql = f"SELECT rowid FROM v WHERE embedding MATCH ? AND k = {K}{condition}"
        return np.array([row for (row,) in connection.execute(sql, (query.tobytes(),))])

    return search


PEERS: dict[str, Callable[[Corpus, Path], Search]] = {
    "faiss HNSW32": faiss_hnsw,
    "faiss IVF": faiss_ivf,
    "hnswlib": hnswlib,
    "usearch": usearch,
    "sqlite-vec": sqlite_vec,
}


def main() -> None:
    folder, count, name = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    corpus, limits = corpora.load(folder, count), corpora.limits(folder, count)
    file = folder / f"peer-{os.getpid()}"
    began, cpu = time.perf_counter(), time.process_time()
    try:
        search = PEERS[name](corpus, file)
        figures = {"build_s": time.perf_counter() - began, "build_cpu_s": time.process_time() - cpu}
        figures["bytes"] = file.stat().st_size / count
        filters = {label: asked(search, corpus, where, limits[label]) for where, label in FILTERS.items()}
    finally:
        file.unlink(missing_ok=True)
    print(json.dumps({"system": name, "count": count, **figures, "filters": filters, "rss_mb": resident()}))


def asked(search: Search, corpus: Corpus, where: str, limit: Any) -> dict[str, float] | None:
    """As `scale_semsearch.asked`, for the ten positions alone; None where the library has no such filter."""
    if search(corpus.queries[:1], where) is None:
        return None
    wall, cpu, hits = [0.0], [0.0], 0
    for query, least in zip(corpus.queries, limit, strict=True):
        began, ran = time.perf_counter(), time.thread_time()
        found = search(query[None], where)
        cpu.append((time.thread_time() - ran) * 1000)
        wall.append((time.perf_counter() - began) * 1000)
        rows = unit_rows(corpus.rows[np.asarray(found)[np.asarray(found) >= 0].astype(np.int64)])
        hits += int((rows @ query >= least - 1e-4).sum())
    return corpora.summary(wall, cpu, hits, int(corpora.passing(where, len(corpus.rows)).sum()))


if __name__ == "__main__":
    main()
