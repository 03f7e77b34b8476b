"""What the peers of scripts/bench_peers.py have in common: their commands, and the documents.

    PEER.py index CORPUS.jsonl FOLDER
    PEER.py one FOLDER TEXT                      prints the ids that are found, as JSON
    PEER.py all FOLDER QUERIES.jsonl             prints {"ids": {query: [document, …]}, "ms": [of each query, …]}

The environment variable PEER_MODEL is the folder of all-MiniLM-L6-v2.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL = os.environ.get("PEER_MODEL", "sentence-transformers/all-MiniLM-L6-v2")
K = 10


@dataclass(frozen=True)
class Text:
    """A document in BEIR's format."""

    id: str
    title: str
    text: str

    @property
    def whole(self) -> str:
        return f"{self.title}\n{self.text}" if self.title else self.text


def documents(path: Path) -> Iterator[Text]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            read = json.loads(line)
            yield Text(read["_id"], read.get("title", ""), read["text"])


def main(index: Callable[[Path, Path], None], search: Callable[[Path], Callable[[str, int], list[str]]]) -> None:
    command, first, second = sys.argv[1:]
    if command == "index":
        index(Path(first), Path(second))
        return
    find = search(Path(first))
    if command == "one":
        print(json.dumps(find(second, 10)))
        return
    found: dict[str, Any] = {"ids": {}, "ms": []}
    queries = list(documents(Path(second)))
    find(queries[0].text, K)  # a warm-up
    for each in queries:
        began = time.perf_counter()
        found["ids"][each.id] = find(each.text, K)
        found["ms"].append(1000 * (time.perf_counter() - began))
    print(json.dumps(found))
