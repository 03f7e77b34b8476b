"""What Ray costs: article leads indexed by one process and by workers of a Ray cluster, in processor seconds.

    python -m scripts.bench.scale_ray [--documents 4000] [--workers 1 2] [-m minilm] [--store local|lance|postgres]
                                                                                    needs: pip install '.[scale]'

The cluster, a head and two nodes of one processor, is in a network namespace of its own. `more` is what a run on it
takes beyond one process: the driver, which is the command itself, and all processes of the cluster. What is in the
index is compared with that of one process: missing and other passages, vectors whose cosine is below 0.9999.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from scripts.faults.index_contents import compared, contents
from scripts.shared import figures, postgres_server, programs, ray_nodes
from scripts.shared.places import CHECKOUT, leads
from semsearch import admin


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("--documents", type=int, default=4_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("-m", dest="model", default="minilm")
    parser.add_argument("--store", choices=("local", "lance", "postgres"), default="lance")
    chosen = parser.parse_args()
    ray_nodes.enter("bench.scale_ray")
    with tempfile.TemporaryDirectory(prefix="ray-bench-") as scratch:
        rows = list(measured(Path(scratch), chosen.documents, chosen.workers, chosen.model, chosen.store))
    table = figures.table(list(rows[-1]), [[row.get(name, "–") for name in rows[-1]] for row in rows])
    figures.show(table, f"{chosen.documents:,} article leads, the encoder {chosen.model}.", rows, chosen.output)


def measured(folder: Path, count: int, workers: list[int], model: str, store: str) -> Iterator[dict[str, Any]]:
    """The figures of one process, and of each number of workers."""
    file, home = folder / "leads.jsonl", folder / "home"
    with file.open("w", encoding="utf-8") as out:
        for one in islice(leads(), count):
            out.write(json.dumps({"id": one["_id"], "title": one["title"], "text": one["text"]}) + "\n")
    with ExitStack() as stack:
        place = store if store == "local" else f"lance:{folder / 'tables'}"
        if store == "postgres":
            place = stack.enter_context(postgres_server.running()).store
        index = ["semsearch", "--home", home, "index", file, "-m", model, "--store", place, "--yes", "-n"]
        environment = {**os.environ, "SEMSEARCH_EMBEDDING_CACHE_MB": "0", "OMP_NUM_THREADS": "1"}
        alone = programs.run(_python(index, "alone"), environment, CHECKOUT)
        clean = contents(home / "alone")
        yield {"by": "this process", "processor s": round(alone.cpu, 1), "s": round(alone.seconds, 1)}
        cluster = stack.enter_context(ray_nodes.cluster(2, cpus=1))
        for number in workers:
            words = ["--engine", "ray", "--ray-address", cluster.address, "--workers", number]
            before = cluster.processor()
            run = programs.run(_python(index, f"ray{number}", *words), cluster.environment, CHECKOUT)
            rest = cluster.processor() - before
            row = {"by": f"{number} workers", "processor s": round(run.cpu + rest, 1), "s": round(run.seconds, 1)}
            row |= {"more %": round(100 * ((run.cpu + rest) / alone.cpu - 1)), "driver s": round(run.cpu, 1)}
            row["cluster s"] = round(rest, 1)
            found = compared(home / f"ray{number}", clean, set())
            yield {**row, **{name: found[name] for name in ("missing", "left_over", "vectors_differ", "problems")}}
            admin.remove(home / f"ray{number}")
        admin.remove(home / "alone")


def _python(command: list[Any], *words: object) -> list[str]:
    return [sys.executable, "-m", *map(str, (*command, *words))]


if __name__ == "__main__":
    main()
