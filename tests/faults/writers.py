"""Processes that write to a store until they are killed, or for a while. Loaded once, by the server that forks them."""

from __future__ import annotations

import os
import random
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

from helpers.stores import DIM, entry

from semsearch import Document, Index
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import Locked
from semsearch.indexing.ingest import Ingest
from semsearch.stores import local
from semsearch.stores.records import Space


def write(folder: Path, begin: int, acknowledge: Connection) -> None:
    """Add, replace, rename, delete, compact for ever.

    An empty message says that work begins; every other what a commit that has returned has changed.
    """
    acknowledge.send(())
    store = local.open_writer(folder) if (folder / "store.db").exists() else local.create(folder)
    space = store.put_space(Space(0, "fingerprint", "stand-in", DIM, {})).id
    for n in range(begin, begin + 100_000):
        store.replace([entry(f"doc{n}-{i}", f"Text {n}. Part {i}. 日本語の文") for i in range(3)], space)
        acknowledge.send((f"doc{n}-0", f"doc{n}-1", f"doc{n}-2"))
        store.revise(f"doc{n}-0", new_uri=f"moved{n}")
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
    space = store.put_space(Space(0, "fingerprint", "stand-in", DIM, {})).id
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
    commit = Ingest._commit  # its progress counts what is encoded, too

    def committed(ingest: Ingest, batch: Any, *, last: bool) -> None:
        commit(ingest, batch, last=last)
        acknowledge.send((str(ingest.written),))

    with patch.object(Ingest, "_commit", committed), Index.open(folder) as opened:
        opened.sync([file])
    time.sleep(60)


def hold(folder: Path, acknowledge: Connection) -> None:
    """Add a document, say the number of this process, and keep the lock."""
    with Index.open(folder) as opened:
        opened.add([Document("held", "A kettle boils.")])
        acknowledge.send(os.getpid())
        time.sleep(600)


DOZEN = 12  # documents of one transaction
PARTS = 3  # paragraphs of a document, each a passage


def parts(name: str, version: str) -> list[str]:
    """The passages of a document that says in each what version it is."""
    return [f"{name} in version {version}, part {part}, on the harbour." for part in range(PARTS)]


def write_dozens(folder: Path, seed: int, seconds: float, acknowledge: Connection) -> None:
    """Add, replace and delete a dozen documents at a time, wait for no other writer, and say what was committed.

    ("put" or "deleted", number of the dozen, version) after each commit, ("refused", pid or None, "") for each refusal.
    """
    chance = random.Random(seed)
    acknowledge.send(("begun", 0, ""))
    end = time.monotonic() + seconds
    turn = 0
    while time.monotonic() < end:
        turn += 1
        number, version = chance.randrange(8), f"{seed}-{turn}"
        names = [f"d{number}-{n}" for n in range(DOZEN)]
        try:
            with Index.open(folder) as opened:
                if turn % 5 == 0:
                    opened.delete(names)
                    acknowledge.send(("deleted", number, version))
                else:
                    opened.add(Document(name, "\n\n".join(parts(name, version))) for name in names)
                    acknowledge.send(("put", number, version))
        except Locked as error:
            acknowledge.send(("refused", error.message, ""))


def read_dozens(folder: Path, seed: int, seconds: float, tell: Connection) -> None:
    """Read until the time is over; how often, and what was wrong, a sentence each."""
    chance, wrong, reads = random.Random(seed), list[str](), 0
    tell.send("begun")
    end = time.monotonic() + seconds
    with Index.open(folder) as kept:
        while time.monotonic() < end:
            reads += 1
            if seed % 2:
                wrong += problems_of(kept, chance.randrange(8))
            else:
                with Index.open(folder) as opened:
                    wrong += problems_of(opened, chance.randrange(8))
    tell.send((reads, wrong))


def problems_of(index: Index, number: int) -> list[str]:
    """What is not whole: a dozen, a document, or what a search finds of a dozen."""
    wrong = []
    if len(index) % DOZEN:
        wrong.append(f"{len(index)} documents are no dozens")
    names = [f"d{number}-{n}" for n in range(DOZEN)]
    there = index.get(ids=names)
    if len(there) not in (0, DOZEN):
        wrong.append(f"{len(there)} documents of dozen {number}")
    versions = {document["text"].partition("version ")[2].partition(",")[0] for document in there}
    if len(versions) > 1:
        wrong.append(f"dozen {number} is of the versions {versions}")
    wrong += [
        f"{document['document']} is {document['text']!r}"
        for document in there
        if document["text"] != "\n\n".join(parts(document["document"], *versions))
    ]
    for mode in ("semantic", "keyword"):
        found = index.search(f"d{number}-1 in version", k=40, mode=mode, group="passage")
        of = {(hit.document.partition("-")[0], hit.text.partition("version ")[2].partition(",")[0]) for hit in found}
        if len({dozen for dozen, _ in of}) < len(of):
            wrong.append(f"a search finds two versions: {sorted(of)}")
    return wrong
