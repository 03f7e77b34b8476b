#!/usr/bin/env python3
"""Article leads in PostgreSQL, embedded by a Ray cluster of three nodes: are they those of a local index?

    scripts/ray_leads.py [-m MODEL] [--documents N] [--keep FOLDER] [-o FIGURES.json]

A local index is made by one process, without Ray; FOLDER keeps it between runs. Then `semsearch index --engine ray`
makes an index of the same file in PostgreSQL, with a worker on each node. Of each: passages of the local index that
are missing, left over or have another text, vectors that differ from its own (cosine below 0.9999), problems that
`verify` tells, and how many of the first ten passages of every 100th title are those that an exact search of the local
index finds. The cluster and the server run in a network namespace of their own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scripts import ray_nodes
from scripts.bench_scale_job import leads
from scripts.faults.index_contents import held, near
from scripts.scale_faults import postgres
from scripts.scale_parity import overlap
from scripts.server_faults import Place, Server
from semsearch import Encoder, Index, SyncOptions
from semsearch.stores import drivers
from semsearch.types import Query

NODES = 3
EVERY = 100  # article, whose title is a query
NAME = "leads"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("-m", dest="model", default="default")
    options.add_argument("--documents", type=int, default=10**9)
    options.add_argument("--keep", type=Path, metavar="FOLDER")
    options.add_argument("-o", type=Path, metavar="FIGURES.json")
    chosen = options.parse_args()
    ray_nodes.enter()
    with tempfile.TemporaryDirectory(prefix="leads-") as name:
        scratch = Path(name)
        scratch.chmod(0o755)  # PostgreSQL does not run as root
        folder = chosen.keep or scratch
        file, local = made(folder, chosen.model, chosen.documents)
        found = compared(scratch, file, local, chosen.model)
    if chosen.o:
        chosen.o.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def made(folder: Path, model: str, most: int) -> tuple[Path, Path]:
    """The leads as a file, and the local index of them."""
    folder.mkdir(parents=True, exist_ok=True)
    file, local = folder.resolve() / "leads.jsonl", folder / "local"
    if not file.exists():
        leads(file, most)
    with Index.create(local, encoder=Encoder.load(model), exist_ok=True) as index:
        index.sync([file], SyncOptions())  # what is there already is not embedded again
    return file, local


def compared(scratch: Path, file: Path, local: Path, model: str) -> dict[str, Any]:
    """What the server has after a job on a cluster, beside the local index."""
    home = scratch / "home"
    with postgres(Place(scratch / "postgres")) as server:
        with ray_nodes.cluster(NODES, cpus=1) as cluster:
            report = job(cluster, home, server, file, model)
        row = {"added": report["documents"]["added"], **differences(home / NAME, local)}
        print(json.dumps(row), file=sys.stderr, flush=True)
        with Index.open(home / NAME) as ours, Index.open(local) as theirs:
            row |= {"backend": ours.info()["spaces"][0]["backend"], **nearest_of_titles(ours, theirs)}
            row |= {"problems": len(ours.verify())}
    print(json.dumps(row), flush=True)
    return row


def job(cluster: ray_nodes.Cluster, home: Path, server: Server, file: Path, model: str) -> dict[str, Any]:
    """The report of the command, a process of its own."""
    line = [sys.executable, "-m", "semsearch", "--home", home, "index", file, "-n", NAME, "--store", server.store]
    line += ["-m", model, "--engine", "ray", "--ray-address", cluster.address, "--workers", NODES]
    line += ["--shard-size", 1_000, "--json"]
    done = subprocess.run([*map(str, line)], env=cluster.environment, stdout=subprocess.PIPE, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def differences(location: Path, local: Path) -> dict[str, int]:
    """Of the passages of two indexes."""
    ours, theirs = held(location), held(local)
    both = ours.keys() & theirs.keys()
    return {
        "passages": len(ours),
        "missing": len(theirs.keys() - ours.keys()),
        "left_over": len(ours.keys() - theirs.keys()),
        "texts_differ": sum(ours[one][0] != theirs[one][0] for one in both),
        "vectors_differ": sum(not near(ours[one][1], theirs[one][1]) for one in both),
    }


def nearest_of_titles(ours: Index, theirs: Index) -> dict[str, Any]:
    with drivers.find(theirs.path).open_reader(theirs.path) as reader:
        titles = [str(title) for _, title in reader.titles()[::EVERY]]
    exact = nearest(theirs, titles, exact=True)
    shared = overlap(nearest(ours, titles, exact=False), exact)
    return {"queries": len(titles), "overlap": round(shared, 4)}


def nearest(index: Index, texts: list[str], *, exact: bool) -> list[list[tuple[str, int]]]:
    """The first ten passages of each text by their cosines, as documents and places."""
    found = (index.search(Query(text, k=10, mode="semantic", group="passage", exact=exact)) for text in texts)
    return [[(hit.document, hit.start) for hit in hits] for hits in found]


if __name__ == "__main__":
    sys.exit(main())
