"""The contract of stores: what `stores.protocol` promises, for every store there is."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from helpers.filter_model import Row, holds, random_metadata, trees
from helpers.postgres import Addressed, new_database
from helpers.reading import counts, full_document, rows, titles, version
from helpers.stores import DIM, entry, measured_null, source, vectors_of
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from semsearch import Document, Index, Query, Splitter, admin, stores
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import Corrupt, Locked, NotFound, SemsearchError, UnknownName, Unreadable, UsageError
from semsearch.search.query_check import parse_filter
from semsearch.stores import base, drivers
from semsearch.stores.drivers import StoreDriver
from semsearch.stores.filters import And, Compare, Contains, Exists, Field, Filter, Not, Or, PathGlob
from semsearch.stores.protocol import StoreReader, StoreWriter
from semsearch.stores.records import Bookmark, Entry, Source, Space, meta_hash, text_hash
from semsearch.stores.sql.lexical_search import spans
from semsearch.types import Mark, Passage, Progress
from semsearch.utils import globs

DAY_NS = 1_706_659_200 * 10**9  # 2024-01-31 00:00 UTC
SLOW_FIXTURE = [HealthCheck.function_scoped_fixture]


@dataclass
class Place:
    """A driver and folders for stores of its own."""

    driver: StoreDriver
    folder: Path
    many_writers: bool = False  # at once, as a server can have them

    def __post_init__(self) -> None:
        self._made = 0

    def new(self, documents: int = 0) -> tuple[StoreWriter, Space]:
        """A new store with one space and `documents` documents of two passages."""
        self._made += 1
        writer = self.driver.create(self.folder / f"store-{self._made}")
        space = writer.put_space(Space(0, "fingerprint", "stand-in", DIM, {"name": "stand-in"}))
        entries = [entry(f"d{n}", f"Engine number {n} runs. Bread needs salt {n}") for n in range(documents)]
        writer.replace(entries, space.id)
        return writer, space


@pytest.fixture(scope="module", params=drivers.names())
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("stores")
    if request.param == "postgres":
        address = new_database(request.getfixturevalue("postgres"))
        yield Place(Addressed(drivers.load(request.param), address), folder, many_writers=True)
    elif request.param == "lance":
        pytest.importorskip("lance", reason="pylance is not installed (the extra `scale`)")
        yield Place(Addressed(drivers.load(request.param), str(folder / "tables")), folder, many_writers=True)
    else:
        yield Place(drivers.load(request.param), folder)


@pytest.fixture
def made(place: Place) -> Iterator[tuple[StoreWriter, Space]]:
    """A store of four documents."""
    writer, space = place.new(4)
    with writer:
        yield writer, space


@pytest.fixture(scope="module")
def kept(place: Place) -> Iterator[tuple[StoreWriter, Space]]:
    """A store of four documents for all tests that leave it as it is."""
    writer, space = place.new(4)
    with writer:
        yield writer, space


def contents(reader: StoreReader) -> dict[str, list[str]]:
    """{document: its passages in order}, read the way a search reads them."""
    return {uri: [one.text for one in reader.passages(reader.passage_ids([uri]))] for uri in reader.document_ids(None)}


def silent(_: Progress) -> None:
    """A progress callback that does nothing."""


def by_key(reader: StoreReader) -> dict[tuple[str, str], Source]:
    return {each.key: each for each in reader.sources()}


def all_ids(reader: StoreReader) -> list[int]:
    return [key for uri in reader.document_ids(None) for key in reader.passage_ids([uri]).tolist()]


def matrix(reader: StoreReader, space: int) -> tuple[np.ndarray, np.ndarray]:
    parts = list(reader.vectors(space))
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([rows for _, rows in parts])


# ---- documents

texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=30)
atoms = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    atoms | texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)
marks = st.builds(Mark, st.integers(0, 30), st.none() | st.integers(1, 9), st.none() | texts)
documents = st.builds(
    Document,
    st.sampled_from(["a", "ä/日本.md", "nul\0", " "]) | texts.filter(bool),
    texts,
    st.dictionaries(texts, values, max_size=3),
    st.none() | texts,
    st.lists(marks, max_size=3).map(lambda drawn: tuple(sorted(drawn, key=lambda mark: mark.start))),
    st.booleans(),
)


@pytest.fixture(scope="module")
def shared(place: Place) -> Iterator[tuple[StoreWriter, Space]]:
    """One store for many random examples."""
    writer, space = place.new()
    with writer:
        yield writer, space


@given(documents)
def test_a_document_comes_back_exactly(shared: tuple[StoreWriter, Space], document: Document) -> None:
    writer, space = shared
    middle = len(document.text) // 2
    parts = [Passage(0, middle, document.text[:middle], None, 1)] if middle else []
    parts.append(Passage(middle, len(document.text), document.text[middle:], 3, 2, "heading"))
    writer.replace([Entry(document, None, parts, vectors_of([part.text for part in parts]))], space.id)
    assert full_document(writer.reader, document.id) == document
    found = writer.reader.passages(writer.reader.passage_ids([document.id]))
    assert [Passage(*(getattr(one, each.name) for each in fields(Passage))) for one in found] == parts
    for stored in found:
        assert (stored.document, stored.title, stored.metadata) == (document.id, document.title, document.metadata)
    stamp = rows(writer.reader, [document.id, "unknown"])
    assert [(each.sha256, each.meta_sha256) for each in stamp.values()] == [
        (text_hash(document.text), meta_hash(document.title, document.metadata))
    ]


def test_documents_are_listed_by_exactly_their_ids(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    odd = ("x", "x\0y", "x'\"", "x\ny")
    writer.replace([entry(uri, f"Text {number}") for number, uri in enumerate(odd)], space.id)
    for uri in odd:
        asked = [uri, "x\0", "unknown"]
        assert [each.uri for each in writer.reader.document_rows(asked)] == [uri]
        assert writer.reader.document_ids(None, ids=asked) == [uri]
        assert [each.id for each in writer.reader.full_documents(asked)] == [uri]


def test_an_unknown_document_is_none(kept: tuple[StoreWriter, Space]) -> None:
    reader = kept[0].reader
    assert full_document(reader, "unknown") is None
    assert len(reader.passage_ids(["unknown"])) == 0
    assert rows(reader, ["unknown"]) == {}
    assert list(reader.document_rows(["unknown"])) == [] == list(reader.sources(ids=[99]))


def test_documents_are_read_in_the_order_of_their_ids_and_counted_by_a_filter(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    reader = writer.reader
    writer.replace([entry("new", "New text. More of it", metadata={"year": 2024})], space.id)
    assert [each.id for each in reader.full_documents(["new", "unknown", "d0"])] == ["new", "d0"]
    assert reader.full_documents(["new"]) == [Document("new", "New text. More of it", {"year": 2024})]
    assert reader.document_ids(None, after="d1", limit=2) == ["d2", "d3"]
    recent = Compare(Field(("year",)), ">", 2000)
    assert reader.document_ids(recent, ids=["d1", "new"]) == ["new"] == reader.document_ids(recent)
    assert reader.document_ids(recent, ids=["d1"]) == []
    assert (reader.count_documents(None), reader.count_documents(recent)) == (5, 1)
    assert reader.count_documents(Not(Exists(Field(("page",), builtin=True)))) == 5
    with pytest.raises(UnknownName):
        reader.count_documents(Compare(Field(("yaer",)), ">", 2000))


def test_replace_is_an_upsert_and_writing_twice_changes_nothing(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    writer.replace([entry("d1", "Other words. And more. And yet more")], space.id)
    once, numbers = contents(writer.reader), counts(writer.reader)
    assert once["d1"] == ["Other words", "And more", "And yet more"]
    writer.replace([entry("d1", "Other words. And more. And yet more")], space.id)
    assert (contents(writer.reader), counts(writer.reader)) == (once, numbers)
    assert numbers == {"documents": 4, "passages": 9, "vectors": {space.id: 9}}


def test_of_two_entries_with_one_id_the_last_counts(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    writer.replace([entry("d1", "First"), entry("d1", "Second")], space.id)
    assert contents(writer.reader)["d1"] == ["Second"]


def test_a_passage_id_is_never_used_for_another_text(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    known: dict[int, str] = {}
    for text in ("One. Two", "Two. One", "One. Two. Three", "Three"):
        writer.replace([entry("d1", text), entry(text, "One")], space.id)
        for one in writer.reader.passages(all_ids(writer.reader)):
            assert known.setdefault(one.id, one.text) == one.text
        writer.delete(["d1", text])


def test_ids_ascend_and_are_never_used_twice(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    seen = set(all_ids(writer.reader))
    for change in range(3):
        writer.replace([entry("d1", f"Version {change}. More of it")], space.id)
        now = set(writer.reader.passage_ids(["d1"]).tolist())
        assert not now & seen
        seen |= now
        writer.delete(["d1"])
    with pytest.raises(ZeroDivisionError), writer.transaction():
        writer.replace([entry("d1", "Gone again")], space.id)
        raise ZeroDivisionError
    writer.replace([entry("d1", "Here")], space.id)
    assert min(writer.reader.passage_ids(["d1"]).tolist()) > max(seen)


def test_metadata_whose_keys_are_numbers_come_back_as_json_has_them(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    writer.replace([entry("a", "x", metadata={10: "b", 2: "a", "1": {3: None}})], space.id)
    stored = full_document(writer.reader, "a")
    assert stored and stored.metadata == {"10": "b", "2": "a", "1": {"3": None}}
    assert rows(writer.reader, ["a"])["a"].meta_sha256 == meta_hash(None, {10: "b", 2: "a", "1": {3: None}})
    assert writer.reader.verify(silent) == []


def test_what_follows_a_nul_is_found_by_word(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    writer.replace([entry("nul", "before\0after diesel"), entry("cjk", "前\0日本語の文章")], space.id)
    found = writer.reader.passages(writer.reader.lexical("diesel", 9).ids)
    assert [(one.document, one.text) for one in found] == [("nul", "before\0after diesel")]
    writer.delete(["nul", "cjk"])
    assert writer.reader.verify(silent) == []


HALF = "half \ud800 pair"


def test_names_that_are_not_unicode_are_unknown_and_cannot_be_written(kept: tuple[StoreWriter, Space]) -> None:
    writer, _ = kept
    assert (rows(writer.reader, [HALF]), writer.reader.full_documents([HALF])) == ({}, [])
    with pytest.raises(Unreadable):
        writer.put_sources([source(HALF)])
    with pytest.raises(Unreadable):
        writer.revise("d0", metadata={}, title=HALF)


def unreadable(document: Document) -> tuple[Entry, type[Exception]]:
    return Entry(document, None, [], vectors_of([])), Unreadable


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        unreadable(Document("bad", HALF)),
        unreadable(Document(HALF, "Text")),
        unreadable(Document("bad", "Text", title=HALF)),
        unreadable(Document("bad", "Text", {"key": [HALF]})),
        unreadable(Document("bad", "Text", {HALF: 1})),
        unreadable(Document("bad", "Text", marks=(Mark(0, heading=HALF),))),
        unreadable(Document("bad", "Text", {"x": float("nan")})),
        unreadable(Document("bad", "Text", {"when": object()})),
        unreadable(Document("", "No id")),
        (replace(entry("bad", "Text"), vectors=np.full((1, DIM), np.nan, np.float32)), SemsearchError),
        (replace(entry("bad", "Text"), passages=[Passage(-4, 4, "Text")]), SemsearchError),
        (replace(entry("bad", "Text"), passages=[Passage(0, 9, "Text")]), SemsearchError),
        (replace(entry("bad", "Two. Passages"), vectors=vectors_of(["one"])), SemsearchError),
        (replace(entry("bad", "Wide"), vectors=vectors_of(["Wide"], DIM + 1)), SemsearchError),
        (replace(entry("bad", "Text"), passages=[Passage(0, 4, "Else")]), SemsearchError),
        (replace(entry("bad", "Text"), source=99), NotFound),
    ],
)
def test_an_entry_that_cannot_be_stored_leaves_the_store_as_it_was(
    kept: tuple[StoreWriter, Space], bad: Entry, error: type[Exception]
) -> None:
    writer, space = kept
    before = contents(writer.reader), version(writer.reader)
    with pytest.raises(error):
        writer.replace([entry("good", "Good text"), bad], space.id)
    assert (contents(writer.reader), version(writer.reader)) == before


def test_delete_counts_the_documents_that_were_there(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    gone = writer.reader.passage_ids(["d2"])
    assert writer.delete(["d2", "unknown", "d0"]) == 2
    assert writer.delete(["d2"]) == 0
    assert sorted(contents(writer.reader)) == ["d1", "d3"]
    assert writer.reader.passages(gone) == [] and writer.reader.owners(gone.tolist()) == {}
    assert not set(gone.tolist()) & set(writer.reader.passage_ids(space=space.id).tolist())


def test_rename_leaves_passages_and_vectors_alone(made: tuple[StoreWriter, Space]) -> None:
    writer, _ = made
    ids = writer.reader.passage_ids(["d1"])
    writer.revise("d1", new_uri="new")
    writer.revise("new", new_uri="new")
    assert writer.reader.passage_ids(["new"]).tolist() == ids.tolist()
    assert {one.document for one in writer.reader.passages(ids)} == {"new"}
    assert full_document(writer.reader, "d1") is None
    with pytest.raises(NotFound):
        writer.revise("d1", new_uri="other")
    with pytest.raises(UsageError):
        writer.revise("new", new_uri="d2")


def test_refresh_changes_metadata_and_title_only(made: tuple[StoreWriter, Space]) -> None:
    writer, _ = made
    before, ids = full_document(writer.reader, "d1"), writer.reader.passage_ids(["d1"])
    assert before is not None
    writer.revise("d1", metadata={"year": 2024}, title="Title")
    assert full_document(writer.reader, "d1") == replace(before, metadata={"year": 2024}, title="Title")
    assert writer.reader.passage_ids(["d1"]).tolist() == ids.tolist()
    assert rows(writer.reader, ["d1"])["d1"].meta_sha256 == meta_hash("Title", {"year": 2024})
    with pytest.raises(NotFound):
        writer.revise("unknown", metadata={}, title=None)
    with pytest.raises(Unreadable):
        writer.revise("d1", metadata={"x": float("inf")}, title=None)


def test_documents_are_listed_by_id_in_pieces(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    key = writer.put_sources([source("deep/b.md", mtime_ns=7)])[0]
    writer.replace([entry("a-file", "Text of a file", source=key, metadata={"k": [1]}, title="T")], space.id)
    listed = [row.listed() for row in writer.reader.document_rows()]
    assert [each["id"] for each in listed] == ["a-file", "d0", "d1", "d2", "d3"]
    assert listed[0] == {
        "id": "a-file", "title": "T", "passages": 1, "size": 14, "mtime": 7, "loader": "text", "metadata": {"k": [1]},
        "root": "/notes", "path": "deep/b.md"
    }  # fmt: skip
    assert {each["mtime"] for each in listed[1:]} == {None}
    assert [row.uri for row in writer.reader.document_rows(["d3", "d1", "unknown"])] == ["d3", "d1"]
    assert writer.reader.document_ids(PathGlob("deep/")) == ["a-file"]
    assert titles(writer.reader) == [("a-file", "T"), *((f"d{n}", None) for n in range(4))]


# ---- sources


def test_a_source_has_one_id_and_its_documents(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    reader = writer.reader
    key = writer.put_sources([source("a.md", mtime_ns=5)])[0]
    assert writer.put_sources([source("a.md", mtime_ns=6)])[0] == key
    other = writer.put_sources([source("b.md")])[0]
    assert other != key
    writer.replace([entry("z", "Zed", source=key), entry("y", "Why", source=key)], space.id)
    assert by_key(reader) == {
        ("/notes", "a.md"): replace(source("a.md", mtime_ns=6), id=key),
        ("/notes", "b.md"): replace(source("b.md"), id=other),
    }
    third, *others = writer.put_sources([source("c.md"), source("b.md"), source("a.md", mtime_ns=6)])
    assert others == [other, key] and third not in others and writer.put_sources([]) == []
    assert list(reader.sources(keys=[("/notes", "c.md")])) == [replace(source("c.md"), id=third)]
    assert writer.delete(sources=[third]) == 0
    asked = [("/notes", "b.md"), ("/notes", "none"), ("/other", "b.md"), ("/notes", "a.md")]
    found = {each.id: each for each in reader.sources(keys=asked)}
    assert found == {other: replace(source("b.md"), id=other), key: replace(source("a.md", mtime_ns=6), id=key)}
    assert {each.id: each.documents for each in reader.sources()} == {key: 2, other: 0}
    assert [each.id for each in reader.sources(ids=[key, 9999])] == [key] and list(reader.sources(ids=[])) == []
    stored = rows(reader, ["y", "z", "d0", "unknown"])
    assert list(reader.document_rows(source=key)) == [stored["z"], stored["y"]]
    assert list(reader.document_rows(source=other)) == []
    assert {uri: row.source for uri, row in stored.items()} == {"y": key, "z": key, "d0": None}
    assert (stored["z"].root, stored["z"].path, stored["z"].mtime) == ("/notes", "a.md", 6)
    assert (stored["d0"].root, stored["d0"].path, stored["d0"].mtime) == (None, None, None)


def test_documents_have_ascending_numbers_and_those_stored_again_have_new_ones(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    numbers = {stamp.uri: stamp.number for stamp in rows(writer.reader, ["d0", "d1", "d2", "d3"]).values()}
    assert sorted(numbers.values()) == [numbers[f"d{n}"] for n in range(4)]
    highest = writer.reader.state().newest
    assert highest == numbers["d3"]
    writer.replace([entry("d1", "Again")], space.id)
    writer.revise("d0", new_uri="moved")
    assert rows(writer.reader, ["d1"])["d1"].number > highest
    assert rows(writer.reader, ["moved"])["moved"].number == numbers["d0"]


def test_a_source_moves_with_its_documents_and_drops_with_them(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    key, other = writer.put_sources([source("a.md")])[0], writer.put_sources([source("b.md")])[0]
    writer.replace([entry("z", "Zed", source=key)], space.id)
    writer.put_sources([replace(source("c.md", mtime_ns=9), id=key)])
    assert list(writer.reader.sources(ids=[key])) == [replace(source("c.md", mtime_ns=9), id=key)]
    (passage,) = writer.reader.passages(writer.reader.passage_ids(["z"]))
    assert (passage.root, passage.path) == ("/notes", "c.md")
    with pytest.raises(UsageError):
        writer.put_sources([replace(source("b.md"), id=key)])
    with pytest.raises(NotFound):
        writer.put_sources([replace(source("d.md"), id=9999)])
    assert writer.delete(sources=[key, other, 9999]) == 1
    assert by_key(writer.reader) == {} and full_document(writer.reader, "z") is None
    assert writer.reader.state().documents == 4


def test_a_bookmark_stays_until_its_source_is_recorded_without_it(made: tuple[StoreWriter, Space]) -> None:
    writer, _ = made
    mark = Bookmark(70_000, 12, 11, "ab", "cd", (("a.jsonl:3", "not JSON: 'x'"),))
    key = writer.put_sources([replace(source("a.jsonl"), bookmark=mark)])[0]
    other = writer.put_sources([source("b.jsonl")])[0]
    assert {each.id: each.bookmark for each in writer.reader.sources()} == {key: mark, other: None}
    further = replace(mark, at=80_000, number=15)
    writer.put_sources([replace(source("a.jsonl", mtime_ns=8), bookmark=further)])[0]
    writer.put_sources([replace(replace(source("c.jsonl"), bookmark=further), id=key)])
    assert by_key(writer.reader)["/notes", "c.jsonl"].bookmark == further
    writer.put_sources([source("c.jsonl")])[0]
    assert by_key(writer.reader)["/notes", "c.jsonl"].bookmark is None
    writer.put_sources([replace(source("c.jsonl"), bookmark=mark)])[0]
    writer.delete(sources=[key])
    writer.put_sources([source("c.jsonl")])[0]
    assert by_key(writer.reader)["/notes", "c.jsonl"].bookmark is None
    assert writer.reader.verify(lambda _: None) == []


# ---- transactions and snapshots


def test_a_transaction_is_written_whole_or_not_at_all(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    before = contents(writer.reader)
    with pytest.raises(ZeroDivisionError), writer.transaction():
        writer.delete(["d0"])
        writer.put_sources([source()])[0]
        writer.change_recipe(lambda _: {"x": 1})
        writer.record_run({"n": 1})
        writer.replace([entry("new", "New text")], space.id)
        assert sorted(contents(writer.reader)) == ["d1", "d2", "d3", "new"]
        raise ZeroDivisionError
    assert contents(writer.reader) == before
    assert (by_key(writer.reader), writer.reader.state().recipe, list(writer.reader.runs())) == ({}, {}, [])
    assert counts(writer.reader) == {"documents": 4, "passages": 8, "vectors": {space.id: 8}}


def test_an_inner_transaction_that_fails_is_undone_alone(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    with writer.transaction():
        writer.delete(["d0"])
        with pytest.raises(ZeroDivisionError), writer.transaction():
            writer.delete(["d1", "d2"])
            raise ZeroDivisionError
        with writer.transaction():
            writer.replace([entry("new", "New text")], space.id)
    assert sorted(contents(writer.reader)) == ["d1", "d2", "d3", "new"]


def test_every_commit_raises_the_version_once(place: Place, made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    with place.driver.open_reader(writer.reader.location) as reader:
        before = version(reader)
        with writer.transaction():
            writer.delete(["d0"])
            writer.replace([entry("new", "New text")], space.id)
            assert version(reader) == before
        assert version(reader) == before + 1 == version(writer.reader)
        writer.revise("new", new_uri="newer")
        assert version(reader) == before + 2


def test_a_snapshot_is_of_one_moment(place: Place, made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    query = vectors_of(["New text"])
    with place.driver.open_reader(writer.reader.location) as reader:
        with reader.snapshot():
            before = contents(reader), version(reader), counts(reader)
            writer.replace([entry("new", "New text")], space.id)
            writer.delete(["d0"])
            with reader.snapshot():
                assert (contents(reader), version(reader), counts(reader)) == before
            assert (contents(reader), version(reader), counts(reader)) == before
            assert len(reader.lexical("New", 5).ids) == 0
            assert reader.dense(space.id, query, 1).cosines[0, 0] < 0.99
        assert sorted(contents(reader)) == ["d1", "d2", "d3", "new"]
        assert reader.dense(space.id, query, 1).cosines[0, 0] > 0.99
        assert len(reader.lexical("New", 5).ids) == 1


# ---- opening and closing


def test_one_writer_at_a_time_and_readers_beside_it(place: Place, made: tuple[StoreWriter, Space]) -> None:
    writer, _ = made
    location = writer.reader.location
    if place.many_writers:
        with place.driver.open_writer(location) as other:
            assert (other.delete(["d1"]), writer.delete(["d1", "d2"])) == (1, 1)
            assert counts(writer.reader) == counts(other.reader)
        return
    with pytest.raises(Locked):
        place.driver.open_writer(location)
    with pytest.raises(Locked):
        place.driver.rename(location, location.with_name("renamed"))
    with pytest.raises(Locked):
        place.driver.remove(location)
    writer.close()
    with place.driver.open_writer(location) as again, place.driver.open_reader(location) as reader:
        again.delete(["d0"])
        assert reader.state().documents == 3


def test_many_writers_store_their_documents_and_those_they_share_once(
    place: Place, made: tuple[StoreWriter, Space]
) -> None:
    if not place.many_writers:
        pytest.skip("a store of one writer at a time")
    writer, space = made
    failed: list[BaseException] = []

    def write(number: int) -> None:
        try:
            with place.driver.open_writer(writer.reader.location) as own:
                for step in range(4):
                    shared = [entry(f"shared{n}", f"Shared text {n}. By all", metadata={"n": n}) for n in range(4)]
                    mine = [entry(f"own{number}-{step}-{n}", f"Own text {n}. Of {number}") for n in range(3)]
                    with own.transaction():
                        assert own.put_sources([source("shared.md")])
                        own.replace([*shared[:: -1 if number % 2 else 1], *mine], space.id)
                    own.delete([f"own{number}-{step}-2"])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert failed == []
    reader, documents = writer.reader, 4 + 4 + 3 * 4 * 2  # those of `made`, the shared ones, and two of each step
    assert counts(reader) == {"documents": documents, "passages": 2 * documents, "vectors": {space.id: 2 * documents}}
    assert len(list(reader.sources())) == 1
    assert reader.verify(silent) == []
    for uri in reader.document_ids(None):
        first, second = reader.passage_ids([uri]).tolist()
        assert second == first + 1


def test_what_is_closed_says_so(place: Place, made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    reader = place.driver.open_reader(writer.reader.location)
    assert (reader.name, reader.location) == (writer.reader.location.name, writer.reader.location)
    reader.close()
    writer.close()
    calls: list[Callable[[], object]] = [
        reader.state, lambda: version(reader), reader.info, lambda: titles(reader),
        lambda: reader.allowed(Exists(Field(("x",)))),
        lambda: reader.lexical("engine", 3), lambda: reader.dense(space.id, vectors_of(["x"]), 3), writer.reader.state,
        lambda: writer.delete(["d0"]), lambda: writer.replace([entry("x", "X")], space.id),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(SemsearchError, match="is closed") as caught:
            call()
        assert "database" not in str(caught.value) and "SQL" not in str(caught.value)


def test_a_store_is_created_filled_renamed_and_removed(place: Place) -> None:
    here, there = place.folder / "home" / "here", place.folder / "home" / "there"
    with pytest.raises(NotFound):
        place.driver.open_reader(here)
    with pytest.raises(ZeroDivisionError):
        place.driver.create(here, lambda writer: _fail())
    assert not place.driver.exists(here)
    place.driver.create(here, lambda writer: writer.change_recipe(lambda _: {"x": [1]})).close()
    assert place.driver.exists(here) and place.driver.names(here.parent) == ["here"]
    with pytest.raises(UsageError):
        place.driver.create(here)
    place.driver.rename(here, there)
    assert place.driver.names(here.parent) == ["there"]
    with place.driver.open_reader(there) as reader:
        assert (reader.name, reader.state().recipe) == ("there", {"x": [1]})
    assert place.driver.remove(there) == []
    assert not place.driver.exists(there)
    for call in (place.driver.remove, place.driver.open_writer, lambda gone: place.driver.rename(gone, here)):
        with pytest.raises(NotFound):
            call(there)
    assert place.driver.check_installation()


def _fail() -> None:
    raise ZeroDivisionError


def test_a_dump_restores_everything(place: Place, made: tuple[StoreWriter, Space], tmp_path: Path) -> None:
    writer, space = made
    key = writer.put_sources([source()])[0]
    writer.replace([entry("file", "Text of a file", source=key, metadata={"k": "v"})], space.id)
    writer.change_recipe(lambda _: {"splitter": {"size": 3}})
    writer.put_space(replace(space, null_distribution=measured_null(9)))
    writer.delete(["d1"])
    target = place.folder / "restored"
    with place.driver.open_reader(writer.reader.location) as reader:
        place.driver.dump(reader, tmp_path / "dump", silent)
        place.driver.restore(tmp_path / "dump", target, None, silent)
        with place.driver.open_reader(target) as copy:
            assert contents(copy) == contents(reader) and all_ids(copy) == all_ids(reader)
            assert (copy.state().recipe, copy.state().spaces, by_key(copy)) == (
                reader.state().recipe,
                reader.state().spaces,
                by_key(reader),
            )
            for ours, theirs in zip(matrix(copy, space.id), matrix(reader, space.id), strict=True):
                assert np.array_equal(ours, theirs)
    with pytest.raises(UsageError):
        place.driver.restore(tmp_path / "dump", target, None, silent)
    with pytest.raises(NotFound):
        place.driver.restore(tmp_path / "none", place.folder / "other", None, silent)
    (tmp_path / "dump").write_bytes(b"{ no dump")
    with pytest.raises(Corrupt):
        place.driver.restore(tmp_path / "dump", place.folder / "other", None, silent)
    place.driver.remove(target)


# ---- dense search


@given(data=st.data())
def test_dense_search_is_what_comparing_with_every_vector_gives(big: tuple[StoreWriter, Space], data: Any) -> None:
    writer, space = big
    reader = writer.reader
    ids, rows = matrix(reader, space.id)
    k = data.draw(st.integers(1, 50), label="k")
    queries = vectors_of(data.draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3)))
    years = data.draw(st.none() | st.integers(-1, 12), label="below")
    allowed = None if years is None else reader.allowed(Compare(Field(("year",)), "<", years))
    here = np.full(len(ids), True) if years is None else np.isin(ids, _of_years(reader, years))
    assert allowed is None or len(allowed) == here.sum()
    found = reader.dense(space.id, queries, k, allowed, exact=data.draw(st.booleans()))
    assert found.ids.shape == found.cosines.shape == (len(queries), k)
    for at, cosines in enumerate(queries @ rows.T):
        known = dict(zip(ids[here].tolist(), cosines[here].tolist(), strict=True))
        best = sorted(known.values(), reverse=True)[:k]
        count = len(best)
        assert found.cosines[at, :count].tolist() == pytest.approx(best, abs=1e-5)
        assert [known[key] for key in found.ids[at, :count].tolist()] == pytest.approx(best, abs=1e-5)
        assert len(set(found.ids[at, :count].tolist())) == count
        assert (found.ids[at, count:] == -1).all() and np.isneginf(found.cosines[at, count:]).all()


@pytest.fixture(scope="module")
def big(place: Place) -> Iterator[tuple[StoreWriter, Space]]:
    """A store of 12 documents with a year and three passages each."""
    writer, space = place.new()
    writer.replace([entry(f"d{n}", f"A {n}. B {n}. C {n}", metadata={"year": n}) for n in range(12)], space.id)
    with writer:
        yield writer, space


def _of_years(reader: StoreReader, below: int) -> list[int]:
    return [key for n in range(12) if n < below for key in reader.passage_ids([f"d{n}"]).tolist()]


def test_dense_search_refuses_the_wrong_width_and_the_filter_of_another_store(
    kept: tuple[StoreWriter, Space],
) -> None:
    writer, space = kept

    class Foreign:
        def __len__(self) -> int:
            return 1

    with pytest.raises(SemsearchError):
        writer.reader.dense(space.id, vectors_of(["x"], DIM + 1), 3)
    with pytest.raises(UsageError):
        writer.reader.dense(space.id, vectors_of(["x"]), 3, Foreign())
    with pytest.raises(UsageError):
        writer.reader.lexical("engine", 3, Foreign())


def test_vectors_come_by_id_in_pieces(kept: tuple[StoreWriter, Space]) -> None:
    writer, space = kept
    reader = writer.reader
    ids, rows = matrix(reader, space.id)
    assert ids.tolist() == sorted(all_ids(reader)) == reader.passage_ids(space=space.id).tolist()
    assert rows.dtype == np.float32 and np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-3)
    assert rows == pytest.approx(vectors_of([one.text for one in reader.passages(ids)]), abs=1e-3)
    pieces = list(reader.vectors(space.id, chunk=3))
    assert [len(piece) for piece, _ in pieces] == [3, 3, 2]
    assert np.array_equal(np.concatenate([part for _, part in pieces]), rows)
    assert (
        np.concatenate([piece for piece, _ in reader.vectors(space.id, after=int(ids[4]))]).tolist() == ids[5:].tolist()
    )
    some = np.array([ids[6], ids[2], 9999], dtype=np.int64)
    assert np.concatenate([piece for piece, _ in reader.vectors(space.id, ids=some)]).tolist() == [ids[2], ids[6]]
    assert list(reader.vectors(space.id, ids=some, after=int(ids[6]))) == []
    with pytest.raises(NotFound):
        list(reader.vectors(999))


# ---- filters


@pytest.fixture(scope="module")
def drawn(place: Place) -> Iterator[tuple[StoreReader, dict[str, dict[str, Any]]]]:
    """Sixty documents of random metadata."""
    metadata = random_metadata(60)
    writer, space = place.new()
    writer.replace([entry(name, "text", metadata=meta) for name, meta in metadata.items()], space.id)
    with writer:
        yield writer.reader, metadata


@given(trees)
def test_a_filter_lets_through_what_its_meaning_says(
    drawn: tuple[StoreReader, dict[str, dict[str, Any]]], tree: Filter
) -> None:
    reader, metadata = drawn
    expected = sorted(name for name, meta in metadata.items() if holds(tree, Row(meta)))
    assert reader.document_ids(tree) == expected
    for after, limit in (("", 1), ("d1", 2), ("d0", -1)):
        rest = [uri for uri in expected if uri > after]
        assert reader.document_ids(tree, after=after, limit=limit) == (rest if limit < 0 else rest[:limit])
    allowed = reader.allowed(tree)
    assert allowed is not None and len(allowed) == len(expected)
    found = reader.dense(1, vectors_of(["q"]), 60, allowed)
    passing = [key for key in found.ids[0].tolist() if key >= 0]
    assert sorted(one.document for one in reader.passages(passing)) == expected


@pytest.fixture(scope="module")
def files(place: Place) -> Iterator[StoreWriter]:
    """Files of one day, a document without a file, and pages and headings."""
    writer, space = place.new()
    keys = writer.put_sources([source(path, mtime_ns=DAY_NS + 12 * 3600 * 10**9) for path in ("a.md", "deep/b.txt")])
    dated = entry("deep/b.txt", "Bee. Page two", source=keys[1], metadata={"date": "2023-05-06T10:00"})
    pages = [replace(dated.passages[0], page=1, heading="One"), replace(dated.passages[1], page=2, heading="Two")]
    own = entry("own", "Of its own", metadata={"date": "2024-01-31"})
    writer.replace([entry("a.md", "Ay", source=keys[0], title="Über"), replace(dated, passages=pages), own], space.id)
    with writer:
        yield writer


@pytest.mark.parametrize(
    ("where", "path", "expected"),
    [
        ("date = 2024-01-31", None, ["a.md", "own"]),
        ("date < 2024", None, ["deep/b.txt"]),
        ("date = 2023-05-06T10:00", None, ["deep/b.txt"]),
        ("mtime = 2024-01", None, ["a.md", "deep/b.txt"]),
        ("mtime exists", None, ["a.md", "deep/b.txt"]),
        ("not mtime >= 2024-02", None, ["a.md", "deep/b.txt", "own"]),
        ("mtime > 2024-01-31", None, []),
        ('"date" exists', None, ["deep/b.txt", "own"]),
        ("page = 2", None, ["deep/b.txt"]),
        ("page > 2", None, []),
        ("heading like 't%'", None, ["deep/b.txt"]),
        ("title contains 'BER'", None, ["a.md"]),
        ("title contains 'über'", None, []),
        ("loader = text and size <= 2", None, ["a.md"]),
        ("document in (own, 'a.md')", None, ["a.md", "own"]),
        ("path like '%.txt'", None, ["deep/b.txt"]),
        ("path ~ '*.md'", None, ["a.md"]),
        (None, "deep/", ["deep/b.txt"]),
        (None, "/notes/deep", ["deep/b.txt"]),
        ("date exists", "*.md", ["a.md"]),
    ],
)
def test_builtin_fields_are_those_of_the_file_and_the_passage(
    files: StoreWriter, where: str | None, path: str | None, expected: list[str]
) -> None:
    condition = parse_filter(where, path)
    assert condition is not None
    assert files.reader.document_ids(condition) == expected


PATTERNS = [
    "*.md", "a/*.md", "a/**", "**/b.md", "a/**/c/**/*.md", "[!a]*", "[]a]*", "[!]a]*", "[!-a]?", "[(?>]*", "a*b*c*",
    "/a/b.md", "a", "a/", "?.md", "[a-c].md", "a+b (1).md", "x[", "^.md", "*é*", "**", "/", "a[*+]b*", "&&", "[&&a]*",
    "[~-]*", "\\d",
]  # fmt: skip
NAMES = [
    "a.md", "b.md", "a/b.md", "a/x/c/y/d.md", "a/c/d.md", "]x", "-a", "bx", "(x", ">y", "a1b2c3", "a+b (1).md", "x[",
    "^.md", "né.md", "a*b", "a+bc", "&&", "a", "~x", "\\d", "7", "a\nb.md", "z/a/b.md",
]  # fmt: skip


def test_a_path_pattern_means_the_same_everywhere(place: Place) -> None:
    writer, space = place.new()
    with writer:
        writer.replace([entry(name, "text") for name in NAMES], space.id)
        for pattern in PATTERNS:
            expected = sorted(name for name in NAMES if globs.matches_document(pattern, name, None, None))
            assert writer.reader.document_ids(PathGlob(pattern)) == expected, pattern
            rest = sorted({*NAMES} - {*expected})
            assert writer.reader.document_ids(Not(PathGlob(pattern))) == rest, pattern


def test_a_filter_on_a_page_lets_single_passages_through(files: StoreWriter) -> None:
    allowed = files.reader.allowed(parse_filter("page = 2", None))
    (passage,) = files.reader.passages([int(key) for key in files.reader.lexical("page two bee", 9, allowed).ids])
    assert (passage.text, passage.page) == ("Page two", 2)


def test_an_unknown_key_is_an_error_unless_it_may_be_missing(made: tuple[StoreWriter, Space], place: Place) -> None:
    reader, year = made[0].reader, Field(("yaer",))
    made[0].revise("d0", metadata={"year": 1}, title=None)
    for tree in (Compare(year, "=", 1), Not(Contains(year, "x")), Or((Exists(year), Compare(year, ">", 0)))):
        for call in (reader.allowed, reader.document_ids):
            with pytest.raises(UnknownName, match="year"):
                call(tree)
    assert reader.document_ids(Exists(year)) == []
    assert reader.document_ids(And((Not(Exists(year)), Exists(Field(("year",)))))) == ["d0"]
    empty, _ = place.new()
    with empty:
        assert empty.reader.document_ids(Compare(year, "=", 1)) == []


def test_must_asks_for_every_entry_and_for_words_in_a_row(made: tuple[StoreWriter, Space]) -> None:
    reader = made[0].reader
    assert reader.allowed(None) is None

    def passing(*must: str, tree: Filter | None = None) -> int:
        allowed = reader.allowed(tree, must)
        assert allowed is not None
        return len(allowed)

    assert (passing("engine"), passing("ENGINE", "2"), passing("engine number"), passing("number engine")) == (
        4,
        1,
        4,
        0,
    )
    assert (passing("engine", "bread"), passing("nowhere")) == (0, 0)
    made[0].revise("d0", metadata={"year": 1}, title=None)
    assert passing("engine", tree=Exists(Field(("year",)))) == 1
    with pytest.raises(UsageError):
        reader.allowed(None, ["engine", "…"])


# ---- lexical search


def test_lexical_search_finds_passages_by_any_of_the_words(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    writer.replace([entry("tea", "Green tea with milk. Black tea. Salt water")], space.id)
    found = writer.reader.lexical("tea MILK unicorn", 10)
    texts = [one.text for one in writer.reader.passages(found.ids)]
    assert texts == ["Green tea with milk", "Black tea"]
    assert found.scores == sorted(found.scores, reverse=True) and all(score > 0 for score in found.scores)
    assert len(found.coverage) == 2 and all(0 < share <= 1 for share in found.coverage)
    assert found.coverage[0] > found.coverage[1]
    assert len(writer.reader.lexical("tea milk", 1).ids) == 1
    salty = writer.reader.allowed(None, ["water"])
    (only,) = writer.reader.passages(writer.reader.lexical("salt", 10, salty).ids)
    assert only.text == "Salt water"


@pytest.mark.parametrize("text", ["", "…", "unicorn", '"', "AND OR NOT", "engine*\0"])
def test_odd_queries_find_nothing_or_something_and_never_fail(kept: tuple[StoreWriter, Space], text: str) -> None:
    found = kept[0].reader.lexical(text, 5)
    assert len(found.ids) == len(found.scores) == len(found.coverage)
    assert len(kept[0].reader.lexical(text, 0).ids) == 0


@given(st.text(max_size=30), st.text(max_size=12))
def test_highlights_are_ascending_slices(text: str, query: str) -> None:
    found = spans(text, query)
    flat = [offset for span in found for offset in span]
    assert flat == sorted(flat) and all(0 <= start < end <= len(text) for start, end in found)


def test_highlights_are_the_words_of_the_query() -> None:
    text = "Tea, black TEA; no coffee."
    assert [text[start:end] for start, end in spans(text, "tea coffee")] == ["Tea", "TEA", "coffee"]
    assert spans(text, "unicorn") == ()


FORMS = {
    "ru": "В воскресенье мы читали новую книгу о старых замках на берегу реки.",
    "fi": "Talojen katot korjataan ennen talven tuloa, ja ikkunat pestään keväällä.",
    "de": "Die Katzen der Nachbarn schlafen tagsüber in unserem Garten unter den Bäumen.",
    "es": "Los gatos de los vecinos duermen durante el día en nuestro jardín.",
    "en": "The houses of the village are painted before the winter begins.",
}


@pytest.fixture(scope="module")
def forms(place: Place) -> Iterator[StoreReader]:
    """A store of FORMS."""
    writer, space = place.new()
    writer.replace([entry(name, text) for name, text in FORMS.items()], space.id)
    with writer:
        yield writer.reader


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("где лежат мои книги о замке", "ru"),
        ("milloin talon katto korjattiin ja ikkunat pestiin", "fi"),
        ("wo schläft die Katze unseres Nachbarn", "de"),
        ("dónde duerme el gato de mi vecino", "es"),
    ],
)
def test_other_forms_of_a_word_are_found_and_marked_in_the_language_of_the_query(
    forms: StoreReader, query: str, language: str
) -> None:
    (first,) = forms.passages(forms.lexical(query, 5).ids[:1])
    assert first.document == language
    words = {first.text[start:end] for start, end in spans(first.text, query)}
    assert len(words) > 1 and not words <= set(query.split())


def test_a_query_that_may_be_english_is_searched_for_as_it_is_cut(forms: StoreReader) -> None:
    (first, *_) = forms.passages(forms.lexical("painted village house", 5).ids)
    assert first.document == "en"


FOLDED = {  # a text, and a query that writes its word in another way
    "ligature": ("The ﬁnal ﬂow of the oﬃce.", "office"),
    "Greek": ("Η ΑΘΉΝΑ είναι πρωτεύουσα", "αθηνα"),
    "Arabic": ("الكِتَابُ الجَديدُ", "الكتاب"),
    "kana": ("これはｶﾞﾗｽです", "ガラス"),
    "emoji": ("Well done 👍🏽", "👍"),
    "plain": ("Plain words of an engine.", "engine"),
}


def test_words_are_found_however_they_are_written(place: Place) -> None:
    writer, space = place.new()
    with writer:
        writer.replace([entry(name, text) for name, (text, _) in FOLDED.items()], space.id)
        for name, (_, query) in FOLDED.items():
            assert name in {one.document for one in writer.reader.passages(writer.reader.lexical(query, 9).ids)}
            assert len(writer.reader.allowed(None, [query]) or ()) > 0, name
        assert writer.reader.verify(silent) == []


# ---- facets, recipe, runs, spaces


def test_facets_tell_the_documents_apart(place: Place) -> None:
    writer, space = place.new()
    with writer:
        key = writer.put_sources([source(mtime_ns=DAY_NS)])[0]
        other = writer.put_sources([replace(source("b.pdf", mtime_ns=DAY_NS + 86_400 * 10**9), loader="pdf")])[0]
        rows = [
            {"year": 2020, "lang": "en", "tags": ["x", "y"], "same": "s", "draft": True},
            {"year": 2024, "lang": "de", "tags": ["x"], "same": "s", "draft": False},
        ]
        sources = (key, other)
        writer.replace([entry(f"d{n}", "T", source=sources[n], metadata=meta) for n, meta in enumerate(rows)], space.id)
        found = {each.key: each for each in writer.reader.facets()}
    assert set(found) == {"loader", "date", "year", "lang", "tags", "draft"}
    assert {name for name, each in found.items() if each.builtin} == {"loader", "date"}
    assert (found["year"].kind, found["year"].low, found["year"].high, found["year"].whole) == (
        "number",
        2020,
        2024,
        True,
    )
    assert (found["lang"].kind, found["lang"].values) == ("words", (("de", 1), ("en", 1)))
    assert (found["tags"].kind, found["tags"].values) == ("list", (("x", 2), ("y", 1)))
    assert (found["draft"].kind, found["draft"].documents) == ("flag", 2)
    assert found["date"].low < found["date"].high


def test_texts_come_by_passage_id(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    writer.replace([entry("d0", "Later. Last")], space.id)
    ordered = writer.reader.passages(sorted(all_ids(writer.reader)))
    assert list(base.texts(writer.reader)) == [one.text for one in ordered]
    assert {"Later", "Last"} < {*base.texts(writer.reader)}


def test_passages_come_in_the_order_asked_for(kept: tuple[StoreWriter, Space]) -> None:
    reader = kept[0].reader
    ids = all_ids(reader)[::-1]
    assert [one.id for one in reader.passages([*ids, 9999])] == ids
    owners = reader.owners([*ids, 9999])
    assert sorted(owners) == sorted(ids) and len(set(owners.values())) == 4
    for first in range(len(ids) + 1):
        some = reader.owners(ids, first=first)
        of_the_first = {owners[key] for key in ids[:first]}
        assert {key: owner for key, owner in owners.items() if owner in of_the_first}.items() <= some.items()
        assert some.items() <= owners.items()
    first = reader.passage_ids(["d0"]).tolist()
    assert len({owners[key] for key in first}) == 1


def test_passages_of_furniture_are_told_from_the_others(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    marks = (Mark(0), Mark(10, furniture=True), Mark(23, None, "End"))
    text = "One fine. Two, a link. Three last. Four"
    writer.replace([entry("marked", text, marks=marks)], space.id)
    ids = writer.reader.passage_ids(["marked"]).tolist()
    everything = all_ids(writer.reader)
    assert [one.text for one in writer.reader.passages(ids)] == ["One fine", "Two, a link", "Three last", "Four"]
    owners = writer.reader.owners(ids)
    assert writer.reader.owners([*everything, 9999], furniture=True) == {ids[1]: owners[ids[1]]}
    assert writer.reader.owners(ids[2:], furniture=True) == writer.reader.owners([], furniture=True) == {}
    document = full_document(writer.reader, "marked")
    assert document is not None and document.marks == marks
    writer.replace([entry("marked", text)], space.id)
    assert writer.reader.owners(all_ids(writer.reader), furniture=True) == {}
    writer.delete(["marked"])
    assert writer.reader.verify(silent) == []


def test_a_list_of_pages_with_dotted_leaders_is_furniture(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    contents_page = "1 Pumps ........7\n2 Valves ...........12\n3 Index .........iv"
    writer.replace([entry("toc", contents_page), entry("prose", "He waited ...\nand waited ...\nand left")], space.id)
    last = writer.reader.owners(all_ids(writer.reader), furniture=True)
    assert list(last) == writer.reader.passage_ids(["toc"]).tolist()


def test_a_list_of_links_within_a_note_is_furniture(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    contents = "# Pumps\n\n- [Valves](#valves)\n  - [Of brass](#of-brass)\n1) [Index [A]](#index-a)\n"
    links = "- [Valves](valves.md)\n- [Index](index.md)\n- [Brass](#brass), the most common one\n"
    writer.replace([entry("toc", contents), entry("links", links)], space.id)
    last = writer.reader.owners(all_ids(writer.reader), furniture=True)
    assert list(last) == writer.reader.passage_ids(["toc"]).tolist()


def test_recipe_and_runs_are_recorded(made: tuple[StoreWriter, Space]) -> None:
    writer, _ = made
    writer.change_recipe(lambda _: {"a": 1, "b": {"c": [1, None]}})
    writer.change_recipe(lambda _: {"b": {"c": [2]}})
    assert writer.reader.state().recipe == {"b": {"c": [2]}}
    with writer.transaction():  # a commit each would take seconds on Lance
        for n in range(102):
            writer.record_run({"n": n})
    for n in range(102, 105):
        writer.record_run({"n": n})
    assert [run["n"] for run in writer.reader.runs()] == list(range(104, 4, -1))


def test_a_run_that_has_begun_is_under_way_until_its_report(made: tuple[StoreWriter, Space]) -> None:
    writer, _ = made
    assert not writer.reader.state().updating
    writer.record_run(None)
    writer.record_run(None)
    assert writer.reader.state().updating
    writer.record_run({"added": 1})
    assert not writer.reader.state().updating


def test_a_space_is_known_by_its_fingerprint(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    assert writer.put_space(Space(0, "fingerprint", "stand-in", DIM, {"name": "stand-in"})) == space
    other = writer.put_space(Space(0, "other", "second", 3, {"licence": "MIT"}))
    assert writer.reader.state().spaces == [space, other] and other.id != space.id
    assert other.null_distribution is None
    measured = measured_null(7)
    writer.put_space(replace(other, null_distribution=measured))
    assert writer.reader.state().spaces[1].null_distribution == measured
    assert writer.reader.state().vectors == {space.id: 8, other.id: 0}
    assert len(writer.reader.passage_ids(space=other.id)) == 0


def second_space(writer: StoreWriter) -> Space:
    return writer.put_space(Space(0, "other", "second", 3, {}))


def test_passages_without_a_vector_in_a_space_are_found_by_asking_for_them(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    reader, other = writer.reader, second_space(writer)
    ids = reader.passage_ids(space=space.id)
    assert base.without_vector(reader, space.id).tolist() == []
    assert base.without_vector(reader, other.id).tolist() == ids.tolist()
    writer.put_vectors(other.id, ids[[1, 4]], vectors_of(["a", "b"], 3))
    left = [key for key in ids.tolist() if key not in ids[[1, 4]]]
    assert base.without_vector(reader, other.id).tolist() == left
    assert reader.state().vectors == {space.id: 8, other.id: 2}
    writer.replace([entry("new", "New text")], space.id)
    assert base.without_vector(reader, other.id).tolist() == sorted([*left, *reader.passage_ids(["new"]).tolist()])
    with pytest.raises(NotFound):
        base.without_vector(reader, 99)


def test_vectors_put_twice_are_there_once_and_those_of_deleted_passages_not_at_all(
    made: tuple[StoreWriter, Space],
) -> None:
    writer, space = made
    reader, other = writer.reader, second_space(writer)
    ids, gone = reader.passage_ids(space=space.id), reader.passage_ids(["d1"])
    writer.delete(["d1"])
    writer.put_vectors(other.id, ids, vectors_of(["x"] * len(ids), 3))
    rows = vectors_of([str(key) for key in ids], 3)
    writer.put_vectors(other.id, ids, rows)
    there = ~np.isin(ids, gone)
    found, stored = matrix(reader, other.id)
    assert found.tolist() == ids[there].tolist()
    np.testing.assert_allclose(stored, rows[there], atol=1e-3)
    assert reader.state().vectors == {space.id: 6, other.id: 6}
    writer.put_vectors(other.id, gone, vectors_of(["x", "y"], 3))
    assert reader.state().vectors[other.id] == 6
    for bad in (vectors_of(["x"], 4), np.full((1, 3), np.nan, np.float32)):
        with pytest.raises(SemsearchError):
            writer.put_vectors(other.id, ids[-1:], bad)
    writer.delete(["d0", "d2", "d3"])
    assert reader.state().vectors == {space.id: 0, other.id: 0}


def test_search_finds_vectors_that_older_passages_were_given_later(
    place: Place, made: tuple[StoreWriter, Space]
) -> None:
    """Also an open reader that has searched before, and in spite of a vector index without them."""
    writer, space = made
    other = second_space(writer)
    ids = writer.reader.passage_ids(space=space.id)
    rows = vectors_of([str(key) for key in ids], 3)
    with place.driver.open_reader(writer.reader.location) as reader:
        for step in ([5, 6, 7], [0, 2], [1, 3, 4]):  # the newest first
            writer.put_vectors(other.id, ids[step], rows[step])
            there = reader.passage_ids(space=other.id)
            for _ in range(2):
                found = reader.dense(other.id, rows[step], 1).ids[:, 0]
                assert found.tolist() == ids[step].tolist()
                assert sorted(reader.dense(other.id, rows[:1], 9).ids[0].tolist()) == [*[-1] * (9 - len(there)), *there]
                writer.update_vector_index(other.id, "auto", when="always")


def test_the_current_space_comes_first_and_cannot_be_dropped(place: Place, made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    other = second_space(writer)
    third = writer.put_space(Space(0, "third", "third", 2, {}))
    for chosen, order in ((third, [third, space, other]), (other, [other, space, third])):
        writer.put_space(chosen, current=True)
        assert writer.reader.state().spaces == order
        assert [one["id"] for one in writer.reader.info()["spaces"]] == [one.id for one in order]
        with pytest.raises(UsageError):
            writer.drop_space(chosen.id)
    ids = writer.reader.passage_ids(space=space.id)
    writer.put_vectors(other.id, ids, vectors_of(["x"] * len(ids), 3))
    writer.update_vector_index(space.id, "auto", when="always")
    with place.driver.open_reader(writer.reader.location) as reader:
        reader.dense(space.id, vectors_of(["x"]), 1)
        writer.drop_space(space.id)
        with pytest.raises(NotFound):
            reader.dense(space.id, vectors_of(["x"]), 1)
        assert reader.state().spaces == [other, third]
        assert reader.state().vectors == {other.id: 8, third.id: 0}
    again = writer.put_space(Space(0, "fingerprint", "stand-in", DIM, {}))
    assert again.id not in (space.id, other.id, third.id)
    assert writer.reader.verify(silent) == []
    with pytest.raises(NotFound):
        writer.put_space(space, current=True)
    with pytest.raises(NotFound):
        writer.drop_space(space.id)


def test_a_dump_has_every_space_and_which_is_current(
    place: Place, made: tuple[StoreWriter, Space], tmp_path: Path
) -> None:
    writer, space = made
    other, third = second_space(writer), writer.put_space(Space(0, "third", "third", 3, {}))
    ids = writer.reader.passage_ids(space=space.id)
    writer.put_vectors(other.id, ids, vectors_of(["a"] * len(ids), 3))
    writer.put_vectors(third.id, ids[2:5], vectors_of(["a", "b", "c"], 3))
    writer.put_space(other, current=True)
    place.driver.dump(writer.reader, tmp_path / "dump", silent)
    target = place.folder / f"copy-{tmp_path.name}"
    place.driver.restore(tmp_path / "dump", target, None, silent)
    with place.driver.open_reader(target) as copy:
        assert copy.state().spaces == [other, space, third]
        assert base.without_vector(copy, third.id).tolist() == [*ids[:2], *ids[5:]]
        assert matrix(copy, space.id)[0].tolist() == ids.tolist()


def test_info_has_what_an_index_reports(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    writer.change_recipe(lambda _: {"encoder": "x"})
    info = writer.reader.info()
    assert set(info) >= {"name", "path", "documents", "passages", "vectors", "bytes", "recipe", "spaces", "last_run"}
    assert (info["documents"], info["passages"], info["vectors"], info["last_run"]) == (4, 8, 8, None)
    assert info["recipe"] == {"encoder": "x"}
    (one,) = info["spaces"]
    assert set(one) >= {"encoder", "dim", "vectors", "backend", "why", "cache", "newer_than_cache"}
    assert (one["encoder"]["fingerprint"], one["dim"], one["vectors"]) == (space.fingerprint, DIM, 8)


# ---- is it sound


def test_a_sound_store_has_no_problems_and_progress_may_stop_the_check(kept: tuple[StoreWriter, Space]) -> None:
    seen: list[Progress] = []
    assert kept[0].reader.verify(seen.append) == []
    assert seen

    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept[0].reader.verify(stop)


def test_maintenance_changes_no_answer(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    writer.delete(["d2"])
    queries = vectors_of(["one", "two"])

    def answers() -> list[Any]:
        dense, lexical = writer.reader.dense(space.id, queries, 5), writer.reader.lexical("engine 3", 5)
        return [dense.ids.tolist(), dense.cosines.round(4).tolist(), lexical.ids, contents(writer.reader)]

    before = answers()
    writer.update_vector_index(space.id, "auto")
    writer.update_vector_index(space.id, "auto", when="always")
    writer.compact(silent)
    assert answers() == before
    assert writer.reader.verify(lambda _: None) == []


def test_passages_are_chosen_by_id_as_by_a_filter(kept: tuple[StoreWriter, Space]) -> None:
    writer, space = kept
    everything = writer.reader.passage_ids(space=space.id)
    allowed = writer.reader.allowed(None, ids=everything[:3])
    found = writer.reader.dense(space.id, next(iter(writer.reader.vectors(space.id)))[1][:2], 5, allowed)
    assert len(allowed) == 3
    assert {row[row >= 0].size for row in found.ids} == {3}
    assert set(found.ids[found.ids >= 0].tolist()) == set(everything[:3].tolist())


# ---- an index over any store


FILES = {
    "engines.md": "# Engines\n\nDiesel engines ignite by compression.\n\nPetrol engines need a spark.\n",
    "kitchen/bread.txt": "Bread needs flour, water, salt and time. Sourdough needs more of it.\n",
    "kitchen/tea.txt": "Green tea is steamed. Black tea is oxidised before it dries.\n",
    "music.txt": "A violin has four strings. A guitar mostly has six.\n",
}


ELSEWHERE = """from pathlib import Path
from semsearch.stores import local
from semsearch.stores.local import *

def away(location): return location.parent / "away" / location.name
def names(home): return local.names(home / "away")
def rename(location, target): local.rename(away(location), away(target))
def restore(file, location, *rest, **address): return local.restore(file, away(location), *rest)
def create(location, *fill, **address):
    away(location).parent.mkdir(exist_ok=True)
    return local.create(away(location), *fill)
for name in ("exists", "identity", "open_reader", "open_writer", "remove"):
    globals()[name] = lambda location, name=name: getattr(local, name)(away(location))
"""


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A package of stores called `elsewhere`, as somebody would add one: a folder. It keeps its stores in `away`."""
    (tmp_path / "more" / "elsewhere").mkdir(parents=True)
    (tmp_path / "more" / "elsewhere" / "__init__.py").write_text(ELSEWHERE, encoding="utf-8")
    monkeypatch.setattr(stores, "__path__", [*stores.__path__, str(tmp_path / "more")])
    yield
    sys.modules.pop("semsearch.stores.elsewhere", None)
    vars(stores).pop("elsewhere", None)


@pytest.mark.usefixtures("elsewhere")
def test_a_new_store_is_one_folder(tmp_path: Path) -> None:
    with Index.create("new", encoder="hashing", home=tmp_path, store="elsewhere") as index:
        index.add([Document("a", "Diesel engines ignite by compression.")])
    Index.create("old", encoder="hashing", home=tmp_path).close()
    assert {"local", "elsewhere"} < {*drivers.names()}
    assert admin.names(tmp_path) == ["new", "old"]
    assert not (tmp_path / "new").exists()  # the local store has no part in it
    with Index.open("new", home=tmp_path) as again:
        assert again.search("diesel", k=1)[0].document == "a"
        again.add([Document("b", "Bread needs salt.")])
        admin.dump(again, tmp_path / "dump")
    admin.restore(tmp_path / "dump", "copy", home=tmp_path, store="elsewhere").close()
    for name in ("new", "old"):
        with pytest.raises(UsageError, match="already has an index"):
            Index.create(name, encoder="hashing", home=tmp_path, store="elsewhere")
    with pytest.raises(UnknownName, match=r"elsewhere, lance, local"):
        Index.create("other", encoder="hashing", home=tmp_path, store="paper")
    admin.rename("copy", "renamed", tmp_path)
    assert (admin.remove("new", tmp_path), admin.names(tmp_path)) == ([], ["old", "renamed"])


def test_another_store_at_the_same_place_has_another_identity(place: Place) -> None:
    location = place.folder / "replaced"
    with pytest.raises(NotFound):
        place.driver.identity(location)
    opened = [place.driver.create(location)]
    first = place.driver.identity(location)
    assert place.driver.identity(location) == first
    opened[0].close()
    place.driver.rename(location, place.folder / "away")  # it still exists, so its numbers are in use
    opened.append(place.driver.create(location))
    assert place.driver.identity(location) != first == place.driver.identity(place.folder / "away")
    opened[1].close()
    for name in ("replaced", "away"):
        place.driver.remove(place.folder / name)


def used(driver: StoreDriver, monkeypatch: pytest.MonkeyPatch, home: Path, folder: Path) -> list[object]:
    """Everything that an index says while it is created, filled, searched and emptied."""
    monkeypatch.setattr(drivers, "load", lambda name="local": driver)
    said: list[object] = []

    def note(*queries: Query | str, **fields: Any) -> None:
        for found in index.search(list(queries), **fields):
            said.append(
                (found.query.mode, [(hit.document, hit.text, round(hit.scores.get("cosine", 0), 3)) for hit in found])
            )

    with Index.create("notes", encoder="hashing", home=home, splitter=Splitter(size=20, overlap=0)) as index:
        said.append(index.sync(folder).added)
        report = index.add(
            [Document("own", "Yeast makes bread rise.", {"year": 2024}), Document("b", "Ice.", {"year": 1})]
        )
        said.append((report.added, report.passages, len(index)))
        note("bread and water", "tea", "strings of a guitar", mode="semantic", k=4)
        note("bread", "tea", k=3, where="path ~ kitchen/", mode="semantic")
        note("bread rises", k=5, where="year > 2000", mode="hybrid")
        for mode in ("keyword", "hybrid"):
            said.append(sorted({hit.document for hit in index.search("sourdough oxidised violin", mode=mode, k=4)})[:4])
        said.append([hit.document for hit in index.similar("kitchen/bread.txt", k=2)])
        said.append(
            [
                (each.start, each.end, each.words)
                for each in index.snippets(index.search("violin", mode="semantic", k=1))
            ]
        )
        said += [
            index.get("own"),
            len(index.passages("engines.md")),
            index.matching(words=["kitchen"]),
            index.analysis.states(),
        ]
        said.append({each.key for each in index.analysis.facets()})
        (folder / "music.txt").unlink()
        (folder / "kitchen" / "bread.txt").rename(folder / "bread.txt")
        report = index.sync()
        said.append((report.deleted, report.moved, report.added, report.unchanged))
        said.append([each["id"] for each in index.documents()])
        said.append(index.add_files([("c.txt", io.BytesIO(b"Cold rain."))]).added)
        said.append((index.delete(["own", "unknown"]), len(index), index.analysis.verify()))
        said.append(len(index.analysis.sample_vectors(3).ids))
        said.append({key: index.info()[key] for key in ("name", "documents", "passages", "vectors", "recipe")})
        admin.compact(index)
        admin.rebuild(index, "exact")
        note("tea", mode="semantic", k=2)
        report = index.reembed(HashingEncoder(64), keep_old=True)
        said.append((report.passages, report.encoded, report.kept, index.analysis.verify()))
        note("tea", mode="semantic", k=2)
        with Index.open(index.path, space=index.info()["spaces"][1]["id"]) as kept:
            said.append([hit.document for hit in kept.search("tea", mode="semantic", k=2)])
        report = index.reembed(HashingEncoder())
        said.append((report.present, report.encoded, report.removed))
        said.append([(space["state"], space["vectors"]) for space in index.info()["spaces"]])
        admin.dump(index, home / "dump")
    with Index.create("notes", encoder="hashing", home=home, exist_ok=True) as again:
        said.append(len(again))
    admin.restore(home / "dump", "copy", home=home).close()
    said.append(admin.names(home))
    admin.rename("copy", "other", home)
    said += [admin.names(home), admin.remove("other", home), admin.names(home)]
    return said


def said_over(driver: StoreDriver, root: Path) -> list[object]:
    """What an index over this store says of the same files."""
    folder, home = root / "files", Path(mkdtemp(dir=root))
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "bread.txt").unlink(missing_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        return used(driver, patch, home, folder)


@pytest.fixture(scope="module")
def said_locally(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[object]]:
    """A folder, and what a local index says of the files in it."""
    root = tmp_path_factory.mktemp("any_store")
    return root, said_over(drivers.load("local"), root)


def test_an_index_says_the_same_over_any_store(place: Place, said_locally: tuple[Path, list[object]]) -> None:
    root, said = said_locally
    assert said_over(place.driver, root) == said
