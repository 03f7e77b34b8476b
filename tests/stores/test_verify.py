"""Every kind of damage is put into a real file, and `verify` has to name it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from helpers.opened import opened, verify
from helpers.stores import entry, made, source

from semsearch.stores.local import LocalWriter, open_reader
from semsearch.utils.strength import NullDistribution
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
    "UPDATE documents SET uri = 'e1' WHERE uri = 'd1'": "identity of passage 3 of 'e1'",
    "UPDATE documents SET body = x'00ff' WHERE uri = 'd1'": "'d1' cannot be read",
    "UPDATE documents SET body = (SELECT body FROM documents WHERE uri = 'd2') WHERE uri = 'd1'": "the text of 'd1'",
    "UPDATE documents SET metadata = '{\"a\": 2}' WHERE uri = 'd1'": "metadata of 'd1'",
    "UPDATE documents SET metadata = '{' WHERE uri = 'd1'": "'d1' cannot be read",
    "UPDATE documents SET title = 'Other' WHERE uri = 'd1'": "title or metadata of 'd1'",
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
    store.put_source(source())
    store.set_recipe({"paths": ["x"]})
    store.add_run({"added": 3})
    store.set_null_distribution(space.id, NullDistribution(tuple(np.linspace(0, 1, 303).tolist()), 6))
    store.add_cache(CacheFile(0, space.id, "cache-1", 1, "ab", 6, 6, "Flat", "1", "because"))
    return store


def test_a_sound_store_has_no_problems_and_is_not_changed_by_looking(store: LocalWriter) -> None:
    version, content = store.reader.version(), list(store.connection.raw.iterdump())
    assert verify(store) == []
    assert store.reader.version() == version
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
    space = store.reader.spaces()[0]
    store.replace([entry(f"e{n}", f"{n} " + "word " * 50) for n in range(200)], space.id)
    store.close()
    content = bytearray((store.connection.folder / "store.db").read_bytes())
    for page in range(8, 12):
        content[page * 8192 : (page + 1) * 8192] = bytes(8192)
    (store.connection.folder / "store.db").write_bytes(content)
    with open_reader(store.connection.folder) as again:
        assert verify(again)


def test_many_problems_of_a_kind_are_counted_rather_than_listed(store: LocalWriter) -> None:
    store.replace([entry(f"e{n}", "x") for n in range(50)], 1)
    store.connection.raw.execute("UPDATE vectors SET crc = crc + 1")
    problems = verify(store)
    assert len(problems) == 6
    assert problems[-1] == "… and 51 more like that."


def test_a_space_that_is_only_partly_filled_is_no_damage(store: LocalWriter) -> None:
    other = store.add_space("other", "second", 16, {})
    store.replace([entry("elsewhere", "x")], other.id)
    assert verify(store) == []
