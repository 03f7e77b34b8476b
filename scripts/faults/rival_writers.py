"""Processes that write into one index at the same time, the same documents among them: is everything there once?

    python -m scripts.faults.rival_writers --store lance|bucket|postgres [--writers 2] [--seconds 120]

Each calls `Index.add` until the time is over, with documents that all of them write, each time with another text, and
with some of its own. `lost` are documents that were acknowledged and are missing, `twice` passages beyond one of each
document, `old` documents of all with a text that was never the last of a writer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scripts.faults.store_faults import place_of
from scripts.shared.programs import command
from semsearch import Document, Index

SHARED, OWN = 5, 5  # documents of one call


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--store", choices=("postgres", "lance", "bucket"), default="lance")
    options.add_argument("--writers", type=int, default=2)
    options.add_argument("--seconds", type=float, default=120)
    options.add_argument("--write", nargs=2, help=argparse.SUPPRESS)  # the home, and the number of the writer
    chosen = options.parse_args()
    if chosen.write:
        write(Path(chosen.write[0]), chosen.write[1], chosen.seconds)
        return 0
    with (
        tempfile.TemporaryDirectory(prefix="rivals-") as scratch,
        place_of(chosen.store, Path(scratch) / "data") as place,
    ):
        home = Path(scratch) / "home"
        Index.create("both", encoder="hashing", home=home, store=place.store).close()
        words = ["--seconds", chosen.seconds, "--write", home]
        rivals = [
            subprocess.Popen(command("faults.rival_writers", *words, number), stdout=subprocess.PIPE, text=True)
            for number in range(chosen.writers)
        ]
        rounds = [int(rival.communicate()[0] or 0) for rival in rivals]
        figures = {"store": chosen.store, "failed": sum(rival.returncode != 0 for rival in rivals), "rounds": rounds}
        figures |= compared(home, rounds)
    print(json.dumps(figures))
    return int(any(figures[name] for name in ("failed", "lost", "twice", "old", "problems")))


def write(home: Path, number: str, seconds: float) -> None:
    """Write until the time is over, and print how often."""
    end, at = time.monotonic() + seconds, 0
    with Index.open("both", home=home) as index:
        while time.monotonic() < end:
            both = [Document(f"shared{n}", f"Text {n} of writer {number}, round {at}.") for n in range(SHARED)]
            own = [Document(f"own{number}-{at}-{n}", f"Own text {n}, round {at}.") for n in range(OWN)]
            index.add([*both, *own])
            at += 1
    print(at)


def compared(home: Path, rounds: list[int]) -> dict[str, int]:
    """What is wrong in the index, after so many rounds of each writer."""
    expected = {f"own{n}-{at}-{own}" for n, most in enumerate(rounds) for at in range(most) for own in range(OWN)}
    with Index.open("both", home=home) as index:
        texts = {one["document"]: one["text"] for one in index.get()}
        last = {f"Text {n} of writer {w}, round {most - 1}." for n in range(SHARED) for w, most in enumerate(rounds)}
        shared = [text for name, text in texts.items() if name.startswith("shared")]
        info = index.info()
        return {
            "documents": info["documents"],
            "lost": len(expected - texts.keys()) + SHARED - len(shared),
            "twice": info["passages"] - info["documents"],
            "old": len({*shared} - last),
            "problems": len(index.analysis.verify()),
        }


if __name__ == "__main__":
    sys.exit(main())
