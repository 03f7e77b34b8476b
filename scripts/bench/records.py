"""One large file of records: does its indexing stay fast, and do searches stay fast while it goes on?

    python -m scripts.bench.records [--count 300000] [-o FIGURES.json]

A JSON-lines file of invented records is indexed with the `hashing` encoder, by a process of its own. Reported are its
records a second in each tenth of the file, the share of the run that vector caches and null distributions took, and
searches at marks on the way: by a process that starts for it, and by one that has the index open. Then the file grows
by a hundredth, and is indexed again. Times depend on the machine; the ratios should not.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from scripts.shared import machine, programs
from semsearch import Index
from semsearch.encoders.hashing import HashingEncoder
from semsearch.indexing import derived
from semsearch.stores.local import LocalWriter
from semsearch.types import Progress

WORDS = [
    "engine",
    "river",
    "bread",
    "cloud",
    "knot",
    "paper",
    "stone",
    "lamp",
    "garden",
    "harbour",
    "signal",
    "violin",
    "copper",
    "winter",
    "ladder",
    "market",
]
MARKS = (0.5, 0.75, 0.99)  # of the file: where the searches are made
SEARCHES = 5


def main() -> None:
    """Measure, and print a table."""
    chosen = _arguments()
    if chosen.index:
        _index(*chosen.index)
        return
    with tempfile.TemporaryDirectory(prefix="semsearch-bench-") as scratch:
        file, folder = Path(scratch, "records.jsonl"), Path(scratch, "index")
        _append(file, 0, chosen.count)
        figures = {"machine": machine.describe(), "records": chosen.count, **_measured(file, folder, chosen.count)}
        _append(file, chosen.count, chosen.count + chosen.count // 100)
        *_, last = _steps(file, folder)
        figures["grown"] = {"added": chosen.count // 100, "seconds": last["seconds"]}
    print(_table(figures))
    if chosen.output:
        chosen.output.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def _measured(file: Path, folder: Path, count: int) -> dict[str, Any]:
    """The figures of the first run over the file."""
    times, searches, marks = [(0, 0.0)], {}, [round(share * count) for share in MARKS]
    for step in _steps(file, folder):
        times.append((step["passages"], step["seconds"]))
        while marks and step["passages"] >= marks[0]:
            searches[marks.pop(0)] = {"cold": _cold(folder), "warm": _warm(folder)}
    return {
        "rates": list(_rates(times, count)),
        "searches": searches,
        "derived": step["derived"],
        "seconds": times[-1][1],
    }


def _rates(times: list[tuple[int, float]], count: int) -> Iterator[int]:
    """Records a second in each tenth."""
    for tenth in range(10):
        low, high = (min(times, key=lambda step: abs(step[0] - share * count / 10)) for share in (tenth, tenth + 1))
        yield round((high[0] - low[0]) / max(1e-9, high[1] - low[1]))


def _steps(file: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """What a process that indexes the file says after each two thousand passages."""
    command = programs.command("bench.records", "--index", file, folder)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    if process.returncode:
        sys.exit(f"error: exit {process.returncode}")


def _index(file: Path, folder: Path) -> None:
    """Index the file, and print seconds, passages, and seconds spent on what is derived, a JSON object a line."""
    began, said = time.perf_counter(), 0
    spent = {"caches on the way": 0.0, "cache at the end": 0.0, "null distributions": 0.0}
    caches = {True: "caches on the way", False: "cache at the end"}
    _time(LocalWriter, "update_vector_index", spent, lambda options: caches["when" in options])
    _time(derived, "measure", spent, lambda _: "null distributions")

    def say(step: Progress) -> None:
        nonlocal said
        if step.passages >= said + 2000 or step.done == step.total:
            said = step.passages
            print(json.dumps({"seconds": time.perf_counter() - began, "passages": said, "derived": spent}), flush=True)

    opened = (
        Index.open(folder, encoder=HashingEncoder())
        if folder.exists()
        else Index.create(folder, encoder=HashingEncoder())
    )
    with opened as index:
        index.sync([file], progress=say)
    print(json.dumps({"seconds": time.perf_counter() - began, "passages": said, "derived": spent}), flush=True)


def _time(place: Any, name: str, spent: dict[str, float], key: Callable[[dict[str, Any]], str]) -> None:
    """Add the seconds in the function `name` of `place` to `spent`, under the key for its keyword arguments."""
    function = getattr(place, name)

    def timed(*arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            spent[key(options)] += time.perf_counter() - began

    setattr(place, name, timed)


def _cold(folder: Path) -> float:
    """Seconds of a query in a process of its own."""
    command = [sys.executable, "-m", "semsearch", "--home", str(folder.parent), "-q", "query", "winter engine harbour"]
    return _seconds(lambda: subprocess.run([*command, "-n", folder.name], check=True, stdout=subprocess.DEVNULL))


def _warm(folder: Path) -> float:
    """Median seconds of a search in an index that was open before, while documents are added."""
    with Index.open(folder, encoder=HashingEncoder()) as index:
        index.search("paper lamp")
        return median(_seconds(partial(index.search, f"winter engine {word}")) for word in WORDS[:SEARCHES])


def _seconds(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def _append(file: Path, begin: int, end: int) -> None:
    with file.open("a", encoding="utf-8") as lines:
        for number in range(begin, end):
            words = random.Random(number).choices(WORDS, k=12)
            lines.write(json.dumps({"id": f"r{number}", "text": " ".join([*words, str(number)])}) + "\n")


def _table(figures: dict[str, Any]) -> str:
    """The figures in Markdown."""
    rates, derived = figures["rates"], figures["derived"]
    lines = [
        f"{figures['records']:,} records, {figures['records'] / figures['seconds']:,.0f} a second.",
        f"Records a second in each tenth: {', '.join(f'{rate:,}' for rate in rates)}.",
        f"Last tenth to first: {rates[-1] / rates[0]:.2f}.",
        *(f"{name}: {took / figures['seconds']:.1%} of the run" for name, took in derived.items()),
        f"{figures['grown']['added']:,} records appended: {figures['grown']['seconds']:.1f} s",
        "",
        "| records so far | query, new process | search, open index |",
        "|---|---|---|",
        *(f"| {at:,} | {took['cold']:.2f} s | {took['warm']:.3f} s |" for at, took in figures["searches"].items()),
        "",
        machine.caption(),
    ]
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300_000, help="records of the file")
    parser.add_argument("-o", "--output", type=Path, help="write the figures as JSON")
    parser.add_argument("--index", nargs=2, type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
