"""Break a store in the middle of indexing, mend it, run again: is everything there once?

    python -m scripts.faults.store_faults --store postgres [--trials 10]                    needs the package pgserver
    python -m scripts.faults.store_faults --store lance                                     needs pylance
    python -m scripts.faults.store_faults --store bucket --fault away                       needs moto, too
    unshare --mount python -m scripts.faults.store_faults --store lance --fault full        as root, on Linux

kill: SIGKILL of the server, which is started again at once; of Lance, which has none, of the process that indexes.
full: the data are on a small disk, which is filled for some seconds and then freed; a server is started again where it
ended. away: an object store answers nothing for some seconds.

A clean run is made first. In each trial `semsearch index` runs as a process of its own; a moment after a random share
of the documents is there, the fault happens, while the process waits; in every second kill of a server the process
is killed with it. Then the same command runs until it succeeds. Printed for each trial, and summed up: documents that
the store had acknowledged by the report of a run or by a query before the fault and that are missing afterwards
(lost), documents and passages that are missing, there twice or left over, vectors that differ from the clean run's
(cosine below 0.9999), problems that `verify` tells, how many texts the last run encoded, and how many of them were
there before it. `unclear` are runs that did not end in one line of error with a documented exit code.
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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from scripts.faults.index_contents import Vectors, compared, contents, document
from scripts.shared import object_store, postgres_server
from scripts.shared.object_store import ObjectStore
from scripts.shared.postgres_server import PostgresServer
from semsearch import Index, admin
from semsearch.stores import drivers

TRIES = 6
SOON = 0.5  # seconds between two looks at what is there
MOMENT = 3.0  # seconds, at most, between such a look and the fault: a commit takes about as long
LABELS = ("trial", "after_s", "code", "said")  # of a trial, and not summed up
CODES = (0, 1, 7, -signal.SIGKILL)  # of a run that ends well, fails, waits too long for another one, or is killed
WRONG = ("unclear", "lost", "missing", "left_over", "vectors_differ", "problems", "encoded_again")


class SmallDisk:
    """A disk in memory, of so many megabytes."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        options = f"size={megabytes}m,mode=0755"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "faults", str(folder)], check=True)

    def fill(self) -> None:
        """Take all the room that is left, also that which is freed meanwhile."""
        with (self.folder / "filled").open("ab", buffering=0) as file:
            for size in (2**20, 2**12):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    def free(self) -> None:
        """Give back what `fill` took."""
        (self.folder / "filled").unlink()

    def remove(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)


@contextmanager
def disk_of(fault: str, folder: Path, megabytes: int) -> Iterator[SmallDisk | None]:
    """The disk that `folder` is on, where it is to be full."""
    disk = SmallDisk(folder, megabytes) if fault == "full" else None
    try:
        yield disk
    finally:
        if disk is not None:
            disk.remove()


class Place(Protocol):
    """Where documents go. `store`: what stands after `--store`."""

    @property
    def store(self) -> str: ...


class Folder:
    """Tables of Lance in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.store = f"lance:{folder}"


@contextmanager
def place_of(store: str, folder: Path) -> Iterator[Place]:
    """An empty place of a kind, with its data in `folder` where it keeps them on a disk."""
    with ExitStack() as stack:
        if store == "lance":
            yield Folder(folder)
        elif store == "bucket":
            yield stack.enter_context(object_store.running())
        else:
            folder.parent.chmod(0o755)  # PostgreSQL does not run as root
            yield stack.enter_context(postgres_server.running_at(folder))


def cause(place: Place, disk: SmallDisk | None, seconds: float) -> None:
    """Let the fault happen, and end, at once or after some seconds; then the place can be used."""
    end = time.monotonic() + seconds
    while disk is not None and time.monotonic() < end:
        disk.fill()
        time.sleep(0.2)
    if disk is not None:
        disk.free()
    if isinstance(place, ObjectStore):
        place.away(seconds)
    elif isinstance(place, PostgresServer) and (disk is None or not place.runs()):
        place.kill()
        place.start()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--store", choices=("postgres", "lance", "bucket"), required=True)
    options.add_argument("--fault", choices=("kill", "full", "away"), default="kill")
    options.add_argument("--trials", type=int, default=10)
    options.add_argument("--documents", type=int, default=1_000)
    options.add_argument("--seconds", type=float, default=30, help="of a full disk, or without an answer")
    options.add_argument("--megabytes", type=int, default=1_000, help="of the disk that is filled")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--json", type=Path, help="write the figures to this file")
    chosen = options.parse_args()
    if (chosen.store == "bucket") != (chosen.fault == "away"):
        options.error("a bucket can be away, and nothing else")
    with (
        tempfile.TemporaryDirectory(prefix="faults-") as scratch,
        disk_of(chosen.fault, Path(scratch) / "data", chosen.megabytes) as disk,
        place_of(chosen.store, Path(scratch) / "data") as place,
    ):
        rows = tried(chosen, Path(scratch), disk, place)
    total = {key: sum(row[key] for row in rows) for key in rows[0] if key not in LABELS}
    summary = {"store": chosen.store, "fault": chosen.fault, "trials": len(rows), **total}
    print(json.dumps(summary))
    if chosen.json:
        chosen.json.write_text(json.dumps({**summary, "each": rows}, indent=1) + "\n", encoding="utf-8")
    return 1 if any(total[key] for key in WRONG) else 0


def tried(chosen: argparse.Namespace, scratch: Path, disk: SmallDisk | None, place: Place) -> list[dict[str, Any]]:
    """The rows of all trials."""
    rng = random.Random(chosen.seed)
    home, folder = scratch / "home", scratch / "documents"
    write_documents(folder, chosen.documents, rng)
    clean, seconds = clean_run(home, folder, place)
    print(json.dumps({"clean": len(clean), "seconds": round(seconds, 1)}), flush=True)
    rows = []
    for trial in range(chosen.trials):
        after, process, acknowledged = in_the_middle(home, folder, f"trial{trial}", place, rng)
        if chosen.fault == "kill" and (trial % 2 == 1 or chosen.store == "lance"):
            process.send_signal(signal.SIGKILL)
        cause(place, disk, chosen.seconds)
        _, said = process.communicate()  # not wait(): a full pipe would hold it up
        row = {"trial": trial, "after_s": round(after, 2), **ended(process.returncode, said)}
        rows.append({**row, **completed(home, folder, f"trial{trial}", place, clean, acknowledged)})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def in_the_middle(
    home: Path, folder: Path, name: str, place: Place, rng: random.Random
) -> tuple[float, subprocess.Popen[str], set[str]]:
    """After how many seconds of a run that goes on, the run, and what it has acknowledged, which is not everything.

    A moment after a random share of the documents is there; of none in about every fifth run. One that ends before that
    is made again from the beginning, and broken earlier.
    """
    documents, most = sum(1 for _ in folder.iterdir()), 0.8
    while True:
        share = max(0.0, rng.uniform(-0.2, most))
        began, process = time.monotonic(), started(home, folder, name, place)
        while process.poll() is None and len(seen(home / name)) < share * documents:
            time.sleep(SOON)
        time.sleep(rng.uniform(0, MOMENT))
        acknowledged = seen(home / name)
        if process.poll() is None and len(acknowledged) < documents:
            return time.monotonic() - began, process, acknowledged
        process.communicate()
        admin.remove(home / name)
        if not share:
            raise RuntimeError(f"{documents} documents are indexed in {MOMENT:g} s: use more --documents")
        most = share


def ended(code: int, said: str) -> dict[str, Any]:
    """How a run ended. `unclear`: in an error that was not told in one line, or without a code that is documented."""
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    clear = code in CODES and len(errors) == (code > 0) and "Traceback" not in said
    return {"run_ended_in_error": int(code != 0), "unclear": int(not clear), "code": code, "said": " ".join(errors)}


def completed(
    home: Path, folder: Path, name: str, place: Place, clean: Vectors, acknowledged: set[str]
) -> dict[str, int]:
    """What is there once the same command has run again, compared with a clean run, and what that run encoded."""
    whole = finished(home, folder, name, place)
    with Index.open(home / name) as index:
        encoded = int(index.info()["last_run"]["embedded"])
    needed = sum(1 for passage in clean if document(passage) not in whole)
    row = {
        **compared(home / name, clean, acknowledged),
        "encoded_by_last_run": encoded,
        "encoded_again": max(0, encoded - needed),
    }
    admin.remove(home / name)
    return row


def write_documents(folder: Path, count: int, rng: random.Random) -> None:
    folder.mkdir(parents=True)
    words = [f"word{number}" for number in range(2_000)]
    for number in range(count):
        text = "\n\n".join(" ".join(rng.choices(words, k=60)) + "." for _ in range(4))
        (folder / f"d{number:05}.txt").write_text(f"Document {number}. {text}\n", encoding="utf-8")


def clean_run(home: Path, folder: Path, place: Place) -> tuple[Vectors, float]:
    began = time.monotonic()
    finished(home, folder, "clean", place)
    return contents(home / "clean"), time.monotonic() - began


def started(home: Path, folder: Path, name: str, place: Place) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "semsearch", "--home", str(home), "index", str(folder), "-n", name]
    command += ["--store", place.store, "-m", "hashing", "--json"]
    environment = {**os.environ, "SEMSEARCH_EMBEDDING_CACHE_MB": "0"}
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finished(home: Path, folder: Path, name: str, place: Place) -> set[str]:
    """Run until a run succeeds; the documents that were there before it.

    Of at most TRIES, since a server that was killed takes its time.
    """
    for _ in range(TRIES):
        whole = seen(home / name)
        process = started(home, folder, name, place)
        _, errors = process.communicate()
        if process.returncode == 0:
            return whole
    raise RuntimeError(f"semsearch index failed {TRIES} times: {errors}")


def seen(location: Path) -> set[str]:
    """The documents that a reader sees now, which are acknowledged by that; none where there is no index yet."""
    if not drivers.exists(location):
        return set()
    with drivers.find(location).open_reader(location) as reader:
        return {row.uri for row in reader.document_rows()}


if __name__ == "__main__":
    sys.exit(main())
