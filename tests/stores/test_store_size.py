"""The room that a passage takes, and the one copy of a short text: it is read exactly, and its damage is noticed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from helpers.opened import verify
from helpers.reading import full_document, rows
from helpers.stores import DIM, entry, made, vectors_of

from semsearch import Index, admin
from semsearch.errors import Corrupt
from semsearch.stores.local import LocalWriter
from semsearch.stores.local.database import checksums
from semsearch.stores.local.database.schema import SHORT
from semsearch.stores.records import Entry, Space
from semsearch.types import Document, Passage

WIDTH = 384
WORDS = ["river", "engine", "kettle", "harbour", "violin", "copper", "winter", "ladder", "market", "signal", "stone"]


def sentences(count: int, seed: int) -> list[Entry]:
    """Documents of one sentence of some 120 bytes, with vectors of 384 numbers."""
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(count, WIDTH)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    entries = []
    for n in range(count):
        words = [WORDS[at] + str(number) for at, number in chance.integers(0, (len(WORDS), 900), (14, 2)).tolist()]
        text = " ".join(words)
        document = Document(f"s{seed}{n:06}", text)
        entries.append(Entry(document, None, [Passage(0, len(text), text)], rows[n : n + 1]))
    return entries


def size(store: LocalWriter) -> int:
    return int(store.connection.rows("PRAGMA page_count")[0][0]) * int(store.connection.rows("PRAGMA page_size")[0][0])


def test_a_passage_of_one_sentence_takes_at_most_1_3_kb_with_its_vector(folder: Path) -> None:
    store, _ = made(folder)
    space = store.put_space(Space(0, "wide", "wide", WIDTH, {}))
    store.put_space(space, current=True)
    store.replace(sentences(250, 1), space.id)
    before = size(store)
    count = 0
    for seed in range(2, 5):
        batch = sentences(250, seed)
        assert 110 < np.mean([len(one.document.text.encode()) for one in batch]) < 150
        store.replace(batch, space.id)
        count += len(batch)
    assert (size(store) - before) / count <= 1300
    assert verify(store) == []


def one_passage(text: str, uri: str = "a") -> Entry:
    return Entry(Document(uri, text), None, [Passage(0, len(text), text)], vectors_of([text]))


def body(store: LocalWriter, uri: str = "a") -> bytes:
    return bytes(store.connection.rows("SELECT body FROM documents WHERE uri = ?", (uri,))[0][0])


@pytest.mark.parametrize(
    "stored, is_empty",
    [
        (one_passage("A short text."), True),
        (one_passage("x" * SHORT), True),
        (one_passage("x" * (SHORT + 1)), False),
        (one_passage(""), True),
        (entry("a", "Two sentences. In two passages"), False),
        (Entry(Document("a", " Space around. "), None, [Passage(1, 14, "Space around.")], vectors_of(["x"])), False),
        (Entry(Document("a", ""), None, [], np.zeros((0, DIM), np.float32)), False),
    ],
)
def test_a_short_text_is_stored_once_and_read_exactly(folder: Path, stored: Entry, is_empty: bool) -> None:
    store, space = made(folder)
    store.replace([stored], space.id)
    assert (body(store) == b"") == is_empty
    assert full_document(store.reader, "a") == stored.document
    assert verify(store) == []


@pytest.mark.parametrize(
    "damage, problem",
    [
        ("UPDATE passages SET text = 'Another text.' WHERE id = 1", "the text of 'a' is not the one that was stored"),
        ("DELETE FROM passages WHERE id = 1", "'a' cannot be read"),
        ("UPDATE passages SET position = 1 WHERE id = 1", "'a' cannot be read"),
        ("UPDATE documents SET body = x'00' WHERE uri = 'a'", "'a' cannot be read"),
        ("UPDATE documents SET sha256 = 'ff' WHERE uri = 'a'", "the text of 'a' is not the one that was stored"),
    ],
)
def test_a_damaged_only_copy_is_never_returned_and_is_found_by_verify(folder: Path, damage: str, problem: str) -> None:
    store, space = made(folder)
    store.replace([one_passage("A short text.")], space.id)
    store.connection.raw.execute(damage)
    with pytest.raises(Corrupt):
        full_document(store.reader, "a")
    assert problem in " ".join(verify(store))


def test_salvage_names_a_short_text_whose_only_copy_is_damaged(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        index.add(Document(f"d{n}", f"Note number {n}.") for n in range(5))
        with index.store.writing() as writer:
            writer._writer.connection.raw.execute("UPDATE passages SET text = 'x' WHERE id = 3")  # type: ignore[attr-defined]
    report = admin.salvage(tmp_path / "notes", tmp_path / "new")
    assert [(one.path, one.reason) for one in report.lost] == [("d2", "its text or its record is damaged")]
    with Index.open(tmp_path / "new") as new:
        assert [new.get(f"d{n}")["text"] for n in (0, 1, 3, 4)] == [f"Note number {n}." for n in (0, 1, 3, 4)]


def test_rows_of_before_stay_as_they_are_until_they_are_written_again(folder: Path) -> None:
    store, space = made(folder)
    store.replace([one_passage("A short text.", uri) for uri in "ab"], space.id)
    as_of_schema_4(store, "A short text.")
    before = rows(store.reader, ["a", "b"])
    assert verify(store) == []
    assert full_document(store.reader, "a") == Document("a", "A short text.")
    store.replace([one_passage("A short text.", "b")], space.id)
    after = rows(store.reader, ["a", "b"])
    assert (body(store, "a") != b"", body(store, "b")) == (True, b"")
    assert {uri: (one.sha256, one.meta_sha256) for uri, one in after.items()} == {
        uri: (one.sha256, one.meta_sha256) for uri, one in before.items()
    }
    assert verify(store) == []


def as_of_schema_4(store: LocalWriter, text: str) -> None:
    """Write the rows of documents of one text as they were written before schema 5."""
    import zlib

    def full(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    with store.transaction():
        sql = "UPDATE documents SET body = ?, sha256 = ?, meta_sha256 = ?"
        store.connection.execute(sql, (zlib.compress(text.encode()), full(text), full("[null, {}]")))
        checksums.renew(store.connection.raw, "documents", "true")
        rows = store.connection.rows("SELECT p.id, uri, position FROM passages p JOIN documents d ON d.id = document")
        for number, uri, position in rows:
            name = full(f"{uri}\0{position}\0{text}")[:32]
            store.connection.execute("UPDATE passages SET identity = ? WHERE id = ?", (name, number))
