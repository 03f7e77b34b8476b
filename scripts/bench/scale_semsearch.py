"""One semsearch index of bench_scale.py, measured in processes of its own: prints a line of JSON.

python -m scripts.bench.scale_semsearch FOLDER COUNT BACKEND
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
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

ADDED = 1_000
QUESTION = "who discovered the structure of the atom"
COLD = 3  # runs of the command


def main() -> None:
    folder, count, backend = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    store = folder / f"store-{count}"
    if backend == "--search":
        print(json.dumps(searched(folder, count)))
        return
    found: dict[str, Any] = {"system": f"semsearch {backend}", "count": count, **built(store, backend)}
    program = programs.command("bench.scale_semsearch", folder, count, "--search")
    found |= json.loads(subprocess.run(program, check=True, stdout=subprocess.PIPE, text=True).stdout)
    found["cold_s"] = cold(store)
    found["visible_s"] = visible(corpora.load(folder, count), store)
    print(json.dumps(found))


def built(store: Path, backend: str) -> dict[str, Any]:
    """Build the vector index, unless the newest is that of `backend`: seconds, peak memory; its bytes a vector.

    What a run of `index` measures at its end, so that no search has to, is measured as well.
    """
    figures: dict[str, Any] = {}
    with open_writer(store) as writer:
        space = writer.reader.state().spaces[0].id
        if derived.is_due(writer.reader, writer.reader.state().spaces[0]):  # a run of `index` does the same
            derived.measure(writer, writer.reader.state().spaces[0], Encoder.load("default"))
        if not writer.reader.info()["spaces"][0]["backend"].startswith(backend):
            began, cpu = time.perf_counter(), time.process_time()
            writer.update_vector_index(space, backend, when="always")
            figures = {"build_s": time.perf_counter() - began, "build_cpu_s": time.process_time() - cpu}
            figures["build_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        cache = writer.reader.info()["spaces"][0]["cache"]
    return {**figures, "bytes": cache["bytes"] / max(1, cache["vectors"])}


def searched(folder: Path, count: int) -> dict[str, Any]:
    """Opening with a first query, times and recall for each filter, and memory; the encoder is loaded at last."""
    corpus, limits = corpora.load(folder, count), corpora.limits(folder, count)
    began = time.perf_counter()
    with Index.open(folder / f"store-{count}") as index:
        index.search(vector=corpus.queries[0], mode="semantic", k=K)
        found: dict[str, Any] = {"open_s": time.perf_counter() - began}
        found["filters"] = {label: asked(index, corpus, where, limits[label]) for where, label in FILTERS.items()}
        found["rss_mb"] = resident()
        index.search(QUESTION, mode="semantic")
        found["rss_with_encoder_mb"] = resident()
    return found


def asked(index: Index, corpus: Corpus, where: str, limit: Any) -> dict[str, float]:
    """Milliseconds of the first query with a filter, then of each: `Index.search` from the vector to the hits."""
    wall, cpu, hits = [], [], 0
    for query, least in zip([corpus.queries[0], *corpus.queries], [limit[0], *limit], strict=True):
        began, ran = time.perf_counter(), time.thread_time()
        found = index.search(vector=query, mode="semantic", k=K, where=where or None, group="passage")
        cpu.append((time.thread_time() - ran) * 1000)
        wall.append((time.perf_counter() - began) * 1000)
        hits += sum(hit.scores["cosine"] >= least - 1e-4 for hit in found) if len(wall) > 1 else 0
    return corpora.summary(wall, cpu, hits, int(corpora.passing(where, len(corpus.rows)).sum()))


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
        found = index.search(vector=fresh[7], mode="semantic", k=K)
        took = time.perf_counter() - began
        writer.delete(names)
    if found[0].document != "added7":
        sys.exit("error: a document was committed, and the next query did not find it.")
    return took


if __name__ == "__main__":
    main()
