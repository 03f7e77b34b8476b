"""Bulk: what a million records cost to store, to update, and to verify, compact, dump, restore and salvage, as a table.

    python -m scripts.bench.bulk [--count 200000] [--folder DIR] [-o FIGURES.json]

The sentences of the Wikipedia sample are a JSON-lines file, one passage each, indexed with the `hashing` encoder at 384
dimensions. Each job is a process of its own. Beside an update runs a plain script that reads the same file, hashes each
text and compares it with a hash in SQLite; beside dump and compact, SQLite's own backup and VACUUM. Times depend on the
machine; the ratios should not. With `--folder`, an index that is there already is not made again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from scripts.bench import wiki_vectors
from scripts.shared import figures, programs
from scripts.shared.programs import Run
from semsearch import Index, Splitter, SyncOptions, admin
from semsearch.encoders.hashing import HashingEncoder

DIM = 384
GOAL_BYTES, GOAL_SECONDS, GOAL_MEGABYTES = 1300, 60, 1000  # a passage; an update of a million; peak memory
PLAIN = {"update, one record changed": "plain update", "dump": "plain backup", "compact": "plain vacuum"}


def job(name: str, folder: Path, other: Path) -> None:
    """What one process does."""
    encoder = HashingEncoder(DIM)
    if name == "index" and not folder.exists():
        Index.create(folder, encoder=encoder, splitter=Splitter("none")).close()
    if name == "restore":
        admin.restore(other, folder).close()
    elif name == "salvage":
        admin.salvage(folder, other, encoder=encoder)
    elif name.startswith("plain"):
        _plain(name, folder, other)
    else:
        with Index.open(folder, encoder=encoder) as index:
            if name == "index":
                index.sync([other], SyncOptions(yes=True))
            elif name == "verify" and (problems := index.analysis.verify()):
                sys.exit("\n".join(problems))
            elif name == "dump":
                admin.dump(index, other)
            elif name == "compact":
                admin.compact(index)


def _plain(name: str, source: Path, target: Path) -> None:
    """The same with json and sqlite3 alone."""
    with closing(sqlite3.connect(target)) as connection, connection:
        if name == "plain build":
            connection.execute("CREATE TABLE texts (id TEXT PRIMARY KEY, text TEXT, sha256 TEXT)")
            connection.executemany("INSERT INTO texts VALUES (?, ?, ?)", _records(source))
        elif name == "plain update":
            sql = "SELECT sha256 FROM texts WHERE id = ?"
            print(sum(connection.execute(sql, (id_,)).fetchone() != (sha256,) for id_, _, sha256 in _records(source)))
        elif name == "plain backup":
            with closing(sqlite3.connect(source / "store.db")) as store:
                store.backup(connection)
    if name == "plain vacuum":
        with closing(sqlite3.connect(target)) as connection:
            connection.execute("VACUUM")


def _records(source: Path) -> Iterator[tuple[str, str, str]]:
    with source.open(encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            yield record["id"], record["text"], hashlib.sha256(record["text"].encode()).hexdigest()


def measured(place: Path, count: int) -> dict[str, Run]:
    """Every job, by what it is called in the table."""
    records, base, dump, restored = place / "records.jsonl", place / "index", place / "dump", place / "restored"

    def run(name: str, folder: Path, other: Path) -> Run:
        took = programs.run(programs.command("bench.bulk", "--job", name, folder, other))
        print(f"{name}: {took.seconds:.1f} s", file=sys.stderr)
        return took

    _write(records, count)
    runs = {} if base.exists() else {"index of records": run("index", base, records)}
    runs["update, file untouched"] = run("index", base, records)
    _change(records, -1)
    runs["update, time changed, content the same"] = run("index", base, records)
    _change(records, count // 2)
    runs["update, one record changed"] = run("index", base, records)
    run("plain build", records, place / "plain.db")
    runs["plain update"] = run("plain update", records, place / "plain.db")
    runs["verify"] = run("verify", base, base)
    runs["dump"] = run("dump", base, dump)
    runs["plain backup"] = run("plain backup", base, place / "copy.db")
    runs["restore"] = run("restore", restored, dump)
    runs["compact"] = run("compact", restored, base)
    runs["plain vacuum"] = run("plain vacuum", base, place / "copy.db")
    return runs | {"salvage": run("salvage", base, place / "salvaged")}


def _write(records: Path, count: int) -> None:
    """The file of records, unless it is there."""
    if not records.exists():
        with records.open("w", encoding="utf-8") as lines:
            for number, text in enumerate(wiki_vectors.sentences(count)):
                lines.write(json.dumps({"id": f"s{number}", "text": text}, ensure_ascii=False) + "\n")
        os.utime(records, (records.stat().st_mtime - 1000,) * 2)  # long enough ago to be sure of


def _change(records: Path, number: int) -> None:
    """Write the file anew, with a time of its own and one record changed."""
    changed = records.with_suffix(".new")
    with records.open(encoding="utf-8") as old, changed.open("w", encoding="utf-8") as new:
        for at, line in enumerate(old):
            new.write(line.replace('"text": "', '"text": "Changed: ', 1) if at == number else line)
    os.utime(changed, (records.stat().st_mtime + 100,) * 2)
    changed.replace(records)


def verdict(count: int, runs: Mapping[str, Run], bytes_each: float) -> Iterator[str]:
    """A line for every goal: what it is, and what came out."""
    start = runs["update, file untouched"].cpu  # of an update that reads nothing
    update = start + (runs["update, one record changed"].cpu - start) * 1e6 / count
    for name, value, goal in (
        ("bytes a passage", bytes_each, GOAL_BYTES),
        ("CPU seconds of an update of a million records, in proportion", update, GOAL_SECONDS),
        ("MB of memory at most", max(one.megabytes for one in runs.values()), GOAL_MEGABYTES),
    ):
        yield f"- {'met' if value <= goal else 'MISSED'}: {value:,.0f} {name}, goal {goal:,}"
    for ours, plain in PLAIN.items():
        yield f"- {ours}: {runs[ours].cpu / runs[plain].cpu:.1f} times the CPU of {plain}"


def main() -> None:
    parser = figures.arguments(__doc__)
    parser.add_argument("--count", type=int, default=200_000, help="records of the file")
    parser.add_argument("--folder", type=Path, help="where the files and indexes are kept; by default they are removed")
    parser.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        return job(options.job[0], Path(options.job[1]), Path(options.job[2]))
    with tempfile.TemporaryDirectory(prefix="semsearch-bench-") as scratch:
        place = options.folder or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        for left in ("restored", "salvaged", "dump", "plain.db", "copy.db"):
            shutil.rmtree(place / left) if (place / left).is_dir() else (place / left).unlink(missing_ok=True)
        runs = measured(place, options.count)
        with Index.open(place / "index", encoder=HashingEncoder(DIM)) as index:
            bytes_each = (place / "index" / "store.db").stat().st_size / index.info()["passages"]
    head = ["job", "seconds", "CPU seconds", "µs of CPU each", "peak memory"]
    rows = [
        [
            name,
            f"{one.seconds:.1f}",
            f"{one.cpu:.1f}",
            f"{one.cpu / options.count * 1e6:.0f}",
            f"{one.megabytes:.0f} MB",
        ]
        for name, one in runs.items()
    ]
    text = "\n".join([figures.table(head, rows), "", *verdict(options.count, runs, bytes_each)])
    costs = {name: one[:3] for name, one in runs.items()}
    figures.show(text, f"{options.count:,} records.", {"jobs": costs, "bytes": bytes_each}, options.output)
    return None


if __name__ == "__main__":
    main()
