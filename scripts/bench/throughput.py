"""Passages per second of the plain graph, the encoder and a whole index run, as Markdown.

    python -m scripts.bench.throughput [--count 1024] [--rounds 5] [-o FIGURES.json]     needs: pip install '.[cpu]'

Sentences are English Wikipedia's (`wiki_sentences_1m` of the data folder), paragraphs five of them; half as many of
these are taken. All ways take turns in this process, with other texts in every round; a first round is not counted.
"plain graph" runs the encoder's own ONNX file with one text a run on one thread for each core, over texts that are
tokenised already, the longest first: the bound for the encoder. "index" reads a file of records into a new index and
builds what it is searched with.

A ratio is the median of those of single rounds, to the way that its column names. Processor time is that of all
threads, and disturbed least by other work on the machine.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before ONNX Runtime starts its threads: the workers are the threads

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from scripts.bench import wiki_vectors
from scripts.shared import figures
from semsearch import Encoder, Index
from semsearch.encoders.onnx import OnnxBackend

PARAGRAPH = 5  # sentences: 110 words
GRAPH, ENCODER, INDEX = "plain graph", "encoder", "index"
GOALS = {(ENCODER, GRAPH): 0.95, (INDEX, ENCODER): 0.90}


@dataclass(frozen=True)
class Way:
    """`run` is measured, with what `prepare` makes of the texts."""

    run: Callable[[Any], object]
    prepare: Callable[[Sequence[str]], Any] = list


@dataclass(frozen=True)
class Measured:
    """Seconds of each round, by the clock and of the processor, for so many texts."""

    texts: int
    wall: list[float]
    cpu: list[float]

    def rate(self) -> float:
        return self.texts / median(self.wall)

    def ratio(self, bound: Measured) -> float:
        """How fast this is, where `bound` is 1."""
        return median(theirs / ours for ours, theirs in zip(self.wall, bound.wall, strict=True))


def plain_graph(backend: OnnxBackend) -> Way:
    """The encoder's graph and nothing around it."""

    def run(feeds: Sequence[Any]) -> None:
        upcoming = iter(feeds)

        def work() -> None:
            for feed in upcoming:
                backend._session.run(None, feed)

        threads = [threading.Thread(target=work) for _ in range(backend._threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def prepare(texts: Sequence[str]) -> list[Any]:
        rows = sorted(backend._tokenizer.ids(texts, backend.prompts["passage"]), key=len, reverse=True)
        return [{"input_ids": np.array([row]), "attention_mask": np.ones((1, len(row)), np.int64)} for row in rows]

    return Way(run, prepare)


def index_run(encoder: Encoder, scratch: Path) -> Way:
    """A file of records into a new index."""

    def prepare(texts: Sequence[str]) -> Path:
        folder = Path(tempfile.mkdtemp(dir=scratch))
        with (folder / "texts.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        return folder

    def run(folder: Path) -> None:
        with Index.create(folder / "index", encoder=encoder) as index:
            index.sync([folder / "texts.jsonl"])

    return Way(run, prepare)


def compared(ways: dict[str, Way], rounds: Sequence[Sequence[str]]) -> dict[str, Measured]:
    """Every way with the texts of every round, in turns that change their order; the first round is not counted."""
    results = {name: Measured(len(rounds[0]), [], []) for name in ways}
    for turn, texts in enumerate(rounds):
        for name in list(ways)[:: 1 if turn % 2 else -1]:
            prepared = ways[name].prepare(texts)
            began, processor = time.perf_counter(), time.process_time()
            ways[name].run(prepared)
            if turn:
                results[name].wall.append(time.perf_counter() - began)
                results[name].cpu.append(time.process_time() - processor)
        print(f"round {turn} of {len(rounds) - 1}", file=sys.stderr)
    return results


def table(kind: str, results: dict[str, Measured]) -> str:
    """One line for each way."""
    rows = []
    for name, one in results.items():
        goal = next((f"{least:.0%} of the {bound}" for (way, bound), least in GOALS.items() if way == name), "")
        ratios = [f"{one.ratio(results[bound]):.2f}" for bound in (GRAPH, ENCODER)]
        rows.append([name, f"{one.rate():.0f}", *ratios, goal, f"{median(one.cpu) / one.texts * 1000:.2f}"])
    head = [kind, "per second", "to the plain graph", "to the encoder", "goal", "processor ms each"]
    return figures.table(head, rows)


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("--count", type=int, default=1024, help="sentences in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", default="minilm", help="an ONNX encoder")
    options = parser.parse_args()
    encoder = Encoder.load(options.model, device="cpu")
    if not isinstance(encoder.backend, OnnxBackend):
        sys.exit(f"error: {encoder.name} does not run on ONNX Runtime. Choose an exported encoder.")
    needed = options.count * (options.rounds + 1)
    sentences = list(wiki_vectors.sentences(needed * (1 + PARAGRAPH) // 2 + needed))
    paragraphs = [" ".join(sentences[at : at + PARAGRAPH]) for at in range(needed, len(sentences), PARAGRAPH)]
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        ways = {GRAPH: plain_graph(encoder.backend), ENCODER: Way(encoder.encode)}
        ways[INDEX] = index_run(encoder, Path(scratch))
        for name, texts, count in (
            ("sentences", sentences, options.count),
            ("paragraphs", paragraphs, options.count // 2),
        ):
            results[name] = compared(ways, [texts[at * count : (at + 1) * count] for at in range(options.rounds + 1)])
    text = "\n\n".join(table(name, one) for name, one in results.items())
    note = f"{options.rounds} rounds of {options.count} sentences, {figures.arithmetic()}."
    seconds = {kind: {way: vars(one) for way, one in ways.items()} for kind, ways in results.items()}
    figures.show(text, note, seconds, options.output)


if __name__ == "__main__":
    main()
