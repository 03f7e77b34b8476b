#!/usr/bin/env python3
"""What the engine costs: the same documents embedded by this process, and by a Ray cluster of one and two workers.

    scripts/bench_scale_job.py [--documents N] [-m MODEL] [-o RUNS.json]      needs: pip install ".[cpu,scale]", unshare

Article leads from the shared data, or the texts of --from FILE.jsonl. The cluster runs on this machine, in a network
namespace of its own. Processor seconds are compared, and not the time on the wall, which others on the machine change:
those of the driver, and those that the nodes of the cluster spent from the beginning of the job to its end. Every run
has one thread a worker. RUNS.json has the figures, and under "model" what `scripts/simulate_scale.py --measured` reads.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from math import sqrt
from pathlib import Path

import ray_nodes
from machine import describe

from semsearch import Encoder, Index, SyncOptions
from semsearch.scale.cluster import Engine
from semsearch.scale.found_vectors import FoundVectors
from semsearch.scale.job_report import JobReport
from semsearch.scale.jobs import embedded_ahead
from semsearch.types import JsonObject

CHECKOUT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("SEMSEARCH_DATA", CHECKOUT.parent / "shared" / "data"))
NAMESPACES = ("--net", "--pid", "--fork", "--kill-child", "--mount-proc")  # nothing of it outlives this process
SHARD = 500  # documents: small, so that a short run has several


def leads(target: Path, count: int) -> None:
    """Write the first article leads as JSON lines."""
    with lzma.open(DATA / "enwiki_leads" / "corpus.jsonl.xz", "rt", encoding="utf-8") as lines, target.open("w") as out:
        out.writelines(islice(lines, count))


def local(documents: Path, folder: Path, model: str) -> JsonObject:
    """The local path with one thread."""
    began, cpu = time.perf_counter(), time.process_time()
    with Index.create(folder, encoder=Encoder.load(model, threads=1)) as index:
        report = index.sync([documents], SyncOptions())
    return {
        "run": "local",
        "passages": report.passages,
        "wall_s": time.perf_counter() - began,
        "cpu_s": time.process_time() - cpu,
    }


def on_ray(documents: Path, folder: Path, model: str, nodes: Sequence[int], address: str, workers: int) -> JsonObject:
    """The same on the cluster, with the update of the index."""
    began, cpu = time.perf_counter(), time.process_time()
    encoder = FoundVectors(Encoder.load(model, threads=1))
    engine = Engine(address, workers, workers, cpus=1.0)
    with (
        ray_nodes.Meter(list(nodes)) as cluster,
        Index.create(folder, encoder=encoder) as index,
        embedded_ahead(folder, encoder, [documents], SyncOptions(), engine, size=SHARD) as report,
    ):
        embedded, storing = time.perf_counter() - began, time.perf_counter()
        passages = index.sync([documents], SyncOptions()).passages
        stored = time.perf_counter() - storing
    return {
        "run": f"ray, {workers} worker{'s' * (workers > 1)}",
        "passages": passages,
        "wall_s": time.perf_counter() - began,
        "embedding_s": embedded,
        "storing_s": stored,
        "cpu_s": time.process_time() - cpu + cluster.seconds,
        "driver_cpu_s": time.process_time() - cpu,
        "model": calibration(report, passages / stored),
    }


def calibration(report: JobReport, stored_per_second: float) -> JsonObject:
    """What the simulation needs."""
    mean = report.worker_seconds / report.parts
    variance = max(report.squares / report.parts - mean**2, 0.0)
    return {
        "part_seconds": mean,
        "spread": sqrt(variance) / mean,
        "start_seconds": report.first_seconds - mean,
        "driver_passages_per_second": stored_per_second,
    }


def inside() -> None:
    """Go into a network namespace with nothing but the loopback: this process begins again there."""
    if not ray_nodes.isolated():
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        again = ["bash", "-c", 'ip link set lo up && exec "$@"', "bench", sys.executable, *sys.argv]
        os.execvp("unshare", ["unshare", *user, *NAMESPACES, *again])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=3000)
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE.jsonl")
    parser.add_argument("-m", dest="model", default="default")
    parser.add_argument("-o", type=Path, metavar="RUNS.json")
    wanted = parser.parse_args()
    inside()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as scratch, ray_nodes.cluster(2) as cluster:
        os.environ.update({name: cluster.environment[name] for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")})
        folder = Path(scratch)
        documents = wanted.source or folder / "leads.jsonl"
        if wanted.source is None:
            leads(documents, wanted.documents)
        with Index.create(folder / "warm", encoder=Encoder.load(wanted.model, threads=1)) as index:
            index.sync([Path(__file__)], SyncOptions())  # what only the first run would pay for
        runs = [local(documents, folder / "local", wanted.model)]
        for workers in (1, 2):
            name = folder / f"ray-{workers}"
            runs.append(on_ray(documents, name, wanted.model, cluster.pids(), cluster.address, workers))
    base = runs[0]["cpu_s"]
    print("| run | passages | processor seconds | of local | seconds | passages/s |\n|---|---:|---:|---:|---:|---:|")
    for run in runs:
        ratio, rate = run["cpu_s"] / base, run["passages"] / run["wall_s"]
        cells = f"{run['cpu_s']:.1f} | {ratio:.2f} | {run['wall_s']:.1f} | {rate:,.0f}"
        print(f"| {run['run']} | {run['passages']:,} | {cells} |")
    if wanted.o:
        figures = {"machine": describe(), "runs": runs, "model": runs[-1]["model"]}
        wanted.o.write_text(json.dumps(figures, indent=1, default=str) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
