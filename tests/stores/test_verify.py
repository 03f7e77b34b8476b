"""Every kind of damage is put into a real file, and `verify` has to name it."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.oldstore import downgraded
from helpers.opened import opened, verify
from helpers.reading import version
from helpers.stores import entry, made, measured_null, source, vectors_of

from semsearch.stores import base
from semsearch.stores.local import LocalWriter, open_reader, open_writer
from semsearch.stores.records import Bookmark, Space
from semsearch.vector_index.cache_files import CacheFile

SQL_DAMAGE = {
    "UPDATE passages SET text = 'Another text' WHERE id = 1": "passage 1 of 'd0' is damaged",
    "UPDATE passages SET start = start + 1 WHERE id = 1": "passage 1 of 'd0' is damaged",
    "UPDATE passages SET document = 2, position = 9 WHERE id = 1": "passage 1 of 'd1'",
    "UPDATE passages SET crc = crc + 1 WHERE id = 2": "passage 2 of 'd0' is damaged",
    "UPDATE passages SET position = 5 WHERE id = 2": "number 5 where 1 should be",
    "UPDATE passages SET identity = 'x' WHERE id = 2": "identity of passage 2",
    "UPDATE passages SET cjk = 0 WHERE id = 2": "passages_cjk",
    "DELETE FROM passages WHERE id = 4": "passage 4, which is not there",
    "UPDATE documents SET sha256 = 'x' WHERE uri = 'd1'": "the text of 'd1'",
    "UPDATE documents SET uri = 'e1' WHERE uri = 'd1'": "record of 'e1' in the table documents",
    "UPDATE documents SET body = x'00ff' WHERE uri = 'd1'": "'d1' cannot be read",
    "UPDATE documents SET body = (SELECT body FROM documents WHERE uri = 'd2') WHERE uri = 'd1'": "the text of 'd1'",
    "UPDATE documents SET metadata = '{\"a\": 2}' WHERE uri = 'd1'": "metadata of 'd1'",
    "UPDATE documents SET metadata = '{' WHERE uri = 'd1'": "'d1' cannot be read",
    "UPDATE documents SET title = 'Other' WHERE uri = 'd1'": "title or metadata of 'd1'",
    "UPDATE passages SET line = 999 WHERE id = 1": "passage 1 of 'd0' is damaged",
    "UPDATE passages SET page = 7 WHERE id = 1": "passage 1 of 'd0' is damaged",
    "UPDATE passages SET heading = 'forged' WHERE id = 1": "passage 1 of 'd0' is damaged",
    "UPDATE passages SET keywords = 'forged' WHERE id = 1": "passages_fts does not agree",
    "UPDATE documents SET marks = '[[0, 1, null]]' WHERE uri = 'd1'": "record of 'd1' in the table documents",
    "UPDATE documents SET lines = 1 - lines WHERE uri = 'd1'": "record of 'd1' in the table documents",
    "UPDATE documents SET size = 1 WHERE uri = 'd1'": "record of 'd1' in the table documents",
    "UPDATE documents SET mtime = 5 WHERE uri = 'd1'": "time or loader of 'd1'",
    "UPDATE documents SET loader = 'x' WHERE uri = 'd1'": "time or loader of 'd1'",
    "UPDATE sources SET mtime_ns = 6": "record of 'a.md' in the table sources",
    "UPDATE sources SET sha256 = 'ff'": "record of 'a.md' in the table sources",
    "UPDATE meta SET value = '{\"at\": 1}' WHERE key LIKE 'bookmark of %'": "record of 'a.md' in the table sources",
    "UPDATE spaces SET fingerprint = 'x'": "record of 'stand-in' in the table spaces",
    "UPDATE recipe SET value = '[\"y\"]'": "record of 'paths' in the table recipe",
    "UPDATE runs SET report = '{}'": "in the table runs",
    "UPDATE passages_fts_config SET v = 3": "passages_fts",
    "UPDATE documents SET marks = '[' WHERE uri = 'd1'": "'d1' cannot be read",
    "UPDATE documents SET source = 77 WHERE uri = 'd1'": "belongs to a row of sources",
    "DELETE FROM documents WHERE uri = 'd1'": "belongs to a row of documents",
    "UPDATE vectors SET vector = zeroblob(32) WHERE passage = 3": "the vector of passage 3",
    "UPDATE vectors SET vector = zeroblob(30) WHERE passage = 3": "has 30 bytes",
    "UPDATE vectors SET crc = crc + 1 WHERE passage = 3": "the vector of passage 3",
    "UPDATE vectors SET passage = 999 WHERE passage = 3": "passage 999, which is not there",
    "DELETE FROM vectors WHERE passage = 3": "passage 3 has no vector",
    "UPDATE vectors SET space = 9 WHERE passage = 3": "belongs to a row of spaces",
    "UPDATE spaces SET vectors = vectors + 1": "7 vectors of space 1 are on record, but 6",
    "UPDATE spaces SET dim = 8": "where stand-in makes 16",
    "UPDATE spaces SET info = '{'": "is not JSON",
    "UPDATE spaces SET background = x'00'": "null distribution",
    f"UPDATE spaces SET background = x'{'000000000000F07F' * 303}'": "the null distribution of stand-in",
    "UPDATE meta SET value = 9 WHERE key = 'documents'": "9 documents are on record, but 3",
    "UPDATE meta SET value = 9 WHERE key = 'passages'": "9 passages are on record, but 6",
    "DELETE FROM meta WHERE key = 'documents'": "'documents'",
    "UPDATE recipe SET value = '{'": "is not JSON",
    "UPDATE runs SET report = '{'": "is not JSON",
    "UPDATE caches SET file = '../elsewhere'": "cache '../elsewhere'",
    "UPDATE caches SET highest_id = 999": "cannot be true",
    "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'passages'": "next id of passages",
    "DELETE FROM sqlite_sequence WHERE name = 'documents'": "next id of documents",
    "DROP INDEX vectors_space": "vectors_space is missing",
    "DROP INDEX documents_source": "documents_source is missing",
    "DROP VIEW passages_cjk_text": "passages_cjk_text is missing",
    "DROP TABLE passages_fts": "passages_fts is missing",
    "CREATE TABLE guest (x)": "guest does not belong",
    "CREATE TRIGGER guest AFTER DELETE ON documents BEGIN DELETE FROM vectors; END": "guest does not belong",
    "INSERT INTO passages_fts (passages_fts, rowid, text) SELECT 'delete', id, text FROM passages WHERE id = 1": (
        "passages_fts"
    ),
    "INSERT INTO passages_cjk (passages_cjk, rowid, text) SELECT 'delete', id, text FROM passages WHERE id = 2": (
        "passages_cjk"
    ),
    "DELETE FROM passages_fts_data WHERE id > 10": "full",
    "DELETE FROM passages_fts_docsize WHERE id = 1": "passages_fts",
}


@pytest.fixture
def store(tmp_path: Path) -> LocalWriter:
    store, space = made(tmp_path / "notes", 3)
    bookmark = Bookmark(at=3, number=1, documents=1, sha256="ab", way="lines")
    store.put_sources([replace(source(), bookmark=bookmark)])[0]
    store.change_recipe(lambda _: {"paths": ["x"]})
    store.record_run({"added": 3})
    store.put_space(replace(space, null_distribution=measured_null(6)))
    store.add_cache(CacheFile(0, space.id, "cache-1", 1, "ab", 6, 6, "Flat", "1", "because"))
    return store


def test_a_sound_store_has_no_problems_and_is_not_changed_by_looking(store: LocalWriter) -> None:
    before, content = version(store.reader), list(store.connection.raw.iterdump())
    assert verify(store) == []
    assert version(store.reader) == before
    assert list(store.connection.raw.iterdump()) == content
    with open_reader(store.connection.folder) as reader:
        assert verify(reader) == []


@pytest.mark.parametrize("damage", SQL_DAMAGE, ids=lambda sql: sql[:60])
@pytest.mark.parametrize("write", [True, False], ids=["writer", "reader"])
def test_damage_is_named(store: LocalWriter, damage: str, write: bool) -> None:
    store.close()
    raw = sqlite3.connect(store.connection.folder / "store.db")
    assert raw.execute(damage).rowcount != 0
    raw.commit()
    raw.close()
    with opened(store.connection.folder, write=write) as again:
        problems = verify(again)
    assert any(SQL_DAMAGE[damage] in problem for problem in problems), problems


@pytest.mark.parametrize("write", [True, False], ids=["writer", "reader"])
def test_a_letter_that_changed_on_the_disk_is_named(store: LocalWriter, write: bool) -> None:
    store.close()
    content = (store.connection.folder / "store.db").read_bytes()
    assert b"Engine number 1 runs" in content
    (store.connection.folder / "store.db").write_bytes(
        content.replace(b"Engine number 1 runs", b"Engine number 7 runs")
    )
    with opened(store.connection.folder, write=write) as again:
        problems = verify(again)
    assert any("passage 3 of 'd1' is damaged" in problem for problem in problems), problems


def test_a_page_that_is_gone_is_named(store: LocalWriter) -> None:
    space = store.reader.state().spaces[0]
    store.replace([entry(f"e{n}", f"{n} " + "word " * 50) for n in range(200)], space.id)
    store.close()
    content = bytearray((store.connection.folder / "store.db").read_bytes())
    for page in range(8, 12):
        content[page * 8192 : (page + 1) * 8192] = bytes(8192)
    (store.connection.folder / "store.db").write_bytes(content)
    with open_reader(store.connection.folder) as again:
        assert verify(again)


@pytest.mark.parametrize("write", [True, False], ids=["writer", "reader"])
@pytest.mark.parametrize("table", ["passages_fts", "passages_cjk"])
def test_one_bit_of_a_list_of_a_word_is_named(store: LocalWriter, table: str, write: bool) -> None:
    store.replace([entry(f"e{n}", "The harbour. 港の朝です") for n in range(300)], 1)
    store.compact()
    store.close()
    raw = sqlite3.connect(store.connection.folder / "store.db")
    number, block = raw.execute(f"SELECT id, block FROM {table}_data ORDER BY length(block) DESC LIMIT 1").fetchone()
    bad = bytearray(block)
    bad[len(bad) // 2] ^= 1
    raw.execute(f"UPDATE {table}_data SET block = ? WHERE id = ?", (bytes(bad), number))
    raw.commit()
    raw.close()
    with opened(store.connection.folder, write=write) as again:
        problems = verify(again)
    assert problems == [f"the full-text index {table} does not agree with the passages."]


def test_verification_by_a_reader_leaves_the_folder_as_it_was(store: LocalWriter) -> None:
    store.close()
    before = contents(store.connection.folder)
    with open_reader(store.connection.folder) as reader:
        assert verify(reader) == []
    assert contents(store.connection.folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but those in which SQLite coordinates processes, which come and go."""
    files = [file for file in folder.iterdir() if not file.name.endswith(("-wal", "-shm"))]
    return {file.name: file.read_bytes() for file in files}


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_schema_is_verified_by_its_own_checksums_and_migrated_without_hiding_damage(
    store: LocalWriter, version: int
) -> None:
    store.close()
    file = store.connection.folder / "store.db"
    downgraded(file, version)
    with open_reader(file.parent) as reader:
        assert verify(reader) == []
        assert len(reader.passages([1, 2, 3])) == 3
        assert len(list(base.texts(reader))) == 6
        with open_writer(file.parent) as writer:  # migrates it under the reader
            assert verify(writer) == []
        assert len(reader.passages([1, 2, 3])) == 3
        assert verify(reader) == []


@pytest.mark.parametrize("version", [1, 2])
def test_damage_of_before_a_migration_is_found_after_it(store: LocalWriter, version: int) -> None:
    store.close()
    file = store.connection.folder / "store.db"
    downgraded(file, version)
    raw = sqlite3.connect(file)
    raw.execute("UPDATE passages SET text = 'Another text' WHERE id = 1")
    raw.commit()
    raw.close()
    for write in (False, True):
        with opened(file.parent, write=write) as again:
            assert any("passage 1 of 'd0' is damaged" in problem for problem in verify(again))


def test_many_problems_of_a_kind_are_counted_rather_than_listed(store: LocalWriter) -> None:
    store.replace([entry(f"e{n}", "x") for n in range(50)], 1)
    store.connection.raw.execute("UPDATE vectors SET crc = crc + 1")
    problems = verify(store)
    assert len(problems) == 6
    assert problems[-1] == "… and 51 more like that."


def test_a_space_that_is_only_partly_filled_is_no_damage(store: LocalWriter) -> None:
    other = store.put_space(Space(0, "other", "second", 16, {}))
    ids = base.without_vector(store.reader, other.id)
    store.put_vectors(other.id, ids[1:], vectors_of(["x"] * (len(ids) - 1)))
    assert verify(store) == []
    store.put_space(other, current=True)
    assert verify(store) == [f"passage {ids[0]} has no vector."]


def test_a_current_space_that_is_not_there_is_found(store: LocalWriter) -> None:
    store.connection.raw.execute("INSERT INTO meta VALUES ('space', 7)")
    assert verify(store) == ["the current space, 7, is not there."]
