"""Two checkouts side by side: `--help`, a cold query, indexing, and the same update with nothing to do.

    python -m scripts.bench.checkouts BEFORE AFTER [--rounds 9]       each with a .venv, as scripts/test makes it

Every figure is the median over whole processes that take turns, so that a machine that slows down slows both. The
documents are scripts/sample; the encoder is the default one. Needs a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from scripts.shared.places import SAMPLE

QUERY = ("query", "my bread came out flat and dense", "-n", "sample", "--json")
JOBS: dict[str, tuple[str, ...]] = {
    "--help": ("--help",),
    "query --help": ("query", "--help"),
    "index of the sample, new": ("index", str(SAMPLE), "-n", "sample", "--force"),
    "index of the sample, unchanged": ("index", "-n", "sample"),
    "cold query": QUERY,
    "cold keyword query": (*QUERY, "--mode", "keyword"),
}


def seconds(checkout: Path, home: Path, arguments: Sequence[str]) -> float:
    """The wall-clock time of one command of a checkout, start of the interpreter included."""
    environment = {**os.environ, "SEMSEARCH_HOME": str(home), "SEMSEARCH_EMBEDDING_CACHE_MB": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else every process compiles every module
    began = time.perf_counter()
    subprocess.run(
        [checkout / ".venv" / "bin" / "python", "-m", "semsearch", *arguments],
        cwd=checkout,
        env=environment,
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - began


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    wanted = parser.parse_args()
    checkouts = [wanted.before.resolve(), wanted.after.resolve()]
    print(f"| median of {wanted.rounds} | before | after | after / before |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        homes = [Path(place, name) for name in ("before", "after")]
        for checkout, home in zip(checkouts, homes, strict=True):
            seconds(checkout, home, JOBS["index of the sample, new"])  # compiles what is not compiled yet
        for name, arguments in JOBS.items():
            took: list[list[float]] = [[], []]
            for turn in range(wanted.rounds):
                for side in (0, 1) if turn % 2 == 0 else (1, 0):
                    took[side].append(seconds(checkouts[side], homes[side], arguments))
            before, after = (median(each) for each in took)
            print(f"| {name} | {before:.3f} s | {after:.3f} s | {after / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
