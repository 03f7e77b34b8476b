"""Bulk: what a million records cost to store, to update, and to verify, compact, dump and restore, as a Markdown table.

    python -m scripts.bench.bulk [--count 200000] [--files 20000] [--folder DIR] [-o FIGURES.json]

The sentences of the Wikipedia sample (`wiki_vectors.py`) are a JSON-lines file, one passage each, indexed with the
`hashing` encoder at 384 dimensions; the first `--files` of them are also a folder of small files. Each job is a process
of its own, of which seconds, CPU seconds, peak memory and lines of progress are reported. Beside an update runs a plain
script that reads the same file, hashes each text and compares it with a hash in SQLite, in JSON and sqlite3 alone;
beside dump and compact, SQLite's own backup and VACUUM. Times depend on the machine; the ratios should not. With
`--folder`, an index that is there already is not made again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from scripts.bench import wiki_vectors
from scripts.shared import machine, programs
from semsearch import Index, Splitter, SyncOptions, admin
from semsearch.encoders.hashing import HashingEncoder
from semsearch.types import Progress

DIM = 384
GOAL_BYTES, GOAL_SECONDS, GOAL_MEGABYTES = 1300, 60, 1000  # a passage; an update of a million; peak memory


@dataclass
class Cost:
    """What one process took for so many `items`. `lines`: those of its progress on stderr."""

    items: int
    seconds: float
    cpu: float
    megabytes: float
    lines: int
    said: str


# ---- jobs, each run in a process of its own by `--job`


def index(folder: Path, source: Path) -> None:
    """Index a file or folder for the first time, or update the index."""
    encoder = HashingEncoder(DIM)
    if not folder.exists():
        Index.create(folder, encoder=encoder, splitter=Splitter("none")).close()
    with Index.open(folder, encoder=encoder) as index:
        report = index.sync([source], SyncOptions(yes=True), _tell("indexing"))
    print(json.dumps({"changed": report.added + report.changed, "unchanged": report.unchanged}))


def verify(folder: Path, _: Path) -> None:
    with Index.open(folder, encoder=HashingEncoder(DIM)) as index:
        if problems := index.verify(_tell("verifying")):
            sys.exit("\n".join(problems))


def dump(folder: Path, file: Path) -> None:
    with Index.open(folder, encoder=HashingEncoder(DIM)) as index:
        admin.dump(index, file, _tell("dumping"))


def restore(folder: Path, file: Path) -> None:
    admin.restore(file, folder, progress=_tell("restoring")).close()


def compact(folder: Path, _: Path) -> None:
    with Index.open(folder, encoder=HashingEncoder(DIM)) as index:
        admin.compact(index, _tell("compacting"))


def salvage(folder: Path, target: Path) -> None:
    admin.salvage(folder, target, encoder=HashingEncoder(DIM), progress=_tell("salvaging"))


def plain_build(database: Path, source: Path) -> None:
    """The plain script's own store: an id, a text and its hash in a row."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE texts (id TEXT PRIMARY KEY, text TEXT, sha256 TEXT)")
        connection.executemany("INSERT INTO texts VALUES (?, ?, ?)", _plain_records(source))


def plain_update(database: Path, source: Path) -> None:
    """Read every record, hash its text and compare it with the stored hash."""
    with closing(sqlite3.connect(database)) as connection:
        sql = "SELECT sha256 FROM texts WHERE id = ?"
        new = sum(connection.execute(sql, (name,)).fetchone() != (found,) for name, _, found in _plain_records(source))
    print(json.dumps({"changed": new}))


def plain_walk(_: Path, source: Path) -> None:
    """The time and size of every file of a folder."""
    print(json.dumps({"files": sum(bool(entry.stat()) for entry in _entries(source))}))


def plain_backup(folder: Path, file: Path) -> None:
    """SQLite's own copy of the database."""
    with closing(sqlite3.connect(folder / "store.db")) as source, closing(sqlite3.connect(file)) as target:
        source.backup(target)


def plain_vacuum(_: Path, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("VACUUM")


JOBS = {
    job.__name__: job
    for job in (index, verify, dump, restore, compact, salvage, plain_build, plain_update, plain_walk, plain_backup,
                plain_vacuum)
}  # fmt: skip


def _plain_records(source: Path) -> Iterator[tuple[str, str, str]]:
    with source.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            yield record["id"], record["text"], hashlib.sha256(record["text"].encode()).hexdigest()


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from _entries(Path(entry.path))
        else:
            yield entry


def _tell(what: str) -> Callable[[Progress], None]:
    """Print a line of progress when a second has passed since the last one."""
    latest = 0.0

    def tell(step: Progress) -> None:
        nonlocal latest
        if time.monotonic() - latest >= 1:
            latest = time.monotonic()
            print(f"{what}: {step.done:,} of {step.total:,} {step.unit} {step.item}", file=sys.stderr)

    return tell


# ---- the measurements


def cost(job: str, items: int, *places: Path) -> Cost:
    """Run a job over so many records or files in a process of its own."""
    command = programs.command("bench.bulk", "--job", job, *places)
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        lines = err.read().splitlines()
        if process.returncode:
            sys.exit(f"error: {job}: exit {process.returncode}: {' '.join(lines[-5:])}")
        out.seek(0)
        said = out.read().strip()
    found = Cost(items, took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, len(lines), said)
    print(f"{job}: {found}", file=sys.stderr)
    return found


def measured(place: Path, count: int, files: int) -> dict[str, Cost]:
    """Every job, by what it is called in the table."""
    records, base = place / "records.jsonl", place / "index"
    _write(records, count)
    found = {}
    if not base.exists():
        found["index of records"] = cost("index", count, base, records)
    found["update, file untouched"] = cost("index", count, base, records)
    _touch(records)
    found["update, time changed, content the same"] = cost("index", count, base, records)
    _change(records, count // 2)
    found["update, one record changed"] = cost("index", count, base, records)
    cost("plain_build", count, place / "plain.db", records)
    found["plain: read, hash and compare"] = cost("plain_update", count, place / "plain.db", records)
    found |= _folders(place, files)
    found["verify"] = cost("verify", count, base, base)
    found["dump"] = cost("dump", count, base, place / "dump")
    found["plain: SQLite's backup"] = cost("plain_backup", count, base, place / "copy.db")
    found["restore"] = cost("restore", count, place / "restored", place / "dump")
    found["compact"] = cost("compact", count, place / "restored", base)
    found["plain: SQLite's VACUUM"] = cost("plain_vacuum", count, base, place / "copy.db")
    found["salvage"] = cost("salvage", count, base, place / "salvaged")
    return found


def _folders(place: Path, files: int) -> dict[str, Cost]:
    """The jobs over a folder of small files."""
    folder, base = place / "files", place / "index-of-files"
    if not folder.exists():
        for number, text in enumerate(wiki_vectors.sentences(files)):
            below = folder / f"{number // 1000:04}"
            below.mkdir(parents=True, exist_ok=True)
            (below / f"{number:07}.txt").write_text(text, encoding="utf-8")
    found = {"index of files": cost("index", files, base, folder)} if not base.exists() else {}
    return found | {
        "update, files untouched": cost("index", files, base, folder),
        "plain: time and size of each file": cost("plain_walk", files, base, folder),
    }


def sizes(database: Path) -> dict[str, float]:
    """Bytes a passage by table, the largest first; the whole file under "all"."""
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        (passages,) = connection.execute("SELECT count(*) FROM passages").fetchone()
        rows = connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC").fetchall()
    every = {name: size / passages for name, size in rows}
    return {"all": sum(every.values()), **{name: size for name, size in every.items() if size >= 1}}


def _write(records: Path, count: int) -> None:
    """The file of records, unless it is there."""
    if not records.exists():
        with records.open("w", encoding="utf-8") as lines:
            for number, text in enumerate(wiki_vectors.sentences(count)):
                lines.write(json.dumps({"id": f"s{number}", "text": text}, ensure_ascii=False) + "\n")
        _touch(records)


def _touch(file: Path) -> None:
    """Give a file a time that is long enough ago to be sure of."""
    before = file.stat().st_mtime
    os.utime(file, (before - 100, before - 100))


def _change(records: Path, number: int) -> None:
    """Change one record."""
    changed = records.with_suffix(".new")
    with records.open(encoding="utf-8") as old, changed.open("w", encoding="utf-8") as new:
        for at, line in enumerate(old):
            new.write(line.replace('"text": "', '"text": "Changed: ', 1) if at == number else line)
    os.utime(changed, (records.stat().st_mtime - 100,) * 2)
    changed.replace(records)


# ---- the report


def table(count: int, files: int, found: dict[str, Cost], bytes_each: dict[str, float]) -> str:
    """The figures in Markdown."""
    lines = [
        f"{count:,} records, {files:,} files.",
        "",
        "| job | seconds | CPU seconds | µs of CPU each | peak memory | lines of progress |",
        "|---|---|---|---|---|---|",
    ]
    for name, one in found.items():
        each = one.cpu / one.items * 1e6
        lines.append(
            f"| {name} | {one.seconds:.1f} | {one.cpu:.1f} | {each:.0f} | {one.megabytes:.0f} MB | {one.lines} |"
        )
    lines += ["", "| table | bytes a passage |", "|---|---|"]
    lines += [f"| {name} | {size:.0f} |" for name, size in bytes_each.items()]
    return "\n".join([*lines, "", f"{machine.caption()}.", "", *verdict(count, files, found, bytes_each)])


def verdict(count: int, files: int, found: dict[str, Cost], bytes_each: dict[str, float]) -> Iterator[str]:
    """A line for every goal: what was wanted, and what came out."""
    start = found["update, file untouched"].cpu  # of an update that reads nothing
    update, by_files = (
        start + (found[name].cpu - start) * 1e6 / items
        for name, items in (("update, one record changed", count), ("update, files untouched", files))
    )
    peak = max(found.items(), key=lambda one: one[1].megabytes)
    goals: Sequence[tuple[str, float, float]] = (
        ("bytes a passage", bytes_each["all"], GOAL_BYTES),
        ("CPU seconds of an update of a million records, in proportion", update, GOAL_SECONDS),
        ("CPU seconds of an update of a million files, in proportion", by_files, GOAL_SECONDS),
        (f"MB of memory at most ({peak[0]})", peak[1].megabytes, GOAL_MEGABYTES),
    )
    for name, value, goal in goals:
        yield f"- {'met' if value <= goal else 'MISSED'}: {value:,.0f} {name}, goal {goal:,}"
    for ours, plain in (
        ("update, one record changed", "plain: read, hash and compare"),
        ("update, files untouched", "plain: time and size of each file"),
        ("dump", "plain: SQLite's backup"),
        ("compact", "plain: SQLite's VACUUM"),
    ):
        yield f"- {ours}: {found[ours].cpu / found[plain].cpu:.1f} times the CPU of {plain.removeprefix('plain: ')}"


def main() -> None:
    """Measure, and print the tables."""
    chosen = _arguments()
    if chosen.job:
        name, first, second = chosen.job
        JOBS[name](Path(first), Path(second))
        return
    with tempfile.TemporaryDirectory(prefix="semsearch-bench-") as scratch:
        place = chosen.folder or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        for left in ("restored", "salvaged", "plain.db", "copy.db"):
            shutil.rmtree(place / left) if (place / left).is_dir() else (place / left).unlink(missing_ok=True)
        found = measured(place, chosen.count, chosen.files)
        bytes_each = sizes((place / "index" / "store.db").absolute())
    print(table(chosen.count, chosen.files, found, bytes_each))
    if chosen.output:
        jobs = {name: asdict(one) for name, one in found.items()}
        figures = {"machine": machine.describe(), "records": chosen.count, "files": chosen.files, "jobs": jobs}
        chosen.output.write_text(json.dumps({**figures, "bytes": bytes_each}, indent=1) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200_000, help="records of the file")
    parser.add_argument("--files", type=int, default=20_000, help="files of the folder")
    parser.add_argument("--folder", type=Path, help="where the files and indexes are kept; by default they are removed")
    parser.add_argument("-o", "--output", type=Path, help="write the figures as JSON")
    parser.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
