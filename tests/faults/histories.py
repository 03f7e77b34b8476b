"""Everything that writes to disk, step by step: what a power cut interrupts, and what is right before and after.

A step brings a home of indexes from the state before it to the one after, whatever part of it is there already: doing
the rest of the steps is "the next run".
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from semsearch import Document, Index, admin
from semsearch.stores.local.database import commit_record, sqlite

WORDS = ("harbour", "engine", "kettle", "boils", "salt", "bread", "cold", "crystal", "quartz", "船", "港の夜")
QUESTIONS = ("harbour engine", "cold bread", "港の夜", "number 7")
BATCHES = 5  # of documents, each with an acknowledgement of its own

Content = dict[str, dict[str, Any]]  # index or dump -> document -> its text and its passages with their vectors


@dataclass
class Home:
    """A home of indexes in which a process works; `notes` stays open, and its log unfolded, between steps."""

    folder: Path
    files: Path
    open: ExitStack = field(default_factory=ExitStack)
    _notes: Index | None = None

    @property
    def notes(self) -> Index:
        if self._notes is None:
            self._notes = self.open.enter_context(Index.open(self.folder / "notes"))
        return self._notes

    def close(self) -> None:
        self.open.close()
        self._notes = None

    def create(self) -> None:
        if not admin.exists(self.folder / "notes"):
            Index.create(self.folder / "notes", encoder="hashing").close()

    def add(self, documents: list[Document]) -> None:
        self.notes.add(documents)

    def delete(self, names: list[str]) -> None:
        self.notes.delete([name for name in self.notes.matching() if name in names])

    def sync(self, files: dict[str, str]) -> None:
        """Index a folder with these files, and no others."""
        for file in self.files.iterdir():
            file.unlink()
        for name, text in files.items():
            (self.files / name).write_text(text)
        self.notes.sync([self.files])

    def dump(self) -> None:
        admin.dump(self.notes, self.folder / "notes.dump")

    def restore(self) -> None:
        if not admin.exists(self.folder / "copy"):
            admin.restore(self.folder / "notes.dump", self.folder / "copy").close()

    def forge_a_loss(self) -> None:
        """Claim commits that were never made, as if the log had been removed."""
        self.close()
        with closing(commit_record.CommitRecord(self.folder / "notes")) as record:
            record.acknowledge(1_000)

    def accept_the_loss(self) -> None:
        self.close()
        admin.accept_loss(self.folder / "notes")


Step = Callable[[Home], object]


def steps(seed: int) -> dict[str, Step]:
    """The steps by name, the same ones for the same seed."""
    chance = random.Random(seed)

    def documents(name: str, count: int) -> list[Document]:
        return [Document(f"{name}{n}", text(chance)) for n in range(count)]

    def batch(name: str) -> Step:
        some = documents(name, chance.randint(1, 6))
        return lambda home: home.add(some)

    first, second = ({f"f{n}.txt": text(chance) for n in range(8)} for _ in range(2))
    changed = {**first, **dict(list(second.items())[:4]), "new.txt": text(chance)}
    del changed["f7.txt"]
    many, again = documents("d", 30), documents("d", 10)
    found: dict[str, Step] = {
        "create": Home.create,
        "add": lambda home: home.add(many),
        **{f"add {n}": batch(f"b{n}-") for n in range(BATCHES)},
        "replace": lambda home: home.add(again),
        "delete": lambda home: home.delete([f"d{n}" for n in range(20, 25)]),
        "index": lambda home: home.sync(first),
        "dump": Home.dump,
        "build a cache": lambda home: admin.rebuild(home.notes, "flat"),
        "update": lambda home: home.sync(changed),
        **{f"add more {n}": batch(f"c{n}-") for n in range(BATCHES)},
        "close": Home.close,
        "compact": lambda home: admin.compact(home.notes),
        "delete more": lambda home: home.delete(["d1", "d2", "b0-0"]),
        "dump again": Home.dump,
        "restore": Home.restore,
        "claim a loss": Home.forge_a_loss,
        "accept the loss": Home.accept_the_loss,
        **{f"add at last {n}": batch(f"e{n}-") for n in range(BATCHES)},
        "build another cache": lambda home: admin.rebuild(home.notes, "flat"),
    }
    return found


def text(chance: random.Random) -> str:
    """A text that is its own: some words in some order, in one passage or two."""
    return "\n\n".join(" ".join(chance.choices(WORDS, k=60)) + "." for _ in range(chance.randint(1, 3)))


def live(folder: Path, files: Path, record: Path, seed: int, synchronous: str, acknowledge: Connection) -> None:
    """Do every step, and send its name with the position in the record once it has returned."""
    durable = sqlite.make_durable

    def as_wanted(connection: Any, place: Path) -> None:
        durable(connection, place)
        connection.execute(f"PRAGMA synchronous={synchronous}")

    sqlite.make_durable = as_wanted
    home = Home(folder, files)
    for name, step in steps(seed).items():
        step(home)
        acknowledge.send((name, record.stat().st_size))
    home.close()
    acknowledge.close()


def observed(home: Path) -> Content:
    """All indexes and dumps of a home, with every text and every vector."""
    found = {folder.name: documents(folder) for folder in sorted(home.iterdir()) if admin.exists(folder)}
    return found | {file.name: dumped(file.read_bytes()) for file in home.glob("*.dump")}


@cache
def dumped(content: bytes) -> dict[str, Any]:
    """The documents in a dump."""
    with TemporaryDirectory() as scratch:
        file, restored = Path(scratch) / "a.dump", Path(scratch) / "restored"
        file.write_bytes(content)
        admin.restore(file, restored).close()
        return documents(restored)


def documents(folder: Path) -> dict[str, Any]:
    """Document -> its text, and its passages with the bytes of their vectors."""
    with Index.open(folder) as index:
        return {each["document"]: (each["text"], tuple(_passages(index, each["document"]))) for each in _all(index)}


def _all(index: Index) -> list[Any]:
    return [each for page in index.pages() for each in page]


def _passages(index: Index, document: str) -> Iterator[tuple[str, bytes]]:
    found = index.passages(document)
    vectors = index.vectors([each["id"] for each in found])
    yield from ((each["text"], row.tobytes()) for each, row in zip(found, vectors, strict=True))


def answers(folder: Path) -> list[Any]:
    """What is found for each question in each mode."""
    with Index.open(folder) as index:
        return [
            [(hit.document, hit.start, hit.end, hit.text, round(hit.score, 5)) for hit in index.search(q, mode=m, k=8)]
            for q in QUESTIONS
            for m in ("keyword", "semantic", "hybrid")
        ]
