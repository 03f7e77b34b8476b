"""Whether another store finds what a local index finds: SciFact in both, searched in every way.

    python -m scripts.bench.scale_parity lance                     in a folder
    python -m scripts.bench.scale_parity postgres                  in a server that it starts (package pgserver)
    python -m scripts.bench.scale_parity STORE:ADDRESS             in a folder, a bucket or a server that is there

Both hold the same vectors: they are encoded once and kept in the cache of embeddings. Of each mode: nDCG@10 of both,
and how many of the first ten documents they share; of the vector index: how many of the first ten passages are those of
an exact search. The filter lets 40 % of the documents pass.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from typing import Any

from scripts.shared import figures, postgres_server
from scripts.shared.places import DATA
from semsearch import Document, Encoder, Index, admin
from semsearch.evaluation import retrieval
from semsearch.types import Mode, Query

WAYS: dict[str, tuple[Mode, str | None]] = {
    "semantic": ("semantic", None),
    "keyword": ("keyword", None),
    "hybrid": ("hybrid", None),
    "semantic, filtered": ("semantic", "part < 4 and not kind = rest"),
    "keyword, filtered": ("keyword", "part < 4 and not kind = rest"),
    "hybrid, filtered": ("hybrid", "part < 4 and not kind = rest"),
}


def documents(collection: retrieval.Collection) -> Iterator[Document]:
    """The documents, with metadata for the filter."""
    for at, document in enumerate(collection.documents()):
        yield replace(document, metadata={"part": at % 10, "kind": "rest" if at % 10 > 6 else "first"})


def built(home: Path, name: str, store: str, encoder: Encoder, collection: retrieval.Collection) -> tuple[Index, float]:
    """An index with all documents, and the seconds it took."""
    began = time.perf_counter()
    index = Index.create(name, encoder=encoder, home=home, store=store)
    index.add(documents(collection))
    return index, time.perf_counter() - began


def searched(index: Index, texts: Sequence[str], mode: Mode, where: str | None, *, exact: bool = False) -> Any:
    """(rankings of documents, milliseconds of each search without the encoder's)."""
    rankings, took = [], []
    for text in texts:
        results = index.search(Query(text, k=100, mode=mode, where=where, group="document", exact=exact))
        rankings.append([name for hit in results for name in (hit.document, *hit.near_copies)])
        took.append(results.took_ms["search"])
    return rankings, took


def overlap(one: Sequence[Sequence[Any]], other: Sequence[Sequence[Any]], k: int = 10) -> float:
    """The mean share of the first k that two lists of rankings have in common."""
    return fmean(len({*a[:k]} & {*b[:k]}) / max(1, len(b[:k])) for a, b in zip(one, other, strict=True))


def nearest(index: Index, texts: Sequence[str], *, exact: bool) -> list[list[int]]:
    """The first ten passages of each text by their cosines."""
    results = (index.search(Query(text, k=10, mode="semantic", group="passage", exact=exact)) for text in texts)
    return [[hit.id for hit in hits] for hits in results]


def compared(ours: Index, theirs: Index, collection: retrieval.Collection, most: int | None) -> dict[str, Any]:
    """The figures of each way to search, for the first `most` queries; `theirs` is the local index."""
    qrels = dict(islice(collection.qrels.items(), most))
    texts = [collection.queries[query] for query in qrels]
    ways = {}
    for way, (mode, where) in WAYS.items():
        rows = [searched(index, texts, mode, where) for index in (ours, theirs)]
        scores = [
            fmean(retrieval.ndcg(ranking, grades) for ranking, grades in zip(rankings, qrels.values(), strict=True))
            for rankings, _ in rows
        ]
        ways[way] = {
            "nDCG@10": round(100 * scores[0], 2),
            "local": round(100 * scores[1], 2),
            "overlap": round(overlap(rows[0][0], rows[1][0]), 4),
            "median_ms": round(median(rows[0][1]), 1),
            "local_ms": round(median(rows[1][1]), 1),
        }
        print(f"{way}: {ways[way]}", file=sys.stderr, flush=True)
    near = nearest(ours, texts, exact=False)
    shared = overlap(near, nearest(ours, texts, exact=True))
    return {"ways": ways, "vector_index_overlap": round(shared, 4), "queries": len(texts)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("store", help="lance, postgres, or one of them with an address, as after --store")
    parser.add_argument("-m", dest="model", default="minilm", help="another encoder, of all that is compared")
    parser.add_argument("--queries", type=int, help="of SciFact: the first so many of 300")
    parser.add_argument("--cache", type=Path, help="keep vectors in this file between runs")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    chosen = parser.parse_args()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        encoder = Encoder.load(chosen.model, cache=chosen.cache or scratch / "vectors.db")
        store = chosen.store
        home = scratch / "home"
        home.mkdir()
        if store == "postgres":
            store = stack.enter_context(postgres_server.running()).store
        elif store == "lance":
            store = f"lance:{scratch / 'tables'}"
        collection = retrieval.Collection.read(DATA / "scifact", "test")
        theirs, local_s = built(home, "scifact-local", "local", encoder, collection)
        stack.enter_context(theirs)
        ours, ours_s = built(home, "scifact-parity", store, encoder, collection)
        stack.enter_context(ours)
        results = compared(ours, theirs, collection, chosen.queries)
        info = ours.info()
        results |= {"passages": info["passages"], "backend": info["spaces"][0]["backend"], "bytes": info["bytes"]}
        results |= {"index_s": round(ours_s, 1), "local_index_s": round(local_s, 1), "problems": ours.analysis.verify()}
        ours.close()
        admin.remove(ours.path)
    results["arithmetic"] = figures.arithmetic()
    print(json.dumps(results, indent=1))
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
