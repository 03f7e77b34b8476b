"""One writer, many readers: locks, snapshots, threads."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers.opened import all_stamps
from helpers.reading import counts
from helpers.stores import entry, made

from semsearch.errors import Locked
from semsearch.stores.local import open_writer
from semsearch.stores.local.database import sqlite

CHECKOUT = Path(__file__).resolve().parents[2]


def test_reading_loads_neither_sqlite_utils_nor_filelock(folder: Path) -> None:
    made(folder, 1)[0].close()
    code = f"""
import sys
from pathlib import Path
from semsearch.stores.local import create, open_reader, open_writer
store = open_reader(Path({str(folder)!r}))
assert store.passages([1]) and list(store.vectors(1))
assert store.full_documents(["d0"]) and store.state()
print(sorted({{"sqlite_utils", "filelock", "faiss", "torch"}} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_second_writer_is_refused_with_the_pid_of_the_first(folder: Path) -> None:
    store, _ = made(folder)
    with pytest.raises(Locked, match=rf"pid {os.getpid()}"):
        open_writer(folder)
    code = f"""
from pathlib import Path
from semsearch.errors import Locked
from semsearch.stores.local import create, open_reader, open_writer
try:
    open_writer(Path({str(folder)!r}))
except Locked as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert f"pid {os.getpid()}" in ran.stdout
    store.close()
    open_writer(folder).close()


def test_a_store_that_another_thread_closes_lets_go_of_the_lock(folder: Path) -> None:
    store, _ = made(folder)
    closing = threading.Thread(target=store.close)
    closing.start()
    closing.join()
    open_writer(folder).close()


def test_another_program_that_holds_the_file_makes_it_locked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_MS", 50)
    store, space = made(folder)
    other = sqlite3.connect(folder / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Locked):
        store.replace([entry("a", "Text")], space.id)
    other.execute("ROLLBACK")
    store.replace([entry("a", "Text")], space.id)
    other.close()


def test_threads_share_a_store(folder: Path) -> None:
    store, space = made(folder, 5)
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(30):
                with store.reader.snapshot():
                    counted = counts(store.reader)
                    assert len(all_stamps(store)) == counted["documents"]
                    assert sum(len(ids) for ids, _ in store.reader.vectors(space.id)) == counted["vectors"][space.id]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for n in range(30):
        store.replace([entry(f"t{n}", f"Text {n}. And {n}")], space.id)
    for thread in threads:
        thread.join()
    assert failures == []
