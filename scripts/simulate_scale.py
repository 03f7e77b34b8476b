#!/usr/bin/env python3
"""A discrete-event model of the embedding job on Ray, for sizes that cannot run here.

    scripts/simulate_scale.py [--measured RUNS.json] [--passages N ...] [--nodes N ...] [--seeds K] [-o FIGURES.json]

RUNS.json is what `scripts/bench_scale_job.py -o` wrote: the seconds that an actor takes for a part, their spread, the
time until the first part, and how fast the driver stores what arrives. Without it, round numbers are assumed. With it,
the model is compared with those runs first: the smallest run of an encoder says what a part takes, and the model how
long the other runs of that encoder are, the one with a kill among them. `job_model.py` says what is modelled, and what
is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from scripts.job_model import Assumptions, Job, Outcome

KILL = "a kill"  # the run of bench_scale_job.py in which a worker is killed when half of the shards are done


def calibrated(file: Path | None, how: Assumptions) -> Assumptions:
    """The assumptions with what was measured."""
    if file is None:
        return how
    measured = json.loads(file.read_text(encoding="utf-8"))["model"]
    return replace(how, **{name: measured[name] for name in asdict(how) if name in measured})


def calm(measured: Mapping[str, float]) -> Assumptions:
    """A node a worker, with what was measured, and without chance but in the seconds of parts."""
    how = Assumptions(workers_per_node=1, node_mtbf_hours=1e9, driver_mtbf_hours=1e9, node_away_seconds=0.0)
    named = {name: measured[name] for name in asdict(how) if name in measured}
    return replace(how, straggler_share=0.0, **named)  # type: ignore[arg-type]


def compared(runs: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], float]]:
    """Each run on the cluster but the smallest one of its encoder, with the seconds that the model says."""
    found = list[tuple[Mapping[str, Any], float]]()
    smallest = dict[str, Mapping[str, Any]]()
    on_ray = [run for run in runs if run["workers"]]
    for run in sorted(on_ray, key=lambda one: (one["passages"], one["workers"], one["what"] == KILL)):
        base = smallest.setdefault(run["encoder"], run)
        if base is run:
            continue
        how, workers = calm(base["model"]), int(run["workers"])
        half = how.start_seconds + run["passages"] / how.passages_per_part * how.part_seconds / workers / 2
        kills = [(half, 0)] if run["what"] == KILL else []
        found.append((run, Job(run["passages"], workers, how, 0, kills).run().hours * 3600))
    return found


def comparison(runs: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table of measured and predicted times."""
    lines = ["| run | passages | workers | measured s | predicted s | of measured |", "|---|" + "---:|" * 5]
    for run, seconds in compared(runs):
        wall = run["embedding_s"] + run["storing_s"]
        size = f"{run['passages']:,} | {run['workers']}"
        lines.append(
            f"| {run['what']}, {run['encoder']} | {size} | {wall:.1f} | {seconds:.1f} | {seconds / wall:.0%} |"
        )
    return "\n".join(lines)


def table(rows: list[list[Outcome]]) -> str:
    """A Markdown table, a row for each size; means over the seeds."""
    heads = ["passages", "nodes", "hours", "efficiency", "node failures", "embedded again", "driver busy"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---:|" * len(heads)]
    for runs in rows:
        cells = [
            f"{runs[0].passages:.0e}".replace("e+0", "e").replace("e+", "e"),
            f"{runs[0].nodes:,}",
            f"{fmean(run.hours for run in runs):,.2f}",
            f"{fmean(run.efficiency for run in runs):.0%}",
            f"{fmean(run.node_failures for run in runs):,.1f}",
            f"{fmean(run.again for run in runs):.3%}",
            f"{fmean(run.driver_busy for run in runs):.0%}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", type=Path, metavar="RUNS.json")
    parser.add_argument("--passages", type=float, nargs="+", default=[1e7, 1e8, 1e9, 1e10])
    parser.add_argument("--nodes", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--workers-per-node", type=int, default=Assumptions.workers_per_node)
    parser.add_argument("--node-mtbf-hours", type=float, default=Assumptions.node_mtbf_hours)
    parser.add_argument("--worker-writes", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-o", type=Path, metavar="FIGURES.json")
    wanted = parser.parse_args()
    how = Assumptions(
        workers_per_node=wanted.workers_per_node,
        node_mtbf_hours=wanted.node_mtbf_hours,
        worker_writes=wanted.worker_writes,
    )
    how = calibrated(wanted.measured, how)
    if wanted.measured:
        print(comparison(json.loads(wanted.measured.read_text(encoding="utf-8"))["runs"]), end="\n\n")
    rows = [
        [Job(int(passages), nodes, how, seed).run() for seed in range(wanted.seeds)]
        for passages in wanted.passages
        for nodes in wanted.nodes
    ]
    print(table(rows))
    print("\nAssumptions:")
    for sentence in how.sentences():
        print(f"- {sentence}")
    if wanted.o:
        figures = {"assumptions": asdict(how), "runs": [asdict(run) for runs in rows for run in runs]}
        wanted.o.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
