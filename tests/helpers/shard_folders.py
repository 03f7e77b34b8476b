"""Folders of shards for tests, written by the steps of a job without a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semsearch.chunking.splitter import Splitter
from semsearch.encoders.hashing import HashingEncoder
from semsearch.scale import parts
from semsearch.scale.encoding import Embedding
from semsearch.scale.stored.shard_folder import ShardFolder
from semsearch.types import Document

SPLITTER = {"kind": "sentences", "size": 20, "overlap": 0}
ENCODER = HashingEncoder()
JOB = {
    "encoder": "hashing",
    "fingerprint": ENCODER.fingerprint,
    "dim": ENCODER.dim,
    "splitter": SPLITTER,
    "context": True,
}
SUBJECTS = ["kettle", "boiler", "diesel", "piano", "orchard", "harbour", "ledger", "comet", "violin", "glacier"]


class Attempts:
    """Counts nothing: nothing is killed here."""

    def begun(self, what: str) -> int:
        return 1

    def ended(self, what: str) -> None: ...
    def alive(self) -> None: ...


def note(n: int, *, subject: str = "") -> Document:
    about = subject or SUBJECTS[n % len(SUBJECTS)]
    other = SUBJECTS[n // len(SUBJECTS) % len(SUBJECTS)]
    text = f"Note {n} is about the {about} number {n}. It was written in room {n % 7}. The {other} stands beside it."
    return Document(f"notes/{n:04}.md", text, {"n": n, "even": n % 2 == 0, "date": f"2024-0{n % 9 + 1}-01"}, f"No. {n}")


def write(folder: Path, shards: Sequence[Sequence[Document]], names: str = "cabdefgh") -> None:
    """Write documents as the shards of a job, whose names are in another order than the input."""
    how = Embedding(ENCODER, Splitter(**SPLITTER), context=True, attempts=Attempts(), worker="here")
    with ShardFolder(folder, {**JOB, "shards": list(names[: len(shards)])}) as opened:
        for name, documents in zip(names, shards, strict=False):
            for part in parts.parts(name, [(one, None) for one in documents]):
                opened.put(parts.done_of(how.answer(part).table().to_pylist()[0]))
