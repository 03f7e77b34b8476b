"""Kill a part of a Ray cluster with SIGKILL in the middle of embedding: is everything there once?

    python -m scripts.faults.ray_kills actor|node|driver ... [--trials 10] [--documents 900] [-o FIGURES.json]

actor: one of two that embed. node: one of two, with everything in it; the next trial has a new one. driver: the command
itself, which then runs again. A clean run is made first. In each trial a new index is made of the same documents; when
the vectors of a random share of the documents have arrived, but not all, the kill happens. Printed for each trial and
summed up: documents whose vectors were on disk before the kill and that the next run does not know (lost), passages
that are missing, left over or there twice, vectors that differ from the clean run's (cosine below 0.9999), problems
that `verify` tells, how many texts the encoders of the workers and the driver embedded for the documents in the run
that ended, and how many of these had arrived before it (again). The cluster runs in a network namespace of its own.
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

from scripts.faults.index_contents import compared, contents
from scripts.shared import ray_nodes
from scripts.shared.places import CHECKOUT
from scripts.shared.programs import command
from semsearch import Encoder, Index, SyncOptions, admin
from semsearch.index.admin import waiting_vectors
from semsearch.scale import parts
from semsearch.scale.cluster import Engine
from semsearch.scale.embedding_job import embedded_ahead
from semsearch.scale.precomputed_encoder import PrecomputedEncoder
from semsearch.stores import drivers

SUBJECTS = ("actor", "node", "driver")
PARTS = 60  # of the documents
KEY = 32  # hexadecimal digits of a document's key
WAIT_S = 600.0
LABELS = ("subject", "trial", "arrived", "seconds")  # of a trial, and not summed up
WRONG = ("lost", "missing", "left_over", "vectors_differ", "problems", "again")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("subjects", nargs="*", choices=[*SUBJECTS, []])
    options.add_argument("--trials", type=int, default=10)
    options.add_argument("--documents", type=int, default=900)
    options.add_argument("-m", dest="model", default="minilm")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("-o", type=Path, metavar="FIGURES.json")
    for name in ("file", "into"):
        options.add_argument(f"--{name}", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--drive", metavar="ADDRESS", help=argparse.SUPPRESS)  # the process of a run
    chosen = options.parse_args()
    if chosen.drive:
        print(json.dumps(drive(chosen)))
        return 0
    ray_nodes.enter("faults.ray_kills")
    with tempfile.TemporaryDirectory(prefix="faults-") as scratch, ray_nodes.cluster(2, cpus=1) as cluster:
        trials = Trials(chosen, Path(scratch), cluster)
        rows = [trials.one(subject, trial) for subject in chosen.subjects for trial in range(chosen.trials)]
    sums = [summed([row for row in rows if row["subject"] == subject]) for subject in chosen.subjects]
    for row in sums:
        print(json.dumps(row))
    if chosen.o:
        chosen.o.write_text(json.dumps({"sums": sums, "trials": rows}, indent=1) + "\n", encoding="utf-8")
    return 1 if any(row[key] for row in sums for key in WRONG) else 0


def summed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The trials of a subject, added up."""
    total = {key: sum(row[key] for row in rows) for key in rows[0] if key not in LABELS}
    return {"subject": rows[0]["subject"], "trials": len(rows), **total}


def drive(chosen: argparse.Namespace) -> dict[str, int]:
    """A run: an index of the documents, whose texts the cluster embeds; what it came to."""
    encoder = PrecomputedEncoder(Encoder.load(chosen.model, threads=1))
    opened = drivers.exists(chosen.into)
    with Index.open(chosen.into, encoder=encoder) if opened else Index.create(chosen.into, encoder=encoder) as index:
        own = encoder.model.embedded or 0  # texts that every new index embeds
        parts.PART_BYTES = chosen.file.stat().st_size // PARTS
        ahead = embedded_ahead(index.path, encoder, [chosen.file], SyncOptions(), Engine(chosen.drive, 2))
        with ahead as report:
            index.sync([chosen.file], SyncOptions())
        here = (encoder.model.embedded or 0) - own
    return {"by_workers": report.embedded, "by_driver": here, "before": report.before}


class Trials:
    """Kills, and what became of the index."""

    def __init__(self, chosen: argparse.Namespace, folder: Path, cluster: ray_nodes.Cluster) -> None:
        self._chosen, self._folder, self._cluster = chosen, folder, cluster
        self._random = random.Random(chosen.seed)
        self._documents = folder / "documents.jsonl"
        write_documents(self._documents, chosen.documents, self._random)
        clean = self._finished("clean")
        self._clean = contents(folder / "clean")
        print(json.dumps({"clean": len(self._clean), **clean}), flush=True)

    def one(self, subject: str, trial: int) -> dict[str, Any]:
        """A run in which something is killed, and the run after it where that has ended the first."""
        name, began, share = f"{subject}{trial}", time.monotonic(), self._random.uniform(0.05, 0.8)
        process = self._started(name)
        waiting = waiting_vectors.folder(self._folder / name)
        while (done := arrived(waiting)) < share * len(self._clean):
            if process.poll() is not None or time.monotonic() - began > WAIT_S:
                raise RuntimeError(f"{name} ended before the kill: {process.communicate()[1]}")
            time.sleep(0.01)
        self._kill(subject, process)
        if arrived(waiting) >= len(self._clean):
            raise RuntimeError(f"{name}: everything was embedded before the kill; use more --documents")
        out, errors = process.communicate(timeout=WAIT_S)
        if (process.returncode == 0) == (subject == "driver"):
            raise RuntimeError(f"{name} ended with {process.returncode}: {errors}")
        report = self._finished(name) if subject == "driver" else json.loads(out)
        row = {"subject": subject, "trial": trial, "arrived": done}
        row |= compared(self._folder / name, self._clean, set())
        row |= {**report, "lost": max(0, done - report["before"]) if subject == "driver" else 0}
        row |= {"again": max(0, report["by_workers"] + report["by_driver"] - (len(self._clean) - report["before"]))}
        admin.remove(self._folder / name)
        row["seconds"] = round(time.monotonic() - began, 1)
        print(json.dumps(row), flush=True)
        if subject == "node":
            self._cluster.node(cpus=1)
        return row

    def _kill(self, subject: str, process: subprocess.Popen[str]) -> None:
        if subject == "driver":
            process.send_signal(signal.SIGKILL)
        elif subject == "actor":
            os.kill(self._random.choice(self._cluster.actors()), signal.SIGKILL)
        else:
            self._cluster.kill(self._random.choice(self._cluster.with_actors()))

    def _started(self, name: str) -> subprocess.Popen[str]:
        arguments = ["--drive", self._cluster.address, "--file", self._documents, "--into", self._folder / name]
        arguments += ["-m", self._chosen.model, "--documents", self._chosen.documents]
        return subprocess.Popen(
            command("faults.ray_kills", *arguments),
            env=self._cluster.environment,
            cwd=CHECKOUT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def _finished(self, name: str) -> dict[str, int]:
        process = self._started(name)
        out, errors = process.communicate(timeout=WAIT_S)
        if process.returncode:
            raise RuntimeError(f"{name} ended with {process.returncode}: {errors}")
        report: dict[str, int] = json.loads(out)
        return report


def write_documents(file: Path, count: int, rng: random.Random) -> None:
    """Records of one passage each."""
    words = [f"word{number}" for number in range(2_000)]
    with file.open("w", encoding="utf-8") as out:
        for number in range(count):
            out.write(json.dumps({"id": f"d{number:05}", "text": " ".join(rng.choices(words, k=25))}) + "\n")


def arrived(waiting: Path) -> int:
    """Documents, of one passage each, whose vectors are on disk."""
    heads = (file.read_bytes().partition(b"\n")[0] for file in waiting.glob("*.part"))
    return sum(len(json.loads(head)["keys"]) // KEY for head in heads)


if __name__ == "__main__":
    sys.exit(main())
