"""PostgreSQL with a synchronous standby: the primary is killed in the middle of indexing, the standby promoted.

    python scripts/scale_failover.py [--trials 10] [--documents 400] [--json FILE]       needs the package pgserver

Each trial makes a pair of servers, indexes documents in another process, kills the primary with SIGKILL at a random
moment, and promotes the standby while this process goes on searching. Then it counts: documents that were acknowledged
and are not there, searches that failed, seconds from the kill to the next answer, new connections of the searcher; and
it runs the indexing again, which has to end with every document once and vectors like those of a clean run.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from scripts.postgres_server import USER, PostgresServer
from semsearch import Document, Index
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import SemsearchError

AT_ONCE = 5  # documents of one call, which is acknowledged as a whole
PATIENCE = 60.0
_WRITER = "import sys; sys.path.insert(0, sys.argv[1]); import scale_failover as s; s.write(*sys.argv[2:])"


@contextmanager
def pair(folder: Path) -> Iterator[tuple[PostgresServer, PostgresServer, str]]:
    """A primary, its synchronous standby, and an address that leads to whichever of them takes writes."""
    primary, standby = PostgresServer(folder / "a"), PostgresServer(folder / "b")
    try:
        primary.make()
        primary.start()
        primary.sql("CREATE EXTENSION vector")
        standby.prepare()
        primary.run(
            "pg_basebackup", "-D", str(standby.data), "-h", str(primary.sockets), "-U", USER, "-R", "-X", "stream"
        )
        standby.start()
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.sql("SELECT pg_reload_conf()")
        until(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync", "a synchronous standby")
        hosts = f"{primary.sockets},{standby.sockets}"
        yield primary, standby, f"postgresql:///postgres?host={hosts}&user={USER}&target_session_attrs=read-write"
    finally:
        primary.stop()
        standby.stop()


def until(is_so: Callable[[], bool], what: str) -> None:
    """Wait for a condition."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"no {what} after {PATIENCE:g} s")
        time.sleep(0.02)


def documents(count: int) -> list[Document]:
    return [Document(f"d{n}", f"Document {n} is about subject {n % 17} and number {n * n}.") for n in range(count)]


def write(home: str, count: str, acknowledged: str) -> None:
    """In another process: index documents, and note each that was acknowledged."""
    every = documents(int(count))
    with Index.open("failover", home=Path(home)) as index, Path(acknowledged).open("a", encoding="utf-8") as noted:
        for at in range(0, len(every), AT_ONCE):
            index.add(every[at : at + AT_ONCE])
            noted.write("".join(f"{one.id}\n" for one in every[at : at + AT_ONCE]))
            noted.flush()


def trial(folder: Path, count: int, share: float) -> dict[str, Any]:
    """One failover, after a share of the documents was acknowledged."""
    home, noted = folder / "home", folder / "acknowledged"
    home.mkdir()
    noted.touch()
    with pair(folder) as (primary, standby, address):
        Index.create("failover", encoder="hashing", home=home, store=f"postgres:{address}").close()
        command = [sys.executable, "-c", _WRITER, str(Path(__file__).parent), str(home), str(count), str(noted)]
        with Index.open("failover", home=home) as searcher:
            searcher.search("subject 3", k=3)
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as writer:
                until(lambda: len(noted.read_text().split()) >= share * count, "acknowledged document")
                primary.kill()
                began = time.monotonic()
                standby.run("pg_ctl", "promote", "-D", str(standby.data), "-w")
                promoted = time.monotonic() - began
                failed = searches(searcher)
                answered = time.monotonic() - began
                _, said = writer.communicate(timeout=PATIENCE)
            acknowledged = noted.read_text().split()
            lost = missing(searcher, acknowledged)
            rest = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
            ended = sorted(each["id"] for each in searcher.documents()) == sorted(one.id for one in documents(count))
            return {
                "acknowledged": len(acknowledged),
                "lost": len(lost),
                "promoted_s": round(promoted, 2),
                "answered_s": round(answered, 2),
                "failed_searches": failed,
                "writer_said": said.strip().rpartition("\n")[2][:160],
                "complete_after_the_second_run": ended and rest.returncode == 0,
                "least_cosine": least_cosine(searcher, count),
                "problems": searcher.verify(),
            }


def searches(searcher: Index) -> int:
    """How many searches failed until one was answered."""
    failed = 0
    while True:
        try:
            searcher.search("subject 3", k=3)
            return failed
        except SemsearchError:
            failed += 1
            if failed > 20:
                raise


def missing(searcher: Index, acknowledged: list[str]) -> list[str]:
    """The acknowledged documents that are not there."""
    there = {each["id"] for each in searcher.documents()}
    return [name for name in acknowledged if name not in there]


def least_cosine(searcher: Index, count: int) -> float:
    """The least cosine between a stored vector and that of a clean run."""
    encoder = HashingEncoder()
    lowest = 1.0
    for document in documents(count)[:: max(1, count // 50)]:
        (passage,) = searcher.passages(document.id)
        stored = searcher.vectors([passage["id"]])[0]
        lowest = min(lowest, float(stored @ encoder.encode([document.text], role="passage")[0]))
    return round(lowest, 6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    chosen = parser.parse_args()
    random.seed(7)
    found = []
    for _ in range(chosen.trials):
        with tempfile.TemporaryDirectory(prefix="pg-") as scratch:
            folder = Path(scratch)
            folder.chmod(0o755)
            found.append(trial(folder, chosen.documents, random.uniform(0.1, 0.9)))
        print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    answered = [one["answered_s"] for one in found]
    summary = {
        "trials": len(found),
        "lost": sum(one["lost"] for one in found),
        "failed_searches": sum(one["failed_searches"] for one in found),
        "complete": sum(one["complete_after_the_second_run"] for one in found),
        "median_answered_s": float(np.median(answered)),
        "least_cosine": min(one["least_cosine"] for one in found),
        "problems": [problem for one in found for problem in one["problems"]],
    }
    print(json.dumps(summary, indent=1))
    if chosen.json:
        chosen.json.write_text(json.dumps({**summary, "each": found}, indent=1) + "\n", encoding="utf-8")
    if summary["lost"] or summary["complete"] != summary["trials"] or summary["problems"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
