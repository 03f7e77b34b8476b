"""semsearch at a thousand, ten thousand … a million passages beside other vector indexes: a Markdown table and a plot.

    python -m scripts.bench.wiki_vectors                         # once: the vectors of a million Wikipedia sentences
    python -m scripts.bench.scale [--count N …] [--systems NAME …]      needs: pip install '.[cpu,bench,train]'
    python -m scripts.bench.scale --report                 # the table and docs/speed.svg again

Systems: semsearch by backend (auto, flat, ivf, compressed), and faiss HNSW32, faiss IVF, hnswlib and usearch where they
are installed. Each is a process of its own, on one thread while it searches; queries are sentences that are
not indexed, one at a time. A time of semsearch is that of `Index.search` from the encoded query to the hits with their
texts, ten of them; of the others it is that of ten positions. Results are kept as JSON, so that a run goes on where it
was stopped. Where fewer vectors than N exist, the rest are mixtures of two of them with noise, and the table says so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from scripts.bench import scale_corpus as corpora
from scripts.bench.wiki_vectors import CACHE
from scripts.shared import figures, programs
from scripts.shared.places import CHECKOUT

PLOT = CHECKOUT / "docs" / "speed.svg"
COUNTS = (1_000, 10_000, 100_000, 1_000_000)
OWN = ("auto", "flat", "ivf", "compressed")
PEERS = ("faiss HNSW32", "faiss IVF", "hnswlib", "usearch")
LABELS = tuple(corpora.FILTERS.values())
PARTS = {
    "open_s": "opening with the first query, s",
    "cold_s": "a query at the command line, s",
    "visible_s": "1,000 added documents in the next answer, s",
    "rss_mb": "memory, MB",
    "rss_with_encoder_mb": "memory with the encoder, MB",
    "build_mb": "peak memory while building, MB",
}


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("--count", type=int, nargs="+", default=list(COUNTS), help="numbers of passages")
    parser.add_argument("--systems", nargs="+", default=[*OWN, *PEERS], help="what to measure")
    parser.add_argument(
        "--folder", type=Path, default=CACHE / "scale", help="vectors, indexes and results are kept here"
    )
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if not options.report:
        prepare(options.folder, max(options.count))
        for count in options.count:
            measure(options.folder, count, options.systems)
    results = sorted(map(read, options.folder.glob("result-*.json")), key=lambda one: (one["count"], one["system"]))
    figures.show(f"{table(results)}\n\n{parts(results)}", provenance(options.folder), results, options.output)
    plot(results, PLOT)


def prepare(folder: Path, count: int) -> None:
    """Write the vectors, unless enough of them are there."""
    rows = folder / "rows.npy"
    if rows.exists() and len(corpora.load(folder, count).rows) >= count:
        return
    embedded = sorted(CACHE.glob("wiki-*/"))
    if not embedded:
        sys.exit(f"error: there are no vectors below {CACHE}. Run scripts.bench.wiki_vectors.")
    real = corpora.make(embedded[0], folder, count)
    (folder / "real.json").write_text(json.dumps(real), encoding="utf-8")


def provenance(folder: Path) -> str:
    """What the vectors are."""
    real = read(folder / "real.json")
    return f"Up to {real:,} passages: vectors of sentences; beyond, mixtures of two of them with noise."


def measure(folder: Path, count: int, systems: Sequence[str]) -> None:
    """Measure what has no result yet; what is not installed is skipped with the reason."""
    corpora.limits(folder, count)
    corpora.build_store(corpora.load(folder, count), folder / f"store-{count}")
    for system in systems:
        result = folder / f"result-{count}-{system.replace(' ', '-')}.json"
        if result.exists():
            continue
        command = programs.command("bench.scale_systems", folder, count, system)
        print(f"{count:,}: {system}", file=sys.stderr)
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"skipped: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}", file=sys.stderr)
        else:
            result.write_text(done.stdout, encoding="utf-8")


def read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def table(results: Sequence[Any]) -> str:
    """Speed and recall, a row for each system and number of passages."""
    heads = [f"{label}: p50, p99 ms (cpu), recall" for label in LABELS]
    rows = []
    for one in results:
        took = f"{one['build_s']:.0f} ({one['build_cpu_s']:.0f})" if "build_s" in one else "as above"
        cells = [_cell(one["filters"].get(label)) for label in LABELS]
        rows.append([f"{one['count']:,}", one["system"], took, f"{one['bytes']:.0f}", f"{one['rss_mb']:.0f}", *cells])
    return figures.table(["passages", "system", "build s (cpu)", "bytes a vector", "MB", *heads], rows)


def _cell(hits: Any) -> str:
    if hits is None:
        return "–"
    return f"{hits['p50']:.1f}, {hits['p99']:.1f} ({hits['cpu']:.1f}), {hits['recall']:.3f}"


def parts(results: Sequence[Any]) -> str:
    """Opening, memory, the command line, added documents, and the first query with each filter: semsearch alone."""
    own = [one for one in results if one["system"].startswith("semsearch")]
    names = [f"{one['count']:,} {one['system'].split()[1]}" for one in own]
    rows = [[name, *(f"{one[key]:.3g}" if key in one else "–" for one in own)] for key, name in PARTS.items()]
    for label in LABELS[1:]:
        firsts = (f"{one['filters'][label]['first'] / 1000:.2g}" for one in own)
        rows.append([f"first query with a filter of {label}, s", *firsts])
    return figures.table(["", *names], rows)


def plot(results: Sequence[Any], file: Path) -> None:
    """Processor time of a query against the number of passages, one line for each system."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "semsearch"
    figure = Figure(figsize=(7, 4.2))
    axes = figure.subplots()
    for system in dict.fromkeys(one["system"] for one in results):
        points = [(one["count"], one["filters"]["all"]["cpu"]) for one in results if one["system"] == system]
        axes.plot(*zip(*points, strict=True), marker="o", label=system, linewidth=2 if "semsearch" in system else 1)
    axes.set(xscale="log", yscale="log", xlabel="passages", ylabel="processor time of a query, ms")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    main()
