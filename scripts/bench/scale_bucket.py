"""What a distant object store costs: a table of Lance in a bucket of moto on this machine that answers late.

    python -m scripts.bench.scale_bucket [--documents 2000] [--milliseconds 0 20 100] [--seconds 5]
                                                                 needs: pip install '.[serve,scale,dev]'

For a folder, and a bucket by its wait: seconds to fill and to open with the first search, the median of searches by
their way, and how many answers of the bucket one waits for after the other: what a search takes longer than without a
wait, divided by it. Then `semsearch serve` in one and in two processes over the bucket, each with four clients.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from scripts.bench import http_load
from scripts.bench.serve import SEMSEARCH, asking, semsearch
from scripts.shared import figures, object_store
from scripts.shared.places import leads
from semsearch import Document, Index, Query

WAYS: dict[str, dict[str, Any]] = {
    "semantic": {"mode": "semantic"},
    "keyword": {"mode": "keyword"},
    "hybrid": {"mode": "hybrid"},
    "hybrid, filtered": {"mode": "hybrid", "where": "part < 4"},
}
QUERIES, CLIENTS = 20, 4


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--milliseconds", type=float, nargs="+", default=[0, 20, 100])
    parser.add_argument("--seconds", type=float, default=5, help="of each number of servers")
    chosen = parser.parse_args()
    found = list(measured(chosen.documents, chosen.milliseconds, chosen.seconds))
    for without in [one for one in found if one["wait ms"] == 0]:
        for one in found:
            for way in WAYS if one["wait ms"] else ():
                one[f"{way}, answers"] = round((one[f"{way} ms"] - without[f"{way} ms"]) / one["wait ms"], 1)
    names = dict.fromkeys(key for one in found for key in one)
    rows = [[name, *(one.get(name, "–") for one in found)] for name in names]
    note = f"{chosen.documents:,} article leads, the encoder hashing, medians of {QUERIES} queries."
    figures.show(figures.table(["", *(one["place"] for one in found)], rows[1:]), note, found, chosen.output)


def measured(count: int, waits: Sequence[float], seconds: float) -> Iterator[dict[str, Any]]:
    """The figures of each place."""
    records = list(islice(leads(), count + QUERIES))
    documents = [Document(one["_id"], one["text"], {"part": at % 10}) for at, one in enumerate(records[:count])]
    queries = [" ".join(one["text"].split()[:8]) for one in records[count:]]
    for wait in (None, *waits):
        with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
            home, store = Path(scratch) / "home", f"lance:{scratch}/tables"
            if wait is not None:
                store = stack.enter_context(object_store.running(wait)).store
            place = "folder" if wait is None else f"bucket, {wait:g} ms"
            row = {"place": place, "wait ms": wait, **searched(home, store, documents, queries)}
            if wait is not None:
                row |= served(home, queries, seconds)
            print(row, file=sys.stderr, flush=True)
            yield row


def searched(home: Path, store: str, documents: Sequence[Document], queries: Sequence[str]) -> dict[str, Any]:
    """Of an index that is filled, opened again and asked."""
    began = time.perf_counter()
    with Index.create("wiki", encoder="hashing", home=home, store=store) as index:
        index.add(documents)
    row = {"fill s": round(time.perf_counter() - began, 1)}
    began = time.perf_counter()
    with Index.open("wiki", home=home) as index:
        index.search(queries[0])
        row["open s"] = round(time.perf_counter() - began, 2)
        for name, way in WAYS.items():
            took = [index.search(Query(text, k=10, **way)).took_ms["search"] for text in queries]
            row[f"{name} ms"] = round(median(took), 1)
    return row


def served(home: Path, queries: Sequence[str], seconds: float) -> dict[str, float]:
    """Answers a second of one and of two processes."""
    with ExitStack() as servers:
        ports = [servers.enter_context(semsearch(home))[1] for _ in range(2)]

        def load(port: int) -> float:
            http_load.run(port, CLIENTS, 1, asking(SEMSEARCH, "hybrid", queries, port))
            return http_load.run(port, CLIENTS, seconds, asking(SEMSEARCH, "hybrid", queries, port)).rate

        alone = load(ports[0])
        with ThreadPoolExecutor() as both:
            together = sum(both.map(load, ports))
    return {"serve, a second": round(alone, 1), "serve twice, a second": round(together, 1)}


if __name__ == "__main__":
    main()
