"""What is sound of a damaged index comes into a new one, what is not is listed, and the damaged one stays as it was."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from helpers.commandline import CommandLine

from semsearch import Document, Index, admin
from semsearch.errors import Corrupt, UsageError

COUNT = 120


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of notes of two passages, in several pages of its tables, half of them from files."""
    base = tmp_path_factory.mktemp("sound")
    files = base / "files"
    files.mkdir()
    for n in range(COUNT // 2):
        (files / f"file{n}.md").write_text(f"# Kettle {n}\n\n{text(n)}\n\n## Harbour {n}\n\n{text(n + 1000)}\n")
    with Index.create(base / "notes", encoder="hashing") as index:
        index.sync(files)
        index.add(Document(f"d{n}", text(n + 2000), {"n": n}, f"Title {n}") for n in range(COUNT // 2))
        index.delete(["d0"])
        admin.compact(index)
        admin.rebuild(index, "flat")  # so few vectors have a cache only if one is asked for
    return base / "notes"


def text(n: int) -> str:
    return " ".join(f"word{n * 7 + at} engine {n}." for at in range(60))


@pytest.fixture
def notes(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "notes"))


def content(index: Index) -> dict[str, tuple[object, ...]]:
    """Text, metadata, title and vectors of every document."""
    found: dict[str, tuple[object, ...]] = {}
    for about in index.documents():
        name = str(about["id"])
        got = index.get(name)
        vectors = [index._reader.vectors(1, ids=index._reader.passage_ids([name]))]
        rows = np.concatenate([part for each in vectors for _, part in each])
        found[name] = (got["text"], got["metadata"], got["title"], about["path"], rows.tobytes())
    return found


def sql(notes: Path, *statements: str) -> None:
    with closing(sqlite3.connect(notes / "store.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA writable_schema=ON")
        for statement in statements:
            assert raw.execute(statement).rowcount != 0, statement


def files_of(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.iterdir() if not file.name.endswith(("-wal", "-shm"))]
    return {file.name: file.read_bytes() for file in files}


def test_all_of_a_sound_index_comes_over_and_its_files_are_unchanged_for_the_next_run(notes: Path) -> None:
    before = files_of(notes)
    report = admin.salvage(notes, notes.with_name("new"))
    assert (report.documents, report.embedded, report.lost) == (COUNT - 1, 0, ())
    assert files_of(notes) == before
    with Index.open(notes) as old, Index.open(notes.with_name("new")) as new:
        assert content(new) == content(old)
        assert new.analysis.verify() == []
        assert new.sync().unchanged == COUNT // 2


FULL = {  # damage that costs nothing: vectors and passages are made again
    "full text": ["DELETE FROM passages_fts_data WHERE id > 10", "DROP TABLE passages_cjk"],
    "caches": ["UPDATE caches SET sha256 = 'x'"],
    "indexes": ["DELETE FROM sqlite_master WHERE name IN ('passages_document', 'vectors_space', 'documents_source')"],
    "vectors": ["UPDATE vectors SET vector = x'00' WHERE passage % 7 = 0", "DELETE FROM vectors WHERE passage < 5"],
    "passages": ["UPDATE passages SET text = 'x' WHERE id % 9 = 0", "DELETE FROM passages WHERE id = 4"],
    "space": ["UPDATE spaces SET fingerprint = 'x'"],
}  # fmt: skip


@pytest.mark.parametrize("damage", FULL)
def test_what_follows_from_the_texts_is_made_again(notes: Path, damage: str) -> None:
    with Index.open(notes) as old:
        before = content(old)
    sql(notes, *FULL[damage])
    report = admin.salvage(notes, notes.with_name("new"))
    assert [item for item in report.lost if "spaces" not in item.path] == []
    assert (report.embedded > 0) == (damage in ("vectors", "passages", "space"))
    with Index.open(notes.with_name("new")) as new:
        assert content(new) == before
        assert new.analysis.verify() == []


def test_what_cannot_be_made_again_is_listed(notes: Path) -> None:
    sql(
        notes,
        "UPDATE documents SET body = x'00' WHERE uri = 'd5'",
        "UPDATE documents SET title = 'Other' WHERE uri = 'd6'",
        "UPDATE documents SET lines = 1 - lines WHERE uri = 'd7'",
        "UPDATE vectors SET crc = 0 WHERE passage IN (SELECT p.id FROM passages p JOIN documents d ON d.id = p.document"
        " WHERE uri = 'd8')",
        "UPDATE recipe SET value = '\"gone/encoder\"' WHERE key = 'encoder'",
    )
    report = admin.salvage(notes, notes.with_name("new"))
    lost = {item.path: item.reason for item in report.lost}
    assert set(lost) == {"d5", "d6", "d7", "recipe encoder"}  # the name of the encoder is in its space too
    with Index.open(notes.with_name("new")) as new:
        assert new.analysis.verify() == []
        assert len(new) == COUNT - 1 - 3
        admin.trust(new)  # the record of whose folders they are may be lost, too
        assert new.sync().unchanged == COUNT // 2  # read again, and found to be the same


def test_without_the_encoder_documents_with_a_lost_vector_are_listed_and_the_others_come_over(tmp_path: Path) -> None:
    with Index.create(tmp_path / "own", encoder=None, dimensions=4) as index:
        index.add([Document(f"d{n}", f"Text {n}") for n in range(9)], vectors=np.eye(9, 4) + 0.1)
    sql(tmp_path / "own", "UPDATE vectors SET crc = 0 WHERE passage = 3")
    report = admin.salvage(tmp_path / "own", tmp_path / "new")
    assert [(item.path, item.reason) for item in report.lost] == [
        ("d2", "a vector is damaged, and cannot be made again: the index has no encoder")
    ]
    with Index.open(tmp_path / "new") as new:
        assert (len(new), new.analysis.verify()) == (8, [])


@pytest.mark.parametrize("seed", range(6))
def test_whole_pages_that_are_gone_cost_what_was_in_them_and_nothing_else(notes: Path, seed: int) -> None:
    with Index.open(notes) as old:
        before = content(old)
    file = notes / "store.db"
    good = bytearray(file.read_bytes())
    chance = np.random.default_rng(seed)
    with closing(sqlite3.connect(file)) as raw:  # without this page there is no way into the table
        [root] = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'documents'").fetchone()
    pages = [page for page in range(1, len(good) // 8192) if page != root - 1]
    for page in chance.choice(pages, 4, replace=False).tolist():
        good[page * 8192 : (page + 1) * 8192] = chance.bytes(8192) if seed % 2 else bytes(8192)
    file.write_bytes(good)
    damaged = files_of(notes)
    try:
        report = admin.salvage(notes, notes.with_name("new"))
    except Corrupt:  # one of them has the list of tables
        assert not notes.with_name("new").exists()
        return
    assert files_of(notes) == damaged
    with Index.open(notes.with_name("new")) as new:
        after = content(new)
        assert new.analysis.verify() == []
    assert len(after) > len(before) / 3
    assert {name: one[:3] for name, one in after.items()} == {name: before[name][:3] for name in after}
    named = {item.path for item in report.lost}
    unnamed = any(path.endswith(" documents") for path in named)
    assert set(before) - set(after) <= named or unnamed


def test_the_new_name_has_to_be_free_and_the_old_one_to_exist(notes: Path, cli: CommandLine) -> None:
    with pytest.raises(UsageError, match="already has an index"):
        admin.salvage(notes, notes)
    assert cli("salvage", notes).code == 2
    assert cli("salvage", notes.with_name("no"), "-o", "new").code == 3


def test_the_command_prints_what_is_lost_and_exits_with_5(notes: Path, cli: CommandLine) -> None:
    complete = cli.ok("salvage", notes, "-o", "all", "--json").json
    assert (complete["complete"], complete["lost"], complete["documents"]) == (True, [], COUNT - 1)
    sql(notes, "UPDATE documents SET body = x'00' WHERE uri = 'd5'")
    ran = cli("salvage", notes, "-o", "some")
    assert (ran.code, ran.out) == (5, "d5: its text or its record is damaged\n")
    shown = cli("salvage", notes, "-o", "more", "--json")
    assert (shown.code, shown.json["complete"], shown.json["error"]["code"]) == (5, False, 5)
    assert shown.json["lost"] == [{"path": "d5", "reason": "its text or its record is damaged"}]


def test_an_index_that_cannot_be_read_at_all_leaves_nothing_behind(notes: Path) -> None:
    (notes / "store.db").write_bytes(b"not a database" * 1000)
    with pytest.raises(Corrupt):
        admin.salvage(notes, notes.with_name("new"))
    assert not notes.with_name("new").exists()
