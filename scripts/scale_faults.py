"""Kill a store's server with SIGKILL in the middle of indexing, start it again, run again: is everything there once?

    unshare --net sh -c 'ip link set lo up; python scripts/scale_faults.py milvus [--trials 10] [--documents 600]'

A clean run is made first. In each trial `semsearch index` runs as a process of its own; at a random moment the server
is killed and started again, while the process waits; in every second trial the process is killed with it. Then the same
command runs until it succeeds. Printed for each trial, and summed up: documents that the store had acknowledged by the
report of a run or by a query before the kill and that are missing afterwards (lost), documents and passages that are
there twice or left over, vectors that differ from the clean run's (cosine below 0.9999), problems that `verify` tells,
and how many texts the last run encoded.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import milvus_standalone
import numpy as np

from semsearch import Index
from semsearch.stores import drivers

NEAR = 0.9999
TRIES = 6


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("store", choices=["milvus"])
    options.add_argument("--trials", type=int, default=10)
    options.add_argument("--documents", type=int, default=600)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    rng = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as scratch, milvus_standalone.running(Path(scratch) / "server") as server:
        home, folder = Path(scratch) / "home", Path(scratch) / "documents"
        write_documents(folder, chosen.documents, rng)
        clean, seconds = clean_run(home, folder, server)
        print(json.dumps({"clean": len(clean), "seconds": round(seconds, 1)}), flush=True)
        found = []
        for trial in range(chosen.trials):
            found.append(one(trial, home, folder, server, clean, rng.uniform(0.1, 0.9) * seconds))
            print(json.dumps(found[-1]), flush=True)
        total = {key: sum(row[key] for row in found) for key in found[0] if key not in ("trial", "killed_after_s")}
        print(json.dumps({"trials": len(found), **total}))
    return 1 if any(total[key] for key in ("lost", "missing", "left_over", "vectors_differ", "problems")) else 0


def write_documents(folder: Path, count: int, rng: random.Random) -> None:
    folder.mkdir(parents=True)
    words = [f"word{number}" for number in range(2_000)]
    for number in range(count):
        text = "\n\n".join(" ".join(rng.choices(words, k=60)) + "." for _ in range(4))
        (folder / f"d{number:05}.txt").write_text(f"Document {number}. {text}\n", encoding="utf-8")


def clean_run(home: Path, folder: Path, server: milvus_standalone.Server) -> tuple[dict[str, np.ndarray], float]:
    began = time.monotonic()
    finished(home, folder, "clean", server)
    return contents(home / "clean"), time.monotonic() - began


def one(
    trial: int, home: Path, folder: Path, server: milvus_standalone.Server, clean: dict[str, np.ndarray], after: float
) -> dict[str, Any]:
    """A run in which the server is killed after so many seconds."""
    name, both = f"trial{trial}", trial % 2 == 1
    process = started(home, folder, name, server)
    time.sleep(after)
    acknowledged = seen(home / name)
    if both:
        process.send_signal(signal.SIGKILL)
    server.kill()
    server.start()
    process.communicate()  # not wait(): a full pipe would hold it up
    report = finished(home, folder, name, server)
    there = contents(home / name)
    with Index.open(home / name) as index:
        problems = index.verify()
        counts = index.info()
    differ = sum(1 for key, row in there.items() if key in clean and cosine(row, clean[key]) < NEAR)
    row = {
        "trial": trial,
        "killed_after_s": round(after, 2),
        "client_killed": int(both),
        "acknowledged": len(acknowledged),
        "lost": len(acknowledged - {key.partition("\0")[0] for key in there}),
        "missing": len(clean.keys() - there.keys()),
        "left_over": len(there.keys() - clean.keys()) + abs(counts["vectors"] - len(clean)),
        "vectors_differ": differ,
        "problems": len(problems),
        "encoded_by_last_run": encoded(report),
    }
    Index.remove(home / name)
    return row


def started(home: Path, folder: Path, name: str, server: milvus_standalone.Server) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "semsearch", "--home", str(home), "index", str(folder), "-n", name]
    command += ["--store", f"milvus:{server.address}", "-m", "hashing", "--json"]
    environment = {**os.environ, "SEMSEARCH_CACHE": "off"}
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finished(home: Path, folder: Path, name: str, server: milvus_standalone.Server) -> dict[str, Any]:
    """The report of the first run that succeeds; of at most TRIES, since a server that was killed takes its time."""
    for _ in range(TRIES):
        process = started(home, folder, name, server)
        out, errors = process.communicate()
        if process.returncode == 0:
            report: dict[str, Any] = json.loads(out)
            return report
    raise RuntimeError(f"semsearch index failed {TRIES} times: {errors}")


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    """Of rows that are unit vectors but for their rounding to 16 bits, which can take 1e-4 from their lengths."""
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def encoded(report: dict[str, Any]) -> int:
    """How many texts a run encoded."""
    return int(report["vectors"])


def seen(location: Path) -> set[str]:
    """The documents that a reader sees now, which are acknowledged by that; none where there is no index yet."""
    if not drivers.exists(location):
        return set()
    with drivers.find(location).open_reader(location) as reader:
        return {uri for uri, _ in reader.titles()}


def contents(location: Path) -> dict[str, np.ndarray]:
    """The vector of every passage, by document and place."""
    with drivers.find(location).open_reader(location) as reader:
        space = reader.spaces()[0].id
        vectors = {int(one): row for ids, rows in reader.vectors(space) for one, row in zip(ids, rows, strict=True)}
        found = {}
        for uri, _ in reader.titles():
            for position, one in enumerate(reader.passage_ids(uri).tolist()):
                found[f"{uri}\0{position}"] = vectors[one]
        return found


if __name__ == "__main__":
    sys.exit(main())
