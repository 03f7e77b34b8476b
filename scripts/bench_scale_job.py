#!/usr/bin/env python3
"""What the engine costs: the same documents embedded by one process, and by a Ray cluster of one and two workers.

    scripts/bench_scale_job.py [-o RUNS.json] [--plot FILE.svg]      needs: pip install ".[cpu,scale,train]", unshare

Each run is a process of its own, with one thread a worker, on a cluster on this machine in a network namespace of its
own. Processor seconds are compared, and not the time on the wall, which others on the machine change: those of the
whole process, and those that the nodes of the cluster spent from its beginning to its end. Three things are measured:

    equal cores   --documents article leads with the encoder -m: by this process, one worker, two workers
    growth        --sizes sentences with the hashing encoder, which costs next to nothing, so that the engine is seen
    a kill        as with two workers, and one of them is killed when half of the shards are done

RUNS.json has the figures of every run. The embedding cache is off. On two quiet cores it takes
about a quarter of an hour.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from itertools import count, islice
from math import sqrt
from pathlib import Path

from scripts import ray_nodes
from scripts.bench.wiki_vectors import sentences
from scripts.shared.machine import describe
from scripts.shared.places import DATA
from semsearch import Encoder, Index, SyncOptions
from semsearch.documents import waiting_vectors
from semsearch.scale.cluster import Engine
from semsearch.scale.found_vectors import FoundVectors
from semsearch.scale.job_report import JobReport
from semsearch.scale.jobs import embedded_ahead
from semsearch.types import JsonObject

SHARDS = 12  # of a run
KILL = "a kill"  # the run in which a worker is killed when half of the shards are done
SIZES = (5_000, 10_000, 20_000, 40_000, 80_000)
SOON = 0.05  # seconds between two looks


def leads(target: Path, most: int) -> None:
    """Write the first article leads as JSON lines."""
    with lzma.open(DATA / "enwiki_leads" / "corpus.jsonl.xz", "rt", encoding="utf-8") as lines, target.open("w") as out:
        out.writelines(islice(lines, most))


def lines(target: Path, most: int) -> None:
    """Write the first sentences as JSON lines: a passage each."""
    with target.open("w") as out:
        out.writelines(json.dumps({"id": f"w{at}", "text": text}) + "\n" for at, text in enumerate(sentences(most)))


def one(chosen: argparse.Namespace) -> JsonObject:
    """One run, in a process of its own: a new index of the documents. Without workers by the local path."""
    model = Encoder.load(chosen.model, threads=1)
    if not chosen.workers:
        with Index.create(chosen.into, encoder=model) as index:
            return {"passages": index.sync([chosen.file], SyncOptions()).passages}
    began, encoder = time.perf_counter(), FoundVectors(model)
    engine = Engine(chosen.address, chosen.workers, chosen.workers)
    with (
        Index.create(chosen.into, encoder=encoder) as index,
        embedded_ahead(chosen.into, encoder, [chosen.file], SyncOptions(), engine, size=chosen.shard) as report,
    ):
        embedded, storing = time.perf_counter() - began, time.perf_counter()
        passages = index.sync([chosen.file], SyncOptions()).passages
    stored = time.perf_counter() - storing
    return {
        "passages": passages,
        "embedding_s": embedded,
        "storing_s": stored,
        "model": calibration(report, embedded, passages / stored),
    }


def calibration(report: JobReport, seconds: float, stored_per_second: float) -> JsonObject:
    """What the simulation needs. seconds: until everything was embedded."""
    mean = report.worker_seconds / report.parts
    variance = max(report.squares / report.parts - mean**2, 0.0)
    return {
        "parts": report.parts,
        "passages_per_part": report.passages / report.parts,
        "part_seconds": mean,
        "spread": sqrt(variance) / mean,
        "start_seconds": max(0.0, seconds - report.seconds + report.first_seconds - mean),
        "driver_passages_per_second": stored_per_second,
    }


class Bench:
    """Runs processes, and measures them with the cluster."""

    def __init__(self, cluster: ray_nodes.Cluster, folder: Path) -> None:
        self._cluster, self._folder = cluster, folder
        self._numbers = count()
        self.runs: list[JsonObject] = []

    def run(self, what: str, file: Path, model: str, workers: int, *, killed: bool = False) -> JsonObject:
        """The figures of a run; they are added to `runs`."""
        into, shard = self._folder / f"run-{next(self._numbers)}", max(1, sum(1 for _ in file.open()) // SHARDS)
        given = ["--one", "--file", file, "--into", into, "-m", model, "--workers", workers, "--shard", shard]
        command = [sys.executable, __file__, *map(str, given), "--address", self._cluster.address]
        began, ended = time.perf_counter(), threading.Event()
        with ray_nodes.Meter(self._cluster.pids) as cluster:
            process = subprocess.Popen(command, env=self._cluster.environment, stdout=subprocess.PIPE)
            if killed:
                threading.Thread(target=self._kill, args=(into, ended), daemon=True).start()
            out = process.stdout.read() if process.stdout else b""
            ended.set()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if status:
            sys.exit(f"error: {what} ended with {process.returncode}")
        driver = used.ru_utime + used.ru_stime
        found = {
            "what": what,
            "by": f"{workers} worker{'s' * (workers > 1)}" if workers else "this process",
            "encoder": model,
            "workers": workers,
            **json.loads(out),
            "wall_s": time.perf_counter() - began,
            "cpu_s": driver + (cluster.seconds if workers else 0.0),
            "driver_cpu_s": driver,
            "cluster_cpu_s": cluster.kinds if workers else {},
        }
        self.runs.append(found)
        print(json.dumps(found), file=sys.stderr, flush=True)
        return found

    def _kill(self, into: Path, ended: threading.Event) -> None:
        """Kill an actor once half of the shards are done."""
        while len(list(waiting_vectors.folder(into).glob("shard-*.done"))) < SHARDS // 2:
            if ended.wait(SOON):
                return
        os.kill(self._cluster.actors()[0], signal.SIGKILL)


def table(runs: Sequence[JsonObject]) -> str:
    """Markdown. The overhead is that over the run of this process before."""
    rows = ["| | passages | by | processor s | more | driver | actors | rest | s |", "|---|---:|---|" + "---:|" * 6]
    base = 1.0
    for run in runs:
        base = base if run["workers"] else run["cpu_s"]
        actors = run["cluster_cpu_s"].get("actors", 0.0)
        rest = run["cpu_s"] - run["driver_cpu_s"] - actors
        more = f"{run['cpu_s'] / base - 1:+.0%}" if run["workers"] else "–"
        parts = f"{run['driver_cpu_s']:.1f} | {actors:.1f} | {rest:.1f}" if run["workers"] else "– | – | –"
        head = f"| {run['what']} | {run['passages']:,} | {run['by']} | {run['cpu_s']:.1f} | {more}"
        rows.append(f"{head} | {parts} | {run['wall_s']:.1f} |")
    return "\n".join(rows)


def plot(runs: Sequence[JsonObject], file: Path) -> None:
    """Processor seconds against the number of passages, with the hashing encoder."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "semsearch"
    figure = Figure(figsize=(7, 4.2))
    axes = figure.subplots()
    growing = [run for run in runs if run["what"] == "growth"]
    for by in dict.fromkeys(run["by"] for run in growing):
        points = [(run["passages"], run["cpu_s"]) for run in growing if run["by"] == by]
        axes.plot(*zip(*points, strict=True), marker="o", label=by)
    axes.set(xlabel="passages", ylabel="processor seconds, hashing encoder")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def measured(bench: Bench, wanted: argparse.Namespace, folder: Path) -> JsonObject:
    """Every run, and what the simulation is calibrated with: the run of one worker, and how long the driver stores."""
    articles, few = folder / "leads.jsonl", folder / "few.jsonl"
    leads(articles, wanted.documents)
    leads(few, 100)
    bench.run("first", few, wanted.model, 1)  # what only a first run pays for: the files of the encoder, for example
    bench.runs.clear()
    local, single, double = (bench.run("equal cores", articles, wanted.model, workers) for workers in (0, 1, 2))
    killed = bench.run(KILL, articles, wanted.model, 2, killed=True)
    for size in wanted.sizes:
        few_or_many = folder / f"sentences-{size}.jsonl"
        lines(few_or_many, size)
        for workers in (0, 2):
            bench.run("growth", few_or_many, "hashing", workers)
    lost = 2 * (killed["embedding_s"] - double["embedding_s"])
    stored = bench.runs[-1]["model"]["driver_passages_per_second"] if wanted.sizes else None
    model = {**single["model"], "kill_seconds": lost, **({"driver_passages_per_second": stored} if stored else {})}
    return {"runs": bench.runs, "model": model, "overhead": single["cpu_s"] / local["cpu_s"] - 1}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("-m", dest="model", default="default")
    parser.add_argument("-o", type=Path, metavar="RUNS.json")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    for name, kind in {"file": Path, "into": Path, "workers": int, "shard": int, "address": str}.items():
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)  # the process of a run
    wanted = parser.parse_args()
    if wanted.one:
        print(json.dumps(one(wanted)))
        return 0
    ray_nodes.enter()
    with tempfile.TemporaryDirectory() as scratch, ray_nodes.cluster(2, cpus=1) as cluster:
        figures = {"machine": describe(), **measured(Bench(cluster, Path(scratch)), wanted, Path(scratch))}
    print(table(figures["runs"]))
    if wanted.o:
        wanted.o.write_text(json.dumps(figures, indent=1, default=str) + "\n", encoding="utf-8")
    if wanted.plot:
        plot(figures["runs"], wanted.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
