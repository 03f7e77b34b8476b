"""SQL over an index: what it shows, what it computes, and that it only reads."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
from helpers.oldstore import downgraded

from semsearch import Document, Index, NotFound, SemsearchError, UsageError, admin
from semsearch.stores.local.database import schema
from semsearch.stores.local.queries import query
from semsearch.stores.sql import answers

LONG = "Boilers are under the stairs. " * 100
NOTES = [
    Document("boiler", LONG, {"year": 2020, "title": "taken", "a'b c": "odd", 'quo"te': 1}, "Heating"),
    Document("bread", "Bread needs salt, flour and water.", {"year": 2021, "tags": ["food", "oven"]}),
    Document("diesel", "Diesel engines ignite by compression.", {"year": 2022, "draft": True}),
]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    home = tmp_path_factory.mktemp("home")
    folder = tmp_path_factory.mktemp("files")
    (folder / "engines.md").write_text("# Engines\n\nSmall ones exist.\n")
    with Index.create("notes", encoder="hashing", home=home) as index:
        index.add(NOTES)
        index.sync(folder)
        yield index


def test_views_have_documents_and_passages_with_a_column_for_each_key(notes: Index) -> None:
    rows = notes.sql(
        'SELECT document, title, year, metadata_title, "a\'b c", tags, text FROM documents_view ORDER BY id'
    )
    found = rows.dicts()
    assert [row["document"] for row in found] == ["boiler", "bread", "diesel", "engines.md"]
    assert found[0]["text"] == LONG
    assert (found[0]["title"], found[0]["metadata_title"], found[0]["a'b c"]) == ("Heating", "taken", "odd")
    assert (found[1]["year"], found[1]["tags"]) == (2021, '["food","oven"]')
    (last,) = notes.sql("SELECT * FROM documents_view WHERE document = 'engines.md'").dicts()
    assert Path(str(last["file"])).read_text().startswith("# Engines")
    assert (last["loader"], last["passages"]) == ("markdown", 1)
    passages = notes.sql("SELECT id, document, position, text, year FROM passages_view WHERE document = 'boiler'")
    assert len(passages) == len(notes.passages("boiler"))
    assert [row[3] for row in passages] == [each["text"] for each in notes.passages("boiler")]
    values = notes.sql("SELECT key, value FROM metadata_view WHERE document = ? ORDER BY key", ["bread"])
    assert list(values) == [("tags", '["food","oven"]'), ("year", 2021)]


def test_a_search_is_a_table(notes: Index) -> None:
    found = notes.search("diesel engines", k=3)
    rows = notes.sql("SELECT * FROM semsearch_search('diesel engines', 3)")
    assert rows.columns[:3] == ("rank", "id", "document")
    assert [(row["id"], row["document"]) for row in rows.dicts()] == [(hit.id, hit.document) for hit in found]
    joined = """SELECT h.rank, p.title FROM documents_view d
        JOIN semsearch_search('boilers under the stairs', 2, 'year < 2021') AS h ON h.document = d.document
        JOIN passages_view p ON p.id = h.id -- semsearch_search('x')"""
    assert list(notes.sql(joined)) == [(1, "Heating")]
    as_json = notes.sql("SELECT json_array_length(semsearch_search(?, 2))", ["it's (bread"])
    assert list(as_json) == [(2,)]
    assert len(notes.sql("SELECT * FROM semsearch_search('it''s ) bread', 2)")) == 2


def test_cosines_are_those_of_the_stored_vectors_and_of_searches(notes: Index) -> None:
    query = "salt and flour"
    hits = notes.search(query, k=4, mode="semantic", group="passage")
    rows = notes.sql("SELECT id, cosine(id, ?) FROM passages_view ORDER BY 2 DESC LIMIT 4", [query])
    assert [(one, pytest.approx(cosine, abs=1e-3)) for one, cosine in rows] == [
        (hit.id, hit.scores["cosine"]) for hit in hits
    ]
    (row,) = notes.sql("SELECT cosine(1, 1), cosine('a red car', 'a red car'), cosine(10000000, 'a'), cosine(NULL, 1)")
    assert row == (pytest.approx(1, abs=1e-3), pytest.approx(1), None, None)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM documents",
        "INSERT INTO recipe VALUES ('a', 'b')",
        "UPDATE passages SET text = ''",
        "DROP VIEW passages_view",
        "CREATE TEMP TABLE t(a)",
        "PRAGMA user_version = 1",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON",
        "ATTACH ':memory:' AS other",
        "VACUUM INTO 'copy.db'",
        "BEGIN IMMEDIATE",
        "SELECT 1; DELETE FROM documents",
        "SELECT load_extension('x')",
        "SELECT * FROM nothing",
        "SELECT",
        "EXPLAIN",
        "-- nothing",
        "SELECT 'a\ud800'",
        "SELECT 1 \x00",
        "SELECT * FROM semsearch_search('tea'",
        "SELECT * FROM semsearch_search(7)",
        "SELECT semsearch_search('tea', 'ten')",
        "SELECT semsearch_search('tea', -1)",
        "SELECT semsearch_search('tea', 3, 'year >')",
        "SELECT cosine(1.5, 'a')",
        "SELECT cosine('a')",
        "SELECT randomblob(1000000000)",
        "SELECT * FROM documents_view, semsearch_search('tea', 2)",
    ],
)
def test_what_does_not_read_is_refused_and_changes_nothing(notes: Index, statement: str) -> None:
    before = notes.version
    with pytest.raises(UsageError):
        notes.sql(statement)
    assert notes.version == before
    assert notes.analysis.verify() == []


def test_no_more_rows_come_than_their_limit(notes: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answers.MOST_ROWS == 1_000_000
    monkeypatch.setattr(answers, "MOST_ROWS", 1000)  # by count: a busy machine may take a minute for a million
    rows = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT {}) SELECT x FROM n"
    assert len(notes.sql(rows.format(1000))) == 1000
    with pytest.raises(UsageError, match="1,000 rows"):
        notes.sql(rows.format(1001))


def test_the_rows_together_stay_within_their_memory(notes: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_BYTES", 2 << 20)
    large = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT {}) SELECT zeroblob(1000000) FROM n"
    assert len(notes.sql(large.format(2))) == 2
    with pytest.raises(UsageError, match="the rows take more than 2 MB"):
        notes.sql(large.format(100_000))


def test_columns_with_one_name_keep_their_values(notes: Index) -> None:
    rows = notes.sql("SELECT 1 AS id, 2 AS id_2, 3 AS id")
    assert rows.dicts() == [{"id": 1, "id_2": 2, "id_3": 3}]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("SELECT 1; SELECT 2", "only execute one statement at a time. docs"),
        ("SELECT 'a\ud800'", "not valid Unicode"),
        ("VACUUM INTO 'copy.db'", "it may only read"),
        ("SELECT * FROM documents_view, semsearch_search('tea', 2)", "after FROM or JOIN"),
    ],
)
def test_a_refusal_says_what_is_wrong(notes: Index, statement: str, problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        notes.sql(statement)
    assert problem in str(refused.value)


def test_a_statement_ends_in_time(notes: Index) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(SemsearchError, match=r"longer than 0\.2 s\b"):
        notes.sql(endless, seconds=0.2)
    slow = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT sum(cosine(x, 'a' || x)) FROM n"
    with pytest.raises(SemsearchError, match=r"longer than 0\.2 s\b"):
        notes.sql(slow, seconds=0.2)


def test_a_single_step_that_does_not_end_is_left_in_time(notes: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "GRACE", -60.0)  # so that nobody waits
    end, ended = Event(), Event()

    def stuck() -> int:
        end.wait()
        ended.set()
        return 1

    with pytest.raises(SemsearchError, match="longer than 60 s"):
        query.sql(notes.path, "SELECT stuck()", (), {"stuck": stuck}, 60)
    assert not ended.is_set()
    end.set()
    assert ended.wait(60)
    monkeypatch.undo()
    assert list(notes.sql("SELECT 1")) == [(1,)]


def test_an_index_of_before_the_views_is_read_as_it_is_and_gets_them_with_the_next_write(tmp_path: Path) -> None:
    with Index.create("old", encoder="hashing", home=tmp_path) as index:
        index.add(NOTES[:2])
    file = tmp_path / "old" / "store.db"
    downgraded(file, 5)
    with Index.open("old", home=tmp_path) as index:
        assert index.analysis.verify() == []
        assert list(index.sql("SELECT document, year FROM documents_view")) == [("boiler", 2020), ("bread", 2021)]
        with closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (5,)
        index.add(NOTES[2:])
        assert index.analysis.verify() == []
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)
        sql = "SELECT document, passages, metadata ->> 'year' FROM documents_view ORDER BY id"
        assert connection.execute(sql).fetchall()[1:] == [("bread", 1, 2021), ("diesel", 1, 2022)]
        assert connection.execute("SELECT count(*) FROM metadata_view").fetchone() == (8,)
        assert connection.execute("SELECT text FROM passages_view ORDER BY id DESC").fetchone() == (NOTES[2].text,)


def test_an_index_that_is_gone_is_not_found(tmp_path: Path) -> None:
    with Index.create("gone", encoder="hashing", home=tmp_path) as index:
        pass
    index = Index.open("gone", home=tmp_path)
    admin.remove("gone", home=tmp_path)
    with pytest.raises(NotFound):
        index.sql("SELECT 1")
    index.close()
