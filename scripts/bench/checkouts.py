"""Two checkouts side by side: `--help`, a cold query, indexing, and the same update with nothing to do.

    python -m scripts.bench.checkouts BEFORE AFTER [--rounds 9]       folders, or revisions such as d16cbac and HEAD

A folder with a .venv runs with it, any other state with the Python that runs this script.
Every figure is the median over whole processes that take turns, so that a machine that slows down slows both. The
documents are scripts/sample; the encoder is the default one. Needs a quiet machine.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from scripts.shared import figures
from scripts.shared.places import CHECKOUT, SAMPLE
from scripts.shared.programs import run

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
    environment |= {"PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": str(home.with_suffix(".bytecode"))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else every process compiles every module
    own = checkout / ".venv" / "bin" / "python"
    return run([str(own if own.exists() else sys.executable), "-m", "semsearch", *arguments], environment).seconds


def state(place: str, folder: Path) -> Path:
    """The checkout at `place`: a folder, or a revision, which is unpacked into `folder`."""
    if Path(place).is_dir():
        return Path(place).resolve()
    packed = subprocess.run(["git", "archive", place], cwd=CHECKOUT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def main() -> None:
    """Measure and print a Markdown table."""
    parser = figures.arguments(__doc__)
    parser.add_argument("places", nargs=2, metavar="FOLDER|REV")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        checkouts = [state(place, Path(scratch, f"checkout{side}")) for side, place in enumerate(options.places)]
        homes = [Path(scratch, name) for name in ("before", "after")]
        for checkout, home in zip(checkouts, homes, strict=True):
            seconds(checkout, home, JOBS["index of the sample, new"])  # compiles what is not compiled yet
        for name, arguments in JOBS.items():
            took: list[list[float]] = [[], []]
            for turn in range(options.rounds):
                for side in (0, 1) if turn % 2 == 0 else (1, 0):
                    took[side].append(seconds(checkouts[side], homes[side], arguments))
            before, after = (median(each) for each in took)
            rows.append([name, f"{before:.3f} s", f"{after:.3f} s", f"{after / before:.2f}"])
    head = [f"median of {options.rounds}", "before", "after", "after / before"]
    figures.show(figures.table(head, rows), " against ".join(options.places) + ".", rows, options.output)


if __name__ == "__main__":
    main()
