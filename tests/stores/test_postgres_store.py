"""What the PostgreSQL store promises beyond the contract of stores: many writers, lost connections, words, dumps."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from helpers.postgres import missing, new_database
from helpers.reading import full_document, rows, titles, version
from helpers.stores import DIM, entry, source, vectors_of
from hypothesis import given
from hypothesis import strategies as st

from semsearch import Document, Index, admin
from semsearch.errors import EncoderMismatch, NotFound, SemsearchError, Unreadable, UsageError
from semsearch.search.query_check import parse_filter
from semsearch.stores import drivers, local
from semsearch.stores.protocol import StoreReader
from semsearch.stores.records import Space, stable_id
from semsearch.stores.remote import links
from semsearch.stores.remote.space_vectors import MANY_QUERIES

if TYPE_CHECKING:
    from helpers.commandline import CommandLine

    from scripts.shared.postgres_server import PostgresServer
    from semsearch.stores.postgres import PostgresWriter

if missing():
    pytest.skip(missing(), allow_module_level=True)

from semsearch.stores import postgres as driver
from semsearch.stores.postgres import number_indexes, space_vectors
from semsearch.stores.postgres.filter_sql import PostgresFilters
from semsearch.stores.postgres.full_text import occurrences
from semsearch.stores.postgres.server import connection, escapes
from semsearch.stores.postgres.server.address import Server, explain
from semsearch.stores.postgres.server.client import psycopg

TEXTS = {
    "tea": "Green tea with milk. Black tea oxidises. Tea gardens of Darjeeling",
    "engines": "Diesel engines ignite by compression. Petrol engines need a spark. MaxRequestWorkers counts",
    "bread": "Bread needs salt and time. Sourdough bread rises slowly. running runners run",
    "cjk": "日本語の文章。 東京都に住む。 用Python写程序。 漢字",
    "odd": 'It\'s 3.11 and 1,000. "Quoted" \\ backslash. Zero\0byte and \x01 one',
}


@pytest.fixture
def made(address: str, tmp_path: Path) -> Iterator[tuple[PostgresWriter, Space]]:
    """A collection of its own with one space."""
    writer = driver.create(tmp_path / f"notes {tmp_path.name}", address=address)
    with writer:
        yield writer, writer.put_space(Space(0, "fingerprint", "stand-in", DIM, {"name": "stand-in"}))


def fill(writer: PostgresWriter | local.LocalWriter, space: Space, count: int = 40) -> None:
    """The texts above, and `count` documents of frequent and rare words."""
    entries = [entry(uri, text, metadata={"kind": uri, "n": at}) for at, (uri, text) in enumerate(TEXTS.items())]
    entries += [
        entry(f"d{n}", f"word common{n % 3} thing{n}. common word again {'tea ' * (n % 4)}", metadata={"n": n})
        for n in range(count)
    ]
    writer.replace(entries, space.id)


def silent(_: object) -> None:
    """A progress callback that does nothing."""


# ---- texts


@given(st.text(), st.text())
def test_every_text_has_one_form_without_nul_and_they_sort_as_the_texts_do(one: str, other: str) -> None:
    written = escapes.stored(one), escapes.stored(other)
    assert "\0" not in "".join(written)
    assert tuple(map(escapes.restored, written)) == (one, other)
    assert (written[0] < written[1]) == (one < other)


def test_an_id_that_is_too_long_for_an_index_is_skipped_with_the_reason(made: tuple[PostgresWriter, Space]) -> None:
    writer, space = made
    with pytest.raises(Unreadable, match="longer than 2,600 bytes"):
        writer.replace([entry("x" * 3000, "Text")], space.id)
    writer.replace([entry("x" * 2600, "Text")], space.id)
    assert full_document(writer.reader, "x" * 2600) is not None


def test_a_name_that_is_no_unicode_is_of_no_document_and_named_where_it_is_to_be_deleted(
    made: tuple[PostgresWriter, Space],
) -> None:
    writer, wrong = made[0], "a\udcff"
    assert writer.reader.full_documents([wrong]) == [] and not len(writer.reader.passage_ids([wrong]))
    with pytest.raises(Unreadable, match="is not valid Unicode"):
        writer.delete([wrong])
    assert rows(writer.reader, [wrong]) == {} and writer.delete(["b"]) == 0


# ---- words


@pytest.fixture(scope="module")
def both(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StoreReader, StoreReader]]:
    """The same documents in a collection and in a local store."""
    folder = tmp_path_factory.mktemp("both")
    with driver.create(folder / "words", address=address) as ours, local.create(folder / "local") as theirs:
        for writer in (ours, theirs):
            fill(writer, writer.put_space(Space(0, "fingerprint", "stand-in", DIM, {})))
        yield ours.reader, theirs.reader


QUERIES = [
    "tea", "milk tea", "word", "common1 thing7", "common word again", "engine compression", "the tea of the",
    '"green tea"', '"tea green"', '"word common1"', "run", "Darjeelign", "compresion", "日本語", "東京", "京",
    "用Python写", "Python", "漢字 tea", "3.11",
    "don't", "1,000 quoted", "max request workers", "zero byte", "nothing at all",
]  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_words_find_the_passages_and_scores_of_a_local_store(both: tuple[StoreReader, StoreReader], query: str) -> None:
    ours, theirs = (reader.lexical(query, 12) for reader in both)
    assert ours.ids == theirs.ids
    assert ours.scores == pytest.approx(theirs.scores, rel=1e-9)
    assert ours.coverage == pytest.approx(theirs.coverage, rel=1e-9)
    assert (ours.complete, ours.corrected) == (theirs.complete, theirs.corrected)


FREQUENT = ["tea", "word", "common1", "common2", "thing3", "thing4", "milk", "engines", "日本", "salt"]


@given(st.lists(st.sampled_from(FREQUENT), min_size=1), st.integers(1, 60))
def test_frequent_words_have_the_scores_of_a_local_store(
    both: tuple[StoreReader, StoreReader], words: list[str], k: int
) -> None:
    ours, theirs = (reader.lexical(" ".join(words), k) for reader in both)
    assert ours.scores == pytest.approx(theirs.scores, rel=1e-9)


@pytest.mark.parametrize(
    "must", [["tea"], ["green tea"], ["tea green"], ["京"], ["東京"], ["日本語"], ["Python"], ["用P"]]
)
def test_must_means_the_same_as_in_a_local_store(both: tuple[StoreReader, StoreReader], must: list[str]) -> None:
    found = [
        sorted(reader.lexical("tea engine word 日本語 東京都 用Python写", 99, reader.allowed(None, must)).ids)
        for reader in both
    ]
    assert found[0] == found[1]
    numbers = [len(reader.allowed(None, must) or ()) for reader in both]
    assert numbers[0] == numbers[1]


def test_facets_are_those_of_a_local_store(both: tuple[StoreReader, StoreReader]) -> None:
    assert both[0].facets() == both[1].facets()


# ---- vectors


def test_an_index_of_the_server_finds_what_comparing_every_vector_finds(
    made: tuple[PostgresWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_vectors.SpaceVectors, "INDEXED_FROM", 100)
    writer, space = made
    writer.replace([entry(f"d{n}", f"One {n}. Two {n}. Three {n}", metadata={"n": n}) for n in range(100)], space.id)
    writer.update_vector_index(space.id, "auto")
    queries = vectors_of([f"q{n}" for n in range(20)])
    reader = writer.reader
    assert reader.info()["spaces"][0]["backend"] == "hnsw"

    def overlap(k: int, allowed: Any = None) -> float:
        near, exact = (reader.dense(space.id, queries, k, allowed, exact=way) for way in (False, True))
        assert near.plan["backend"] == "hnsw" and exact.plan["backend"] == "exact"
        shared = [len(set(a) & set(b)) for a, b in zip(near.ids.tolist(), exact.ids.tolist(), strict=True)]
        assert (np.diff(near.cosines, axis=1) <= 1e-6).all()
        return float(np.mean(shared)) / k

    assert overlap(10) >= 0.98
    writer.delete([f"d{n}" for n in range(0, 100, 2)])
    assert overlap(10) >= 0.98
    many = reader.allowed(None, ids=reader.passage_ids(space=space.id)[::2])
    assert overlap(10, many) >= 0.98
    chosen = reader.passage_ids(space=space.id)[:5]
    few = reader.allowed(None, ids=chosen)
    assert sorted(reader.dense(space.id, queries[:1], 5, few).ids[0].tolist()) == chosen.tolist()
    assert reader.dense(space.id, queries, 5).ids.shape == (20, 5)
    writer.update_vector_index(space.id, "exact")
    assert reader.info()["spaces"][0]["backend"] == "exact"
    assert reader.verify(silent) == []


def test_many_queries_are_compared_here_as_the_server_compares_them(made: tuple[PostgresWriter, Space]) -> None:
    writer, space = made
    writer.replace([entry(f"d{n}", f"One {n}. Two {n}") for n in range(20)], space.id)
    queries = vectors_of([f"q{n}" for n in range(MANY_QUERIES + 1)])
    whole = writer.reader.dense(space.id, queries, 7)
    for at, query in enumerate(queries):
        one = writer.reader.dense(space.id, query[None], 7)
        assert one.ids[0].tolist() == whole.ids[at].tolist()
        assert one.cosines[0] == pytest.approx(whole.cosines[at], abs=1e-6)


# ---- filters and indexes


@pytest.mark.parametrize("where", ["year = 1950", "year in (1901, 1902)", "tags contains 3 and year > 1", "tags = a"])
def test_a_filter_of_equal_values_is_answered_by_an_index(made: tuple[PostgresWriter, Space], where: str) -> None:
    writer, space = made
    writer.replace(
        [entry(f"d{n}", "x", metadata={"year": 1900 + n % 99, "tags": ["a", n]}) for n in range(300)], space.id
    )
    condition = parse_filter(where, None)
    assert condition is not None
    sql, values = PostgresFilters(writer.connection).passages(condition)
    with writer.transaction():
        for way in ("seqscan", "indexscan"):  # 300 rows are read as fast without the index
            writer.connection.execute(f"SET LOCAL enable_{way} = off")
        plan = " ".join(row[0] for row in writer.connection.rows(f"EXPLAIN {sql}", values))
    assert "documents_fields" in plan


def test_numbers_that_many_documents_have_are_compared_by_an_index(
    made: tuple[PostgresWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, space = made
    odd = {"year": "1950", "more": {"year": 1}, "it's": 3, "rare": [2]}
    metadata = [{"year": n, **(odd if n % 9 else {})} for n in range(1900, 2200)]
    writer.replace([entry(f"d{n}", "x", metadata=each) for n, each in enumerate(metadata)], space.id)
    condition = parse_filter("year >= 1990 and year < 1999", None)
    assert condition is not None
    before = writer.reader.document_ids(condition)
    monkeypatch.setattr(number_indexes, "INDEXED_FROM", 1)
    writer.update_vector_index(space.id, "auto")
    sql, values = PostgresFilters(writer.connection).passages(condition)
    with writer.transaction():
        writer.connection.execute("SET LOCAL enable_seqscan = off")
        plan = " ".join(row[0] for row in writer.connection.rows(f"EXPLAIN {sql}", values))
    assert "documents_number_" in plan and writer.reader.document_ids(condition) == before
    assert len(before) == 1


def test_an_index_is_built_beside_the_one_that_searches_use(
    made: tuple[PostgresWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, space = made
    writer.replace([entry(f"d{n}", f"One {n}. Two {n}") for n in range(30)], space.id)
    monkeypatch.setattr(space_vectors.SpaceVectors, "INDEXED_FROM", 1)
    writer.update_vector_index(space.id, "auto", when="always")
    usable, run = list[bool](), connection._run

    def seen(raw: Any, sql: str) -> None:
        run(raw, sql)
        usable.append(space_vectors.SpaceVectors(writer.connection, space.id).is_indexed())

    monkeypatch.setattr(connection, "_run", seen)
    writer.update_vector_index(space.id, "auto", when="always")
    assert len(usable) == 6 and all(usable)
    assert writer.reader.verify(silent) == []


# ---- many writers


def test_a_passage_has_one_stable_id_on_every_machine(made: tuple[PostgresWriter, Space]) -> None:
    writer, space = made
    fill(writer, space, 3)
    writer.revise("tea", new_uri="drinks/tea")
    rows = writer.connection.rows(
        """SELECT replace(stable_id::text, '-', ''), d.uri, position, p.text
           FROM passages p JOIN documents d ON d.id = document"""
    )
    for identity, uri, position, text in rows:
        assert identity == stable_id(uri, position, text)
    assert len({row[0] for row in rows}) == len(rows)


# ---- lost connections


def backends(postgres: PostgresServer) -> None:
    """End every session that semsearch has."""
    postgres.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'semsearch'")


def test_a_read_goes_on_after_its_connection_was_ended(
    postgres: PostgresServer, made: tuple[PostgresWriter, Space]
) -> None:
    writer, space = made
    fill(writer, space, 3)
    with driver.open_reader(writer.reader.location) as reader:
        before = titles(reader)
        backends(postgres)
        assert titles(reader) == before
        backends(postgres)
        with reader.snapshot():
            assert reader.state().documents == len(before)
        backends(postgres)
        writer.delete(["tea"])  # a transaction begins on a new connection
        assert full_document(reader, "tea") is None


def test_a_connection_that_is_lost_in_a_transaction_writes_nothing_and_says_so(
    postgres: PostgresServer, made: tuple[PostgresWriter, Space]
) -> None:
    writer, space = made
    fill(writer, space, 3)
    before = titles(writer.reader)
    with pytest.raises(SemsearchError, match=r"connection to .* was lost|shutting down"), writer.transaction():
        writer.delete(["tea"])
        backends(postgres)
        writer.delete(["bread"])
    assert titles(writer.reader) == before
    assert writer.delete(["tea"]) == 1
    assert writer.reader.verify(silent) == []


# ---- errors


@pytest.mark.parametrize(
    ("wrong", "kind", "said"),
    [
        ("", UsageError, "needs the address"),
        ("postgresql://ann:geheim@localhost/x", UsageError, "password"),
        ("host=x password=geheim", UsageError, "password"),
        ("postgresql://localhost:1/x", SemsearchError, "no PostgreSQL server answers at localhost:1/x"),
        ("postgresql:///x?host=/nowhere", SemsearchError, "no PostgreSQL server answers at /nowhere"),
        ("http://host:3", UsageError, "no connection string"),
        ("postgresql://host/x?sslpassword=geheim", UsageError, "a secret in it .sslpassword."),
    ],
)
def test_an_address_that_leads_nowhere_is_one_clear_error(
    tmp_path: Path, wrong: str, kind: type[SemsearchError], said: str
) -> None:
    began = time.monotonic()
    with pytest.raises(kind, match=said) as caught:
        driver.create(tmp_path / "notes", address=wrong)
    assert "geheim" not in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "notes").exists() and time.monotonic() - began < 30


def test_a_database_user_or_collection_that_is_missing_is_named(
    postgres: PostgresServer, address: str, made: tuple[PostgresWriter, Space], tmp_path: Path
) -> None:
    with pytest.raises(NotFound, match="does not have this database"):
        driver.create(tmp_path / "notes", address=postgres.address("nowhere"))
    with pytest.raises(SemsearchError, match="does not know this user"):
        driver.create(tmp_path / "notes", address=postgres.address("postgres", user="nobody-known"))
    location = made[0].reader.location
    made[0].close()
    assert driver.link(tmp_path / "elsewhere" / location.name, address)
    assert not driver.link(tmp_path / "elsewhere" / "unknown", address)
    driver.remove(location)
    with pytest.raises(NotFound, match="is not on the server"):
        driver.open_reader(tmp_path / "elsewhere" / location.name)
    with pytest.raises(NotFound):
        driver.open_reader(location)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ('FATAL:  permission denied for database "x" DETAIL: User does not have CONNECT privilege.', "lets this user"),
        ('FATAL:  role "x" is not permitted to log in', "lets this user"),
        ('FATAL:  too many connections for role "x"', "no room for another connection"),
        ("FATAL:  sorry, too many clients already", "no room for another connection"),
        ('FATAL:  role "x" does not exist', "does not know this user"),
        ('FATAL:  database "x" does not exist', "does not have this database"),
    ],
)
def test_a_refusal_of_the_server_is_not_taken_for_another_one(said: str, found: str) -> None:
    assert found in str(explain(psycopg.OperationalError(f"connection failed: {said}"), "notes", "host/x"))


def test_a_user_with_few_rights_is_told_which_one_is_missing(postgres: PostgresServer, tmp_path: Path) -> None:
    bare = new_database(postgres)
    postgres.sql("DO $$ BEGIN CREATE ROLE guest LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    as_guest = bare.replace("user=semsearch", "user=guest")
    with pytest.raises(SemsearchError, match="CREATE EXTENSION vector"):
        driver.create(tmp_path / "notes", address=as_guest)
    driver.create(tmp_path / "first", address=bare).close()
    with pytest.raises(SemsearchError, match="may not do that"):
        driver.create(tmp_path / "notes", address=as_guest)
    assert not (tmp_path / "notes").exists()


@pytest.mark.parametrize(("schema", "age"), [("99", "a newer"), ("2", "an older")])
def test_a_collection_of_another_semsearch_is_refused(
    made: tuple[PostgresWriter, Space], schema: str, age: str
) -> None:
    writer, _ = made
    with writer.transaction():
        writer.connection.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (schema,))
    with pytest.raises(SemsearchError, match=rf"{age} semsearch \(schema {schema}"):
        driver.open_reader(writer.reader.location)


def test_a_second_collection_of_a_name_is_refused_and_a_link_leads_to_the_first(
    address: str, made: tuple[PostgresWriter, Space], tmp_path: Path
) -> None:
    writer, space = made
    fill(writer, space, 2)
    name = writer.reader.name
    with pytest.raises(UsageError, match="has a collection called"):
        driver.create(tmp_path / "other" / name, address=address)
    assert driver.link(tmp_path / "other" / name, address)
    assert driver.identity(tmp_path / "other" / name) == driver.identity(writer.reader.location)
    driver.rename(writer.reader.location, tmp_path / "renamed")
    with driver.open_reader(tmp_path / "other" / name) as reader:
        assert full_document(reader, "tea") is not None
    assert driver.unlink(tmp_path / "other" / name) == []
    with driver.open_reader(tmp_path / "renamed") as reader:
        assert reader.state().documents == 7


def test_another_encoder_is_refused_over_a_link(address: str, tmp_path: Path) -> None:
    store = f"postgres:{address}"
    with Index.create("shared", encoder="hashing", home=tmp_path / "a", store=store) as index:
        index.add([Document("a", "Diesel engines ignite by compression.")])
    assert admin.link("shared", store, tmp_path / "b")
    with Index.open("shared", home=tmp_path / "b") as index:
        assert index.search("diesel engine", k=1)[0].document == "a"
        index.add([Document("b", "Bread needs salt.")])
    with Index.open("shared", encoder="default", home=tmp_path / "b") as index, pytest.raises(EncoderMismatch):
        index.search("bread")
    with Index.open("shared", home=tmp_path / "a") as index:
        assert [each["id"] for each in index.documents()] == ["a", "b"]


def test_the_commands_work_on_a_name_whose_documents_are_on_a_server(
    cli: CommandLine, address: str, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "docs" / f"{name}.txt").write_text(text.replace("\0", ""), encoding="utf-8")
    store = f"postgres:{address}"
    first = cli("index", str(tmp_path / "docs"), "-n", "served", "--store", store, "--json").json
    assert first["documents"]["added"] == len(TEXTS)
    again = cli("index", "-n", "served", "--json").json
    assert again["documents"]["unchanged"] == len(TEXTS) and again["documents"]["added"] == 0
    for mode in ("semantic", "keyword", "hybrid"):
        hits = cli("query", "diesel engines", "-n", "served", "--mode", mode, "--json").json["hits"]
        assert hits[0]["document"] == "engines.txt"
    assert cli("info", "served", "--json").json["server"].startswith("postgres:")
    assert cli("query", "tea", "-n", "served", "--path", "cjk*", "--format", "paths").lines != ["tea.txt"]
    assert cli("delete", "-n", "served", "--id", "tea.txt", "-y").code == 0
    assert cli("get", "tea.txt", "-n", "served").code == 3
    assert cli("verify", "served").code == 0
    cli("dump", "served", "-o", "served.dump")
    assert cli("restore", "served.dump", "-n", "moved", "--store", store).code == 0
    assert "moved" in cli("list").out
    assert cli("index", "-n", "served", "-m", "default").code == 4
    assert cli("salvage", "served", "-o", "saved").code == 2
    assert cli("rm", "moved", "-y").code == cli("rm", "served", "-y").code == 0
    assert cli("query", "tea", "-n", "served").code == 3


# ---- verification, SQL, dumps


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("UPDATE passages SET text = 'else' WHERE id = (SELECT min(id) FROM passages)", "is not the text from"),
        ("UPDATE documents SET body = 'else' WHERE uri = 'tea'", "the text of 'tea'"),
        ("UPDATE documents SET metadata = '{}' WHERE uri = 'tea'", "title or metadata of 'tea'"),
        ("DELETE FROM vectors_1 WHERE passage = (SELECT min(id) FROM passages)", "has no vector"),
        ("UPDATE words SET vector = '''x'':1A' WHERE passage = (SELECT min(id) FROM passages)", "the words of passage"),
        ("UPDATE counters SET value = 3 WHERE name = 'passages'", "3 passages are on record"),
        ("SELECT setval('passage_ids', 1)", "was used before"),
    ],
)
def test_damage_is_found(made: tuple[PostgresWriter, Space], damage: str, found: str) -> None:
    writer, space = made
    fill(writer, space, 2)
    assert writer.reader.verify(silent) == []
    with writer.transaction():
        writer.connection.rows(damage) if damage.startswith("SELECT") else writer.connection.execute(damage)
    problems = writer.reader.verify(silent)
    assert any(found in problem for problem in problems), problems


def test_sql_is_left_to_psql_with_the_view_to_ask(made: tuple[PostgresWriter, Space]) -> None:
    writer, space = made
    fill(writer, space, 2)
    with pytest.raises(UsageError, match="psql") as refused:
        driver.sql(writer.reader.location, "SELECT 1", (), {}, 30)
    statement = f"SELECT document, passages {refused.value.fix[refused.value.fix.index('FROM') :]} ORDER BY 1"
    assert writer.connection.rows(statement)[-1] == ("tea", 3)


def test_a_dump_becomes_a_local_index_and_back(
    address: str, made: tuple[PostgresWriter, Space], tmp_path: Path
) -> None:
    writer, space = made
    key = writer.put_sources([source()])[0]
    writer.replace([entry("file", "Of a file. Twice", source=key)], space.id)
    fill(writer, space, 5)
    writer.replace([entry("file", "Of a file. Thrice", source=key)], space.id)
    driver.dump(writer.reader, tmp_path / "dump", silent)
    local.restore(tmp_path / "dump", tmp_path / "local")
    with local.open_reader(tmp_path / "local") as here:
        assert here.verify(silent) == []
        assert [full_document(here, uri) for uri in here.document_ids(None)] == [
            full_document(writer.reader, uri) for uri in here.document_ids(None)
        ]
        local.dump(here, tmp_path / "second")
    driver.restore(tmp_path / "second", tmp_path / f"back {tmp_path.name}", None, silent, address=address)
    with driver.open_reader(tmp_path / f"back {tmp_path.name}") as back:
        assert back.verify(silent) == []
        for uri in writer.reader.document_ids(None):
            assert back.passage_ids([uri]).tolist() == writer.reader.passage_ids([uri]).tolist()
        found = [np.concatenate([rows for _, rows in one.vectors(space.id)]) for one in (back, writer.reader)]
        assert np.array_equal(*found)


@pytest.mark.parametrize(("backend", "kind"), [("auto", "hnsw"), ("exact", "exact")])
def test_a_restored_collection_has_its_vector_index_at_once(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, kind: str
) -> None:
    monkeypatch.setattr(space_vectors.SpaceVectors, "INDEXED_FROM", 5)
    with local.create(tmp_path / "local") as writer:
        space = writer.put_space(Space(0, "fingerprint", "stand-in", DIM, {}))
        fill(writer, space, 8)
        measured = {"backend": "flat", "vectors": 8}  # of FAISS, on this machine
        writer.change_recipe(lambda _: {"backend": backend, "measured": measured})
        local.dump(writer.reader, tmp_path / "dump")
    location = tmp_path / f"restored {backend} {tmp_path.name}"
    driver.restore(tmp_path / "dump", location, None, silent, address=address)
    with driver.open_reader(location) as reader:
        assert reader.info()["spaces"][0]["backend"] == kind
        assert reader.state().recipe == {"backend": backend} and reader.verify(silent) == []


def test_a_restored_collection_whose_vector_index_cannot_be_built_is_there_with_a_warning(
    address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with local.create(tmp_path / "local") as writer:
        fill(writer, writer.put_space(Space(0, "fingerprint", "stand-in", DIM, {})), 3)
        writer.change_recipe(lambda _: {"backend": "faiss_of_somebody"})
        local.dump(writer.reader, tmp_path / "dump")
    location = tmp_path / f"restored {tmp_path.name}"
    driver.restore(tmp_path / "dump", location, None, silent, address=address)
    assert "its vector index could not be built: no backend is called" in caplog.text
    with driver.open_reader(location) as reader:
        assert reader.state().documents == 3 + len(TEXTS) and reader.verify(silent) == []


def test_a_damaged_server_is_for_its_own_tools(made: tuple[PostgresWriter, Space]) -> None:
    with pytest.raises(UsageError, match="pg_dump"):
        driver.salvage(made[0].reader.location)
    assert driver.accept_loss(made[0].reader.location) is None
    assert drivers.find(made[0].reader.location) is driver
    assert links.read(made[0].reader.location).address


def test_a_server_that_does_not_come_back_is_given_up_in_time(
    made: tuple[PostgresWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, _ = made
    reach = Server.connect
    monkeypatch.setattr(connection, "RETRY_SECONDS", 0.5)
    with driver.open_reader(writer.reader.location) as reader:
        version(reader)
        object.__setattr__(reader.connection.server, "address", "postgresql:///x?host=/nowhere")
        for raw in reader.connection._idle:
            raw.close()
        began = time.monotonic()
        with pytest.raises(SemsearchError, match="no PostgreSQL server answers at /nowhere"):
            version(reader)
        assert time.monotonic() - began < 10
        tries = list[str]()

        def counted(server: Server) -> Any:
            tries.append(server.address)
            return reach(server)

        with monkeypatch.context() as changed:
            changed.setattr(Server, "connect", counted)
            with pytest.raises(SemsearchError, match="no PostgreSQL server answers"):
                version(reader)
        assert len(tries) == 1  # it is known to be away


# ---- several machines


def test_an_open_index_follows_its_collection_and_never_reads_another_of_its_name(
    address: str, made: tuple[PostgresWriter, Space], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "RECHECK_SECONDS", 0.0)
    writer, space = made
    fill(writer, space, 2)
    there = tmp_path / "other" / writer.reader.name
    assert driver.link(there, address)
    with driver.open_reader(there) as reader, driver.open_writer(there) as second:
        before = titles(reader)
        driver.rename(writer.reader.location, tmp_path / f"renamed {tmp_path.name}")
        assert titles(reader) == before and reader.state().documents == 7
        driver.create(tmp_path / "third" / writer.reader.name, address=address).close()  # another one, of that name
        assert titles(reader) == before and second.delete(["tea"]) == 1
        driver.remove(tmp_path / f"renamed {tmp_path.name}")
        for call in (lambda: titles(reader), reader.state, lambda: second.delete(["bread"]), second.compact):
            with pytest.raises(NotFound, match="is not on the server"):
                call()
    with driver.open_reader(tmp_path / "third" / writer.reader.name) as other:
        assert version(other) == 1  # nobody wrote to it


def test_a_document_that_the_server_cannot_store_is_skipped_alone(address: str, tmp_path: Path) -> None:
    records = [{"id": "a", "text": "Tea."}, {"id": "x" * 3000, "text": "Bread."}, {"id": "c", "text": "Salt."}]
    (tmp_path / "records.jsonl").write_text("\n".join(map(json.dumps, records)))
    with Index.create("long", encoder="hashing", home=tmp_path / "home", store=f"postgres:{address}") as index:
        for found in (2, 0):
            report = index.sync([tmp_path / "records.jsonl"])
            assert report.added == found and [each.path for each in report.skipped] == ["x" * 3000]
            assert [each["id"] for each in index.documents()] == ["a", "c"]
        assert index.analysis.verify() == []


def test_machines_that_embed_the_same_passages_at_once_count_their_vectors_once(
    made: tuple[PostgresWriter, Space],
) -> None:
    writer, space = made
    fill(writer, space, 2)
    new = writer.put_space(Space(0, "other", "other", DIM, {}))
    ids = writer.reader.passage_ids(space=space.id)
    rows, both = vectors_of([str(number) for number in ids]), threading.Barrier(2)

    def put() -> None:
        with driver.open_writer(writer.reader.location) as own, own.transaction():
            both.wait(60)
            own.put_vectors(new.id, ids, rows)

    threads = [threading.Thread(target=put) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert writer.reader.state().vectors[new.id] == len(ids)
    assert writer.reader.verify(silent) == []


def test_one_of_several_machines_builds_the_vector_index(
    made: tuple[PostgresWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_vectors.SpaceVectors, "INDEXED_FROM", 1)
    writer, space = made
    fill(writer, space, 2)
    failed = list[BaseException]()

    def build() -> None:
        try:
            with driver.open_writer(writer.reader.location) as own:
                own.update_vector_index(space.id, "auto")
        except BaseException as error:
            failed.append(error)

    with writer.connection.alone("vector index") as run:  # as while another machine builds it
        assert run is not None
        build()
        assert not space_vectors.SpaceVectors(writer.connection, space.id).is_indexed()
    threads = [threading.Thread(target=build) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == [] and space_vectors.SpaceVectors(writer.connection, space.id).is_indexed()


def test_machines_share_documents_and_keep_their_files_apart(
    address: str, made: tuple[PostgresWriter, Space], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, space = made
    there = tmp_path / "other" / first.reader.name
    monkeypatch.setenv("SEMSEARCH_MACHINE", "one")
    own = first.put_sources([source("a.md")])[0]
    first.replace([entry("a.md", "Of the first", source=own)], space.id)
    first.change_recipe(lambda _: {"x": 1, "roots": [{"path": "/notes"}], "bases": {"/notes": ""}})
    monkeypatch.setenv("SEMSEARCH_MACHINE", "two")
    assert driver.link(there, address)
    with driver.open_writer(there) as second:
        reader = second.reader
        assert list(reader.sources()) == [] == list(reader.sources(keys=[("/notes", "a.md")]))
        assert list(reader.sources(ids=[own])) == []
        assert reader.state().recipe == {"x": 1, "taken": [""]}
        (passage,) = reader.passages(reader.passage_ids(["a.md"]))
        assert (passage.root, passage.path, passage.text) == (None, "a.md", "Of the first")
        assert [(row.root, row.path) for row in reader.document_rows()] == [(None, "a.md")]
        with pytest.raises(Unreadable, match="machine one"):
            second.replace([entry("a.md", "Of the second")], space.id)
        other = second.put_sources([source("a.md")])[0]
        assert other != own and second.delete(sources=[own]) == 0
        with pytest.raises(NotFound):
            second.put_sources([replace(source("b.md"), id=own)])
        second.replace([entry("other/a.md", "Of the second", source=other)], space.id)
        second.change_recipe(lambda _: {"x": 2, "roots": [], "bases": {"/notes": "other/"}, "taken": [""]})
    monkeypatch.setenv("SEMSEARCH_MACHINE", "one")
    driver.dump(first.reader, tmp_path / "dump", silent)  # the files of the other one are no files here
    local.restore(tmp_path / "dump", tmp_path / "local")
    with local.open_reader(tmp_path / "local") as copied:
        assert [(row.uri, row.path) for row in copied.document_rows()] == [("a.md", "a.md"), ("other/a.md", None)]
        assert "taken" not in copied.state().recipe and copied.verify(silent) == []
    assert [each.id for each in first.reader.sources()] == [own]
    recipe = first.reader.state().recipe
    assert (recipe["x"], recipe["bases"], recipe["taken"]) == (2, {"/notes": ""}, ["other/"])
    assert first.delete(sources=[own]) == 1
    assert first.reader.document_ids(None) == ["other/a.md"]
    assert first.reader.verify(silent) == []


def test_two_machines_index_the_same_path_into_one_collection_and_lose_nothing(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, notes = f"postgres:{address}", tmp_path / "notes"
    notes.mkdir()

    def run(machine: str, files: dict[str, str], *paths: Path) -> set[str]:
        monkeypatch.setenv("SEMSEARCH_MACHINE", machine)
        for old in notes.iterdir():
            old.unlink()
        for name, text in files.items():
            (notes / name).write_text(text)
        home = tmp_path / machine
        if not admin.exists("both", home) and not admin.link("both", store, home):
            Index.create("both", encoder="hashing", home=home, store=store).close()
        with Index.open("both", home=home) as index:
            index.sync(paths)
            return {each["id"] for each in index.documents()}

    assert run("one", {"a.md": "Engines of one.", "b.md": "Bread of one."}, notes) == {"a.md", "b.md"}
    assert run("two", {"a.md": "Engines of two."}, notes) == {"a.md", "b.md", "notes/a.md"}
    assert run("two", {"c.md": "Tea of two."}) == {"a.md", "b.md", "notes/c.md"}
    assert run("one", {"b.md": "Bread of one."}) == {"b.md", "notes/c.md"}
    with Index.open("both", home=tmp_path / "one") as index:
        assert [hit.document for hit in index.search("tea of two", k=1)] == ["notes/c.md"]
        assert index.analysis.verify() == []


def test_ts_rank_says_how_often_a_passage_has_a_term(made: tuple[PostgresWriter, Space]) -> None:
    """Up to 255, which is all that a tsvector counts."""
    database = made[0].connection
    sql = f"""SELECT ts_rank({occurrences.WEIGHTS}, ('''x'':' || array_to_string(array(SELECT p || CASE WHEN p % 2 = 0
              THEN 'A' ELSE '' END FROM generate_series(1, n) p), ','))::tsvector, '''x'''::tsquery)
              FROM generate_series(1, 255) n ORDER BY n""".replace("%", "%%")
    ranks = np.array(database.rows(sql), dtype=np.float64)[:, 0]
    found = occurrences.counts(ranks)
    assert found is not None and found.tolist() == list(range(1, 256))
    assert occurrences.counts(np.array([0.61, 0.5])) is None
