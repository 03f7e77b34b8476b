"""Processes that write to a store until they are killed. Loaded once, by the server that forks them."""

from __future__ import annotations

import time
from multiprocessing.connection import Connection
from pathlib import Path

import filelock  # noqa: F401  here, so that a kill does not fall on its import
import sqlite_utils  # noqa: F401
from helpers.stores import DIM, entry

from semsearch import Index
from semsearch.encoders.hashing import HashingEncoder
from semsearch.stores import local
from semsearch.types import Progress


def write(folder: Path, begin: int, acknowledge: Connection) -> None:
    """Add, replace, rename, delete, compact for ever.

    An empty message says that work begins; every other what a commit that has returned has changed.
    """
    acknowledge.send(())
    store = local.open_writer(folder) if (folder / "store.db").exists() else local.create(folder)
    space = store.add_space("fingerprint", "stand-in", DIM, {}).id
    for n in range(begin, begin + 100_000):
        store.replace([entry(f"doc{n}-{i}", f"Text {n}. Part {i}. 日本語の文") for i in range(3)], space)
        acknowledge.send((f"doc{n}-0", f"doc{n}-1", f"doc{n}-2"))
        store.rename(f"doc{n}-0", f"moved{n}")
        acknowledge.send((f"moved{n}", f"not doc{n}-0"))
        store.delete([f"doc{n}-1"])
        acknowledge.send((f"not doc{n}-1",))
        if n % 40 == 39:
            store.compact()


def create(folder: Path, acknowledge: Connection) -> None:
    """Make a store, say so, and wait."""
    acknowledge.send(())
    store = local.create(folder)
    acknowledge.send(("made",))
    time.sleep(60)
    store.close()


def build(folder: Path, begin: int, acknowledge: Connection) -> None:
    """Add and delete documents, and build a cache after each change, for ever."""
    acknowledge.send(())
    store = local.open_writer(folder) if (folder / "store.db").exists() else local.create(folder)
    space = store.add_space("fingerprint", "stand-in", DIM, {}).id
    for n in range(begin, begin + 100_000):
        store.replace([entry(f"doc{n}-{i}", f"Text {n}. Part {i}") for i in range(20)], space)
        acknowledge.send(tuple(f"doc{n}-{i}" for i in range(20)))
        store.update_vector_index(space, "flat", when="always")
        store.delete([f"doc{n}-7"])
        acknowledge.send((f"not doc{n}-7",))


def index(folder: Path, file: Path, acknowledge: Connection) -> None:
    """Index a file, and say after every commit how many passages the run has stored."""
    acknowledge.send(())
    HashingEncoder.overlaps = True  # as with ONNX, a batch is encoded while the one before is committed
    said = 0

    def say(step: Progress) -> None:
        nonlocal said
        if step.passages > said:
            said = step.passages
            acknowledge.send((str(said),))

    with Index.open(folder) as opened:
        opened.sync([file], progress=say)
    time.sleep(60)
