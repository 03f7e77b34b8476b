#!/usr/bin/env python3
"""Kill a part of a Ray cluster with SIGKILL in the middle of embedding: is everything there once?

    scripts/ray_faults.py actor|node|driver ... [--trials 10] [--documents 900] [-o FIGURES.json]

actor: one of two that embed. node: one of two, with everything in it; the next trial has a new one. driver: the command
itself, which then runs again. A clean run is made first. In each trial a new index is made of the same documents; when
a random number of the SHARDS shards is done, but not all, the kill happens. Printed for each trial and summed up:
documents of shards that were acknowledged by a marker before the kill and that are missing in the index (lost),
passages that are missing, left over or there twice, vectors that differ from the clean run's (cosine below 0.9999),
problems that `verify` tells, how many texts the encoders of the workers and the driver embedded for the documents in
the run that ended, and how many of these were acknowledged before it (again). The cluster runs in a network namespace
of its own.
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

import pyarrow.parquet as pq

from scripts import ray_nodes
from scripts.faults.index_contents import compared, contents
from semsearch import Encoder, Index, SyncOptions, admin
from semsearch.documents import waiting_vectors
from semsearch.scale.cluster import Engine
from semsearch.scale.found_vectors import FoundVectors
from semsearch.scale.jobs import embedded_ahead
from semsearch.stores import drivers

SUBJECTS = ("actor", "node", "driver")
SHARDS = 15
WAIT_S = 600.0
TOLD = ("subject", "trial", "shards_done", "seconds")  # of a trial, and not summed up
WRONG = ("lost", "missing", "left_over", "vectors_differ", "problems", "again")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("subjects", nargs="*", choices=[*SUBJECTS, []])
    options.add_argument("--trials", type=int, default=10)
    options.add_argument("--documents", type=int, default=900)
    options.add_argument("-m", dest="model", default="default")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("-o", type=Path, metavar="FIGURES.json")
    for name in ("file", "into"):
        options.add_argument(f"--{name}", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--drive", metavar="ADDRESS", help=argparse.SUPPRESS)  # the process of a run
    chosen = options.parse_args()
    if chosen.drive:
        print(json.dumps(drive(chosen)))
        return 0
    ray_nodes.enter()
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
    total = {key: sum(row[key] for row in rows) for key in rows[0] if key not in TOLD}
    return {"subject": rows[0]["subject"], "trials": len(rows), **total}


def drive(chosen: argparse.Namespace) -> dict[str, int]:
    """A run: an index of the documents, whose texts the cluster embeds; what it came to."""
    encoder = FoundVectors(Encoder.load(chosen.model, threads=1))
    opened = drivers.exists(chosen.into)
    with Index.open(chosen.into, encoder=encoder) if opened else Index.create(chosen.into, encoder=encoder) as index:
        own = encoder.model.embedded or 0  # texts that every new index embeds
        ahead = embedded_ahead(
            index.path,
            encoder,
            [chosen.file],
            SyncOptions(),
            Engine(chosen.drive, 2, 2),
            size=chosen.documents // SHARDS,
        )
        with ahead as report:
            index.sync([chosen.file], SyncOptions())
        here = (encoder.model.embedded or 0) - own
    return {"by_workers": report.embedded, "by_driver": here, "shards_before": report.before}


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
        name, began, shards = f"{subject}{trial}", time.monotonic(), self._random.randint(1, SHARDS - 3)
        process = self._started(name)
        waiting = waiting_vectors.folder(self._folder / name)
        while len(done := sorted(waiting.glob("shard-*.done"))) < shards:
            if process.poll() is not None or time.monotonic() - began > WAIT_S:
                raise RuntimeError(f"{name} ended before the kill: {process.communicate()[1]}")
            time.sleep(0.01)
        self._kill(subject, process)
        acknowledged = {uri for marker in done for uri in documents_of(marker)}
        after = len(list(waiting.glob("shard-*.done")))
        if not after < SHARDS:
            raise RuntimeError(f"{name}: everything was embedded before the kill; use more --documents")
        out, errors = process.communicate(timeout=WAIT_S)
        if (process.returncode == 0) == (subject == "driver"):
            raise RuntimeError(f"{name} ended with {process.returncode}: {errors}")
        report = self._finished(name) if subject == "driver" else json.loads(out)
        kept = len(acknowledged) if subject == "driver" else 0
        row = {"subject": subject, "trial": trial, "shards_done": len(done)}
        row |= compared(self._folder / name, self._clean, acknowledged)
        row |= {**report, "again": self._again(report, kept)}
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

    def _again(self, report: dict[str, int], kept: int) -> int:
        """Texts that a run embedded though they were acknowledged before it. A document here has one passage."""
        return max(0, report["by_workers"] + report["by_driver"] - (len(self._clean) - kept))

    def _started(self, name: str) -> subprocess.Popen[str]:
        given = ["--drive", self._cluster.address, "--file", self._documents, "--into", self._folder / name]
        given += ["-m", self._chosen.model, "--documents", self._chosen.documents]
        return subprocess.Popen(
            [sys.executable, __file__, *map(str, given)],
            env=self._cluster.environment,
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


def documents_of(marker: Path) -> set[str]:
    """The documents of a shard that is done."""
    file = marker.with_suffix(".parquet")
    return set(pq.read_table(file, columns=["document"]).column(0).to_pylist())


if __name__ == "__main__":
    sys.exit(main())
