"""One vector index of scale.py, measured in processes of its own: prints a line of JSON.

    python -m scripts.bench.scale_systems FOLDER COUNT SYSTEM

Of other libraries, vectors go in and positions come out: no texts, no commits, no re-scoring. Filters are measured
where the library has them without an extra copy of the data.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from scripts.bench import scale_corpus as corpora
from scripts.bench.scale_corpus import FILTERS, Corpus, K
from scripts.shared import programs
from semsearch import Encoder, Index
from semsearch.documents.isolation.process import resident_bytes
from semsearch.indexing import derived
from semsearch.stores.local import open_writer
from semsearch.utils.vectors import unit_rows

Search = Callable[[Any, str], Any]  # (query (1, d), filter) -> positions; None where there is no such filter
LINKS, BREADTH, WIDTH = 32, 40, 128  # of an HNSW graph: links, candidates while building, and while searching
ADDED = 1_000
QUESTION = "who discovered the structure of the atom"
COLD = 3  # runs of the command


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


PEERS: dict[str, Callable[[Corpus, Path], Search]] = {
    "faiss HNSW32": faiss_hnsw,
    "faiss IVF": faiss_ivf,
    "hnswlib": hnswlib,
    "usearch": usearch,
}


def measured(folder: Path, count: int, name: str) -> dict[str, Any]:
    """Another library: building, bytes, times, recall and memory."""
    corpus, limits = corpora.load(folder, count), corpora.limits(folder, count)
    file = folder / f"peer-{os.getpid()}"
    began, cpu = time.perf_counter(), time.process_time()
    try:
        search = PEERS[name](corpus, file)
        built = {"build_s": time.perf_counter() - began, "build_cpu_s": time.process_time() - cpu}
        built["bytes"] = file.stat().st_size / count
    finally:
        file.unlink(missing_ok=True)

    def near(where: str) -> Callable[[Any], Iterable[float]] | None:
        if search(corpus.queries[:1], where) is None:
            return None
        return lambda query: _cosines(corpus, search(query[None], where), query)

    filters = {label: asked(near(where), corpus, where, limits[label]) for where, label in FILTERS.items()}
    return {**built, "filters": filters, "rss_mb": resident()}


def _cosines(corpus: Corpus, positions: Any, query: Any) -> Any:
    rows = np.asarray(positions)
    return unit_rows(corpus.rows[rows[rows >= 0].astype(np.int64)]) @ query


def asked(
    search: Callable[[Any], Iterable[float]] | None, corpus: Corpus, where: str, limit: Any
) -> dict[str, float] | None:
    """Milliseconds of the first query with a filter, then of each; recall by the cosines of the hits."""
    if search is None:
        return None
    wall, cpu, hits = [], [], 0
    for query, least in zip([corpus.queries[0], *corpus.queries], [limit[0], *limit], strict=True):
        began, ran = time.perf_counter(), time.thread_time()
        cosines = search(query)
        cpu.append((time.thread_time() - ran) * 1000)
        wall.append((time.perf_counter() - began) * 1000)
        hits += sum(cosine >= least - 1e-4 for cosine in cosines) if len(wall) > 1 else 0
    return corpora.summary(wall, cpu, hits, int(corpora.passing(where, len(corpus.rows)).sum()))


def built(store: Path, backend: str) -> dict[str, Any]:
    """Build the vector index, unless the newest is that of `backend`: seconds, peak memory; its bytes a vector.

    What a run of `index` measures at its end, so that no search has to, is measured as well.
    """
    figures: dict[str, Any] = {}
    with open_writer(store) as writer:
        space = writer.reader.state().spaces[0].id
        if derived.is_due(writer.reader, writer.reader.state().spaces[0]):  # a run of `index` does the same
            derived.measure(writer, writer.reader.state().spaces[0], Encoder.load("minilm"))
        if not writer.reader.info()["spaces"][0]["backend"].startswith(backend):
            began, cpu = time.perf_counter(), time.process_time()
            writer.update_vector_index(space, backend, when="always")
            figures = {"build_s": time.perf_counter() - began, "build_cpu_s": time.process_time() - cpu}
            figures["build_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        cache = writer.reader.info()["spaces"][0]["cache"]
    return {**figures, "bytes": cache["bytes"] / max(1, cache["vectors"])}


def searched(folder: Path, count: int) -> dict[str, Any]:
    """Opening with a first query, times and recall for each filter, and memory; the encoder is loaded at last.

    A time is that of `Index.search` from the vector to the hits.
    """
    corpus, limits = corpora.load(folder, count), corpora.limits(folder, count)
    began = time.perf_counter()
    with Index.open(folder / f"store-{count}") as index:
        index.search(vector=corpus.queries[0], mode="semantic", k=K)
        results: dict[str, Any] = {"open_s": time.perf_counter() - began, "filters": {}}
        for where, label in FILTERS.items():

            def near(query: Any, where: str = where) -> list[float]:
                hits = index.search(vector=query, mode="semantic", k=K, where=where or None, group="passage")
                return [hit.scores["cosine"] for hit in hits]

            results["filters"][label] = asked(near, corpus, where, limits[label])
        results["rss_mb"] = resident()
        index.search(QUESTION, mode="semantic")
        results["rss_with_encoder_mb"] = resident()
    return results


def resident() -> float:
    """Megabytes of this process in memory, files that are mapped included."""
    return resident_bytes(os.getpid()) / 1e6


def cold(store: Path) -> float:
    """Seconds of one query at the command line, from start to end."""
    words = [sys.executable, "-m", "semsearch", "--home", str(store.parent), "query", QUESTION, "-n", store.name]
    took = []
    for _ in range(COLD):
        began = time.perf_counter()
        subprocess.run([*words, "--mode", "semantic"], check=True, stdout=subprocess.DEVNULL)
        took.append(time.perf_counter() - began)
    return median(took)


def visible(corpus: Corpus, store: Path) -> float:
    """Seconds from the commit of a thousand documents to an answer with one of them, in a process that has searched."""
    fresh = unit_rows(np.random.default_rng(1).normal(size=(ADDED, corpus.dim)))
    names = [f"added{at}" for at in range(ADDED)]
    with Index.open(store) as index, open_writer(store) as writer:
        index.search(vector=corpus.queries[0], mode="semantic", k=K)
        entries = [corpora.entry(name, name, {}, fresh[at : at + 1]) for at, name in enumerate(names)]
        writer.replace(entries, writer.reader.state().spaces[0].id)
        began = time.perf_counter()
        results = index.search(vector=fresh[7], mode="semantic", k=K)
        took = time.perf_counter() - began
        writer.delete(names)
    if results[0].document != "added7":
        sys.exit("error: a document was committed, and the next query did not find it.")
    return took


def main() -> None:
    folder, count, system = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    if system == "--search":
        return print(json.dumps(searched(folder, count)))
    if system in PEERS:
        return print(json.dumps({"system": system, "count": count, **measured(folder, count, system)}))
    store = folder / f"store-{count}"
    figures = {"system": f"semsearch {system}", "count": count, **built(store, system)}
    figures |= json.loads(programs.run(programs.command("bench.scale_systems", folder, count, "--search")).out)
    figures["cold_s"], figures["visible_s"] = cold(store), visible(corpora.load(folder, count), store)
    return print(json.dumps(figures))


if __name__ == "__main__":
    main()
