"""What goes wrong beside an index in Milvus: clocks, kills between two steps, machines that sleep or have one name."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.remote_stores import milvus_lite
from helpers.stores import DIM, entry, source

from semsearch.errors import Corrupt, SemsearchError
from semsearch.indexing.seen import SeenDocuments
from semsearch.search.searcher import parse_filter
from semsearch.stores import links
from semsearch.stores.milvus import commit, documents, packing
from semsearch.stores.milvus.commit import Committer
from semsearch.stores.milvus.index_tables import IndexTables, keys_of
from semsearch.stores.milvus.server.calls import Server
from semsearch.stores.milvus.writer import MilvusWriter
from semsearch.stores.records import Space

pytestmark = pytest.mark.scale  # over Milvus Lite

_names = itertools.count()
Made = tuple[MilvusWriter, Space]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with milvus_lite(tmp_path_factory.mktemp("lite")) as driver:
        yield driver


@pytest.fixture
def made(driver: Any, tmp_path: Path) -> Iterator[Made]:
    with driver.create(tmp_path / f"index-{next(_names)}") as writer:
        yield writer, writer.add_space("fingerprint", "stand-in", DIM, {})


class Killed(BaseException):
    """Stands for the end of the process."""


@contextlib.contextmanager
def killed_at(number: int) -> Iterator[None]:
    """The write after so many is not done any more, and the process is gone."""
    left = itertools.count(number, -1)

    def wrapped(original: Callable[..., None]) -> Callable[..., None]:
        def call(self: Server, collection: str, what: list[Any]) -> None:
            if what and next(left) <= 0:
                raise Killed
            original(self, collection, what)

        return call

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
        for name in ("upsert", "delete"):
            patch.setattr(Server, name, wrapped(getattr(Server, name)))
        yield


def problems(writer: MilvusWriter) -> list[str]:
    return writer.reader.verify(lambda _: None)


def texts(writer: MilvusWriter, uri: str) -> list[str]:
    return [one.text for one in writer.reader.passages(writer.reader.passage_ids(uri))]


# ---- numbers of documents


def test_a_run_knows_its_own_documents_where_the_clock_of_another_machine_is_ahead(made: Made) -> None:
    writer, space = made
    ahead = (time.time_ns() // 10**6 + 3_600_000) << 22  # the number that it would give in an hour
    Committer(writer.reader.tables, "another machine").commit(None, ahead)
    seen = SeenDocuments(writer.reader)
    writer.replace([entry("d", "One")], space.id)
    assert not seen.is_left(writer.reader.stamps(["d"])["d"])  # else the run would delete it as one of before
    Committer(writer.reader.tables, "another machine").commit(None, ahead + 10**9)
    seen = SeenDocuments(writer.reader)
    writer.replace([entry("d", "Two")], space.id)
    assert not seen.is_left(writer.reader.stamps(["d"])["d"])


def test_a_document_that_a_killed_run_has_written_is_one_of_before_the_next_run(driver: Any, made: Made) -> None:
    writer, space = made
    with killed_at(4):  # record, passages, vectors, documents
        writer.replace([entry("d", "One")], space.id)
    writer.close()
    with driver.open_writer(writer.reader.location) as again:
        stamp = again.reader.stamps(["d"])["d"]
        assert SeenDocuments(again.reader).is_left(stamp)


# ---- kills


def test_a_deletion_of_many_documents_that_is_cut_off_leaves_nothing(
    driver: Any, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "AT_ONCE", 2)
    monkeypatch.setattr(documents, "AT_ONCE", 2)
    writer, space = made
    number = writer.put_source(source())
    writer.replace([entry(f"d{at}", f"Text {at}. More", source=number) for at in range(7)], space.id)
    with killed_at(2):  # record, documents
        writer.drop_sources([number])
    writer.close()
    with driver.open_writer(writer.reader.location) as again:
        assert again.drop_sources([number]) == 0
        assert again.reader.counts() == {"documents": 0, "passages": 0, "vectors": {space.id: 0}}
        assert problems(again) == []


def test_more_pending_documents_than_a_row_holds_are_all_on_record(made: Made) -> None:
    writer, _ = made
    committer = Committer(writer.reader.tables, "many")
    keys = [f"{at * 2**99 // 3:032x}" for at in range(20_000)]
    committer._put({**committer.record(), "pending": keys})
    assert Committer(writer.reader.tables, "many").record()["pending"] == keys
    again = Committer(writer.reader.tables, "many")
    again._put({**again.record(), "pending": []})
    assert writer.reader.tables.meta.where("kind", ["part"]) == []


@pytest.mark.parametrize("number", range(7))
def test_a_rename_that_is_cut_off_is_taken_back_or_completed(driver: Any, made: Made, number: int) -> None:
    writer, space = made
    writer.replace([entry("old", "One. Two"), entry("other", "One. Two")], space.id)
    with killed_at(number):
        writer.rename("old", "new")
    writer.close()
    with driver.open_writer(writer.reader.location) as again:
        there = sorted(uri for uri, _ in again.reader.titles())
        assert there in (["new", "other"], ["old", "other"])
        assert texts(again, there[0]) == ["One", "Two"] == texts(again, "other")
        assert again.reader.counts()["vectors"] == {space.id: 4} and problems(again) == []


def test_a_writer_that_slept_while_it_wrote_loses_nothing_to_another_that_took_it_to_be_dead(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, space = made
    original, slept = Server.upsert, []

    def sleeping(self: Server, collection: str, what: list[Any]) -> None:
        if collection.endswith("_documents") and not slept:
            slept.append(True)
            now = Server.clock(self)
            monkeypatch.setattr(Server, "clock", lambda _: now + 2 * commit.STALE)
            monkeypatch.setattr(commit.time, "time", lambda: now + 2 * commit.STALE)
            Committer(IndexTables(self, writer.reader.tables.prefix), "other").clear_stale()
        original(self, collection, what)

    monkeypatch.setattr(Server, "upsert", sleeping)
    writer.replace([entry("d", "One. Two")], space.id)
    assert slept and texts(writer, "d") == ["One", "Two"] and problems(writer) == []


def test_two_machines_of_one_name_and_folder_do_not_take_each_other_for_a_killed_run(
    driver: Any, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "localhost")
    writer, _ = made
    home = writer.reader.location.parent
    own = MilvusWriter(writer.reader.location, writer.reader.tables, None)._name
    shutil.move(home, tmp_path.parent / f"moved-{next(_names)}")  # another machine has its own folder in this place
    home.mkdir()
    assert driver.link(writer.reader.location, "")
    assert MilvusWriter(writer.reader.location, writer.reader.tables, None)._name != own


def test_an_upsert_that_arrives_after_the_next_run_has_cleared_is_cleared_at_its_end(driver: Any, made: Made) -> None:
    writer, space = made
    late: list[tuple[str, list[Any]]] = []

    def on_its_way(self: Server, collection: str, what: list[Any]) -> None:
        if collection.endswith("_passages"):
            late.append((collection, what))
            raise Killed
        original(self, collection, what)

    original = Server.upsert
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
        patch.setattr(Server, "upsert", on_its_way)
        writer.replace([entry("d", "One. Two")], space.id)
    writer.close()
    with driver.open_writer(writer.reader.location) as again:
        again.begin_run()
        for collection, what in late:
            again.reader.tables.server.upsert(collection, what)
        assert len(problems(again)) == 2  # its file has changed since, and has other passages
        again.replace([entry("d2", "Three")], space.id)
        assert len(problems(again)) == 2
        again.add_run({})
        assert problems(again) == []
        assert Committer(again.reader.tables, again._name).record()["again"] == []


def test_an_upsert_that_arrives_after_a_call_that_failed_is_cleared_by_the_next_opening(
    driver: Any, made: Made
) -> None:
    writer, space = made
    with killed_at(1):  # record; no passage
        writer.replace([entry("d", "One")], space.id)
    writer.replace([entry("e", "Two")], space.id)  # the same process goes on, and clears
    name = writer.reader.tables.passages.collection
    row = {**writer.reader.tables.passages.get(writer.reader.passage_ids("e").tolist()).popitem()[1]}
    late = {**row, "id": 7, "document": keys_of(["d"])[0], "nothing": [1.0, 0.0]}
    writer.reader.tables.server.upsert(name, [late])
    assert len(problems(writer)) == 1
    writer.close()
    with driver.open_writer(writer.reader.location) as again:
        assert problems(again) == []


# ---- files of many documents


@pytest.mark.parametrize("changed", [{"mtime_ns": 6}, {"path": "moved.md"}])
def test_a_file_of_many_documents_is_written_again_in_small_parts(
    made: Made, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    writer, space = made
    number = writer.put_source(source())
    long = {"text": "x" * packing.LONGEST}  # in a row of its own
    writer.replace([entry(f"d{at}", f"Text {at}. More", source=number, metadata=long) for at in range(9)], space.id)
    monkeypatch.setattr(documents, "AT_ONCE", 2)
    monkeypatch.setattr(documents, "MOST_PASSAGES", 2)
    read, sent = sizes(monkeypatch)
    writer.move_source(number, source(**changed))
    assert max(read["body"], read["data"]) <= 2 and sent["_documents"] == 1 and sent["_passages"] == 2, (read, sent)
    there = writer.reader.documents()
    assert [(one["path"], one["mtime"]) for one in there] == 9 * [(source(**changed).path, source(**changed).mtime_ns)]
    assert problems(writer) == []
    found = writer.reader.allowed(parse_filter(f"path = {source(**changed).path}", None))
    assert found is not None and len(found) == 18


def sizes(patch: pytest.MonkeyPatch) -> tuple[dict[str, int], dict[str, int]]:
    """The most rows with a text that a call reads, by column, and that a call writes, by the end of the collection."""
    read: dict[str, int] = {"body": 0, "data": 0}
    sent: dict[str, int] = {}
    query, upsert = Server.query, Server.upsert

    def reading(self: Server, collection: str, condition: str, columns: Any, *rest: Any, **more: Any) -> Any:
        found = query(self, collection, condition, columns, *rest, **more)
        for name in read.keys() & {*columns} if not collection.endswith("_meta") else ():
            read[name] = max(read[name], len(found))
        return found

    def writing(self: Server, collection: str, what: list[Any]) -> None:
        end = f"_{collection.rpartition('_')[2]}"
        sent[end] = max(sent.get(end, 0), len(what))
        upsert(self, collection, what)

    patch.setattr(Server, "query", reading)
    patch.setattr(Server, "upsert", writing)
    return read, sent


@pytest.mark.parametrize("number", range(0, 24, 3))
def test_moving_a_file_of_many_documents_that_is_cut_off_is_completed_by_the_next_run(
    driver: Any, made: Made, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(documents, "AT_ONCE", 2)
    writer, space = made
    file = writer.put_source(source())
    writer.replace([entry(f"d{at}", f"Text {at}", source=file) for at in range(7)], space.id)
    with killed_at(number):
        writer.put_source(source(mtime_ns=6))
    writer.close()
    with driver.open_writer(writer.reader.location) as again:
        assert problems(again) == [] and again.reader.counts()["documents"] == 7
        again.put_source(source(mtime_ns=6))
        assert {one["mtime"] for one in again.reader.documents()} == {6}
        assert problems(again) == []


# ---- indexes


def test_a_name_is_free_again_after_a_creation_that_failed_at_its_link(
    driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = tmp_path / f"index-{next(_names)}"

    def full(*_: object) -> None:
        raise SemsearchError("the disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(links, "write", full)
        with pytest.raises(SemsearchError, match="the disk is full"):
            driver.create(location)
    assert not driver.link(tmp_path / "other" / location.name, "")
    driver.create(location).close()


def test_a_removal_that_was_cut_off_is_completed_by_the_next(driver: Any, made: Made) -> None:
    writer, _ = made
    tables = writer.reader.tables
    writer.close()
    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
        patch.setattr(Server, "drop", _kill)
        driver.remove(writer.reader.location)
    assert [one for one in tables.server.collections() if one.startswith(tables.prefix)]
    assert driver.remove(writer.reader.location) == []
    assert not [one for one in tables.server.collections() if one.startswith(tables.prefix)]


def _kill(*_: object) -> None:
    raise Killed


def test_a_space_whose_making_was_cut_off_gets_another_collection(made: Made) -> None:
    writer, first = made
    with killed_at(0):
        writer.add_space("second", "second", 4, {})
    second = writer.add_space("third", "third", 8, {})
    assert second.id not in (first.id, first.id + 1)
    writer.replace([entry("d", "One", dim=8)], second.id)
    assert writer.reader.counts()["vectors"] == {first.id: 0, second.id: 1}


def test_the_index_of_a_space_is_the_one_it_was_made_with(driver: Any, made: Made, tmp_path: Path) -> None:
    writer, space = made
    address = links.read(writer.reader.location).address
    there = tmp_path / "there" / writer.reader.name
    assert driver.link(there, f"{address}&index=HNSW")
    with driver.open_reader(there) as reader:
        assert reader.info()["spaces"][0]["backend"] == "milvus FLAT"
        plan = reader.dense(space.id, np.eye(1, DIM, dtype=np.float32), 1).plan
        assert plan["index"] == "FLAT"


def test_a_dump_refuses_a_document_that_is_not_whole(driver: Any, made: Made, tmp_path: Path) -> None:
    writer, space = made
    writer.replace([entry("whole", "One. Two"), entry("half", "Three. Four")], space.id)
    driver.dump(writer.reader, tmp_path / "dump", lambda _: None)
    writer.reader.tables.space(space.id).drop_rows([int(writer.reader.passage_ids("half")[0])])
    with pytest.raises(Corrupt, match="'half' has a passage without"):
        driver.dump(writer.reader, tmp_path / "second", lambda _: None)


def test_metadata_mean_the_same_whether_they_came_with_the_document_or_later(made: Made) -> None:
    writer, space = made
    metadata: Any = {1: "one", "tags": ("a", "b"), "more": {2: 3}}
    writer.replace([entry("first", "One", metadata=metadata), entry("second", "Two")], space.id)
    writer.refresh("second", metadata, None)
    tokens = [
        {token for token in row["tokens"] if "@" not in token}
        for row in writer.reader.tables.documents.get(keys_of(["first", "second"])).values()
    ]
    assert tokens[0] == tokens[1] and "l.tags=s=b" in tokens[0]
