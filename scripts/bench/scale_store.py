"""A store at a size: how long it takes to fill and index, what it takes on disk and in memory, how fast and how right
its searches are. Vectors are made: unit vectors around centres, which are easier to compress than those of texts.

Usage: python -m scripts.bench.scale_store [--store lance|postgres] [--passages N] [--dim D] [--address WHERE]

Without an address it is a folder, or a server that it starts (package pgserver); the processor time of that is counted,
its memory is not.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from scripts.shared import postgres_server, ray_nodes
from semsearch import Document
from semsearch.search.query_check import parse_filter
from semsearch.stores import drivers
from semsearch.stores.protocol import Allowed, StoreReader
from semsearch.stores.records import Entry, Space
from semsearch.types import Passage

BATCH = 5_000  # documents of two passages in one transaction, as a bulk load has them
CENTRES, WORDS, QUERIES = 2_000, 50_000, 40


def entries(count: int, dim: int, chance: np.random.Generator) -> Iterator[list[Entry]]:
    """Documents in batches: forty words of Zipf's law a passage, a year and a label."""
    centres = chance.normal(size=(CENTRES, dim)).astype(np.float32)
    weights = 1 / np.arange(1, WORDS + 1)
    weights /= weights.sum()
    for start in range(0, count // 2, BATCH):
        size = min(BATCH, count // 2 - start)
        rows = centres[chance.integers(CENTRES, size=2 * size)] + 0.6 * chance.normal(size=(2 * size, dim))
        vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        words = chance.choice(WORDS, size=(2 * size, 40), p=weights)
        texts = [" ".join(f"w{word}" for word in line) for line in words.tolist()]
        yield [_entry(start + at, texts[2 * at : 2 * at + 2], vectors[2 * at : 2 * at + 2]) for at in range(size)]


def _entry(number: int, parts: list[str], vectors: np.ndarray) -> Entry:
    text = " ".join(parts)
    passages = [Passage(0, len(parts[0]), parts[0]), Passage(len(parts[0]) + 1, len(text), parts[1])]
    metadata = {"year": 1900 + number % 100, "lang": ("en", "de", "fr")[number % 3]}
    return Entry(Document(f"d{number}", text, metadata), None, passages, vectors)


def spent_with(server: postgres_server.PostgresServer) -> float:
    """Seconds of processor time of this process and of a server."""
    return time.process_time() + (ray_nodes.processor(server.process.pid) if server.process else 0)


def timed(work: Callable[[int], object], spent: Callable[[], float]) -> str:
    """Milliseconds of QUERIES: on the clock, the median, and of the processors, the mean."""
    took, before = [], spent()
    for at in range(QUERIES):
        began = time.perf_counter()
        work(at)
        took.append(time.perf_counter() - began)
    return f"{1000 * median(took):.1f} / {1000 * (spent() - before) / QUERIES:.1f}"


def searched(reader: StoreReader, space: int, queries: np.ndarray, spent: Callable[[], float]) -> dict[str, object]:
    allowed = reader.allowed(parse_filter("year = 1950 and lang = en", None))
    recent = reader.allowed(parse_filter("year >= 1990", None))

    def near(at: int, *, exact: bool = False, only: Allowed | None = None) -> list[int]:
        ids: list[int] = reader.dense(space, queries[at : at + 1], 10, only, exact=exact).ids[0].tolist()
        return ids

    right = [len({*near(at)} & {*near(at, exact=True)}) for at in range(QUERIES)]
    words = [f"w{30 + 7 * at} w{900 + at} w{4000 + 11 * at}" for at in range(QUERIES)]
    ways: dict[str, Callable[[int], object]] = {
        "semantic ms": near,
        "semantic, year = 1950 and lang = en, ms": lambda at: near(at, only=allowed),
        "semantic, year >= 1990, ms": lambda at: near(at, only=recent),
        "words ms": lambda at: reader.lexical(words[at], 100),
        "hybrid ms": lambda at: (near(at), reader.lexical(words[at], 100)),
        "make a filter ms": lambda at: reader.allowed(parse_filter(f"year = {1900 + at}", None)),
    }
    return {"recall@10": round(sum(right) / (10 * QUERIES), 3)} | {
        name: timed(work, spent) for name, work in ways.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=("lance", "postgres"), default="lance")
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--address", default="")
    options = parser.parse_args()
    chance, took = np.random.default_rng(7), {"write": 0.0}
    spent: Callable[[], float] = time.process_time
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        address = options.address or f"{folder}/tables"
        if options.store == "postgres" and not options.address:
            server = stack.enter_context(postgres_server.running())
            address, spent = server.address(), partial(spent_with, server)
        with drivers.load(options.store).create(Path(folder) / "notes", address=address) as writer:
            space = writer.put_space(Space(0, "made", "made", options.dim, {"name": "made"}))
            for batch in entries(options.passages, options.dim, chance):
                began = spent()
                writer.replace(batch, space.id)
                took["write"] += spent() - began
            began = spent()
            writer.update_vector_index(space.id, "auto")
            took["index"] = spent() - began
            first = next(entries(2 * QUERIES, options.dim, np.random.default_rng(7)))
            noise = np.random.default_rng(1).normal(size=(QUERIES, options.dim))
            queries = np.stack([one.vectors[0] for one in first]) + 0.02 * noise
            queries = (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32)
            found = searched(writer.reader, space.id, queries, spent)
            began = spent()
            writer.replace(first[:5], space.id)
            took["replace five documents"] = spent() - began
            size = writer.reader.info()["bytes"]
    figures = {
        "store": options.store, "passages": options.passages, "dim": options.dim,
        **{f"{name}, processor s": round(seconds, 2) for name, seconds in took.items()},
        "bytes a passage": round(size / options.passages), **found,
        "peak memory MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }  # fmt: skip
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
