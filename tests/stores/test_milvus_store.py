"""What is special about an index in Milvus: the order of writes, ids out of hashes, several machines, errors."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.remote_stores import Addressed, milvus_lite
from helpers.served import free_port
from helpers.stores import DIM, entry, source, vectors_of

from semsearch.errors import NotFound, SemsearchError, Unreadable, UsageError
from semsearch.stores import milvus
from semsearch.stores.milvus import catalogue, rows
from semsearch.stores.milvus.server import schema
from semsearch.stores.milvus.server.calls import Server
from semsearch.stores.protocol import StoreReader, StoreWriter
from semsearch.stores.records import Space

pytestmark = pytest.mark.scale  # half a minute over Milvus Lite

OLD, NEW = "One old. Two. Three old", "One new. Two. Three new. Four"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with milvus_lite(tmp_path_factory.mktemp("lite")) as driver:
        yield driver


_names = iter(range(10**6))


@pytest.fixture
def made(driver: Any, tmp_path: Path) -> Iterator[tuple[StoreWriter, Space]]:
    writer = driver.create(tmp_path / f"index-{next(_names)}")
    with writer:
        yield writer, writer.add_space("fingerprint", "stand-in", DIM, {})


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def killing(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[str]]:
    """Makes the n-th write from now on the last one; returns the list of writes."""

    def after(number: int) -> list[str]:
        done: list[str] = []

        def wrapped(name: str, original: Callable[..., None]) -> Callable[..., None]:
            def call(self: Server, collection: str, what: list[Any]) -> None:
                if what:
                    done.append(f"{name} {collection.rpartition('_')[2]}")
                    if len(done) > number:
                        raise Killed
                original(self, collection, what)

            return call

        monkeypatch.undo()
        for name in ("upsert", "delete"):
            monkeypatch.setattr(Server, name, wrapped(name, getattr(Server, name)))
        return done

    return after


def texts(reader: StoreReader, uri: str) -> list[str]:
    return [one.text for one in reader.passages(reader.passage_ids(uri))]


def problems(reader: StoreReader) -> list[str]:
    return reader.verify(lambda _: None)


# ---- the order of writes


@pytest.mark.parametrize("before", [True, False], ids=["replaced", "new"])
def test_a_write_that_is_cut_off_anywhere_leaves_whole_documents_and_can_be_repeated(
    driver: Any, made: tuple[StoreWriter, Space], killing: Callable[[int], list[str]], before: bool
) -> None:
    writer, space = made
    location = writer.reader.location
    split = {text: text.split(". ") for text in (OLD, NEW)}
    writes = killing(10**6)
    writer.replace([entry("d", NEW), entry("e", NEW)], space.id)
    assert len(writes) >= 5
    for number in range(len(writes) + 3):
        killing(10**6)
        writer.delete(["d", "e"])
        if before:
            writer.replace([entry("d", OLD), entry("e", OLD)], space.id)
        killing(number)
        with contextlib.suppress(Killed):
            writer.replace([entry("d", NEW), entry("e", NEW)], space.id)
        killing(10**6)
        with driver.open_reader(location) as reader:
            for uri in ("d", "e"):
                assert texts(reader, uri) in ([split[OLD], split[NEW]] if before else [[], split[NEW]])
            found = reader.dense(space.id, vectors_of(["One new"]), 9).ids[0]
            known = {one.text for one in reader.passages(found[found >= 0])}
            assert known <= {*split[OLD], *split[NEW]}
        writer.replace([entry("d", NEW), entry("e", NEW)], space.id)
        with driver.open_reader(location) as reader:
            assert texts(reader, "d") == texts(reader, "e") == split[NEW]
            assert problems(reader) == []
            assert reader.counts() == {"documents": 2, "passages": 8, "vectors": {space.id: 8}}


def test_what_a_killed_run_left_is_told_and_cleared_by_the_next_writer(
    driver: Any, made: tuple[StoreWriter, Space], killing: Callable[[int], list[str]]
) -> None:
    writer, space = made
    killing(2)  # the record of the writer and the passages
    with pytest.raises(Killed):
        writer.replace([entry("d", OLD)], space.id)
    killing(10**6)
    assert any("left over" in problem for problem in problems(writer.reader))
    assert any("interrupted" in problem for problem in problems(writer.reader))
    assert writer.reader.document("d") is None and len(writer.reader.lexical("old", 9).ids) == 0
    writer.close()
    with driver.open_writer(writer.reader.location) as again:
        assert problems(again.reader) == []
        assert again.reader.counts()["passages"] == 0


def test_a_deletion_that_is_cut_off_shows_no_passage_of_the_document(
    driver: Any, made: tuple[StoreWriter, Space], killing: Callable[[int], list[str]]
) -> None:
    writer, space = made
    writer.replace([entry("d", OLD), entry("e", NEW)], space.id)
    ids = writer.reader.passage_ids("d")
    killing(2)
    with pytest.raises(Killed):
        writer.delete(["d"])
    killing(10**6)
    with driver.open_reader(writer.reader.location) as reader:
        assert reader.document("d") is None and reader.passages(ids) == [] and reader.owners(ids.tolist()) == {}
    assert writer.delete(["d"]) == 0
    writer.replace([entry("f", "More")], space.id)  # any write clears what the one before left
    assert problems(writer.reader) == []
    assert writer.reader.counts()["passages"] == 5


# ---- ids


def test_two_passages_with_one_hash_are_both_there(
    made: tuple[StoreWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, space = made
    monkeypatch.setattr(rows, "passage_id", lambda uri, position, passage, salt=0: 7 + salt)
    writer.replace([entry("a", "First. Second")], space.id)
    writer.replace([entry("b", "Third")], space.id)
    assert texts(writer.reader, "a") == ["First", "Second"] and texts(writer.reader, "b") == ["Third"]
    writer.replace([entry("a", "First. Second")], space.id)
    assert sorted(writer.reader.vector_ids(space.id).tolist()) == [7, 8, 9]
    assert problems(writer.reader) == []


def test_ids_follow_from_the_content_on_every_machine(driver: Any, tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        with driver.create(tmp_path / f"index-{next(_names)}") as writer:
            space = writer.add_space("fingerprint", "stand-in", DIM, {})
            writer.replace([entry("a", "First. Second")], space.id)
            found.append(writer.reader.passage_ids("a").tolist())
    assert found[0] == found[1] and len({*found[0]}) == 2


# ---- long texts, many values


def test_a_document_longer_than_a_column_comes_back_and_goes_without_a_trace(made: tuple[StoreWriter, Space]) -> None:
    writer, space = made
    noise = " ".join(str(number) for number in np.random.default_rng(0).integers(0, 10**9, 60_000).tolist())
    writer.replace([entry("long", noise, metadata={"note": noise[:200_000], "year": 3})], space.id)
    document = writer.reader.document("long")
    assert document is not None and document.text == noise and document.metadata["note"] == noise[:200_000]
    assert texts(writer.reader, "long") == [noise]
    writer.refresh("long", {"year": 4}, None)
    assert problems(writer.reader) == []
    writer.delete(["long"])
    assert writer.reader.tables.meta.where("kind", ["part"]) == []  # type: ignore[attr-defined]


# ---- several machines


def test_machines_share_documents_and_keep_their_files_apart(
    driver: Any, made: tuple[StoreWriter, Space], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, space = made
    location = first.reader.location
    monkeypatch.setenv("SEMSEARCH_MACHINE", "one")
    own = first.put_source(source("a.md"))
    first.replace([entry("a.md", "Of the first", source=own)], space.id)
    first.set_recipe({"x": 1, "roots": [{"path": "/notes"}], "bases": {"/notes": ""}})
    monkeypatch.setenv("SEMSEARCH_MACHINE", "two")
    there = tmp_path / "other" / location.name
    there.parent.mkdir()
    assert driver.link(there, "")
    with driver.open_writer(there) as second:
        assert list(second.reader.sources()) == [] and second.reader.sources_at("/notes", ["a.md"]) == {}
        assert second.reader.recipe() == {"x": 1, "taken": [""]}
        (passage,) = second.reader.passages(second.reader.passage_ids("a.md"))
        assert (passage.root, passage.path, passage.text) == (None, "a.md", "Of the first")
        assert [tuple(each)[1:3] for each in second.reader.origins()] == [(None, "a.md")]
        with pytest.raises(Unreadable, match="machine one"):
            second.replace([entry("a.md", "Of the second")], space.id)
        other = second.put_source(source("a.md"))
        assert other != own and second.drop_sources([own]) == 0
        second.replace([entry("other/a.md", "Of the second", source=other)], space.id)
        second.set_recipe({"x": 2, "roots": [], "bases": {"/notes": "other/"}})
    monkeypatch.setenv("SEMSEARCH_MACHINE", "one")
    assert [each.id for each in first.reader.sources()] == [own]
    recipe = first.reader.recipe()
    assert (recipe["x"], recipe["bases"], recipe["taken"]) == (2, {"/notes": ""}, ["other/"])
    assert first.drop_sources([own]) == 1
    assert sorted(uri for uri, _ in first.reader.titles()) == ["other/a.md"]
    assert problems(first.reader) == []


# ---- errors


def test_an_index_that_was_removed_or_made_anew_elsewhere_is_told(driver: Any, tmp_path: Path) -> None:
    here, there = tmp_path / "here" / "shared-name", tmp_path / "there" / "shared-name"
    driver.create(here).close()
    there.parent.mkdir()
    assert driver.link(there, "")
    with pytest.raises(UsageError, match="has an index called"):
        driver.create(tmp_path / "third" / "shared-name")
    assert driver.remove(here) == []
    for call in (driver.open_reader, driver.open_writer):
        with pytest.raises(NotFound, match="is gone"):
            call(there)
    assert not driver.link(tmp_path / "fourth" / "shared-name", "")
    driver.create(here).close()
    with pytest.raises(NotFound, match="created anew"):
        driver.open_reader(there)
    assert driver.unlink(there) == []
    driver.remove(here)


def test_an_index_of_a_newer_semsearch_is_refused(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    location = tmp_path / f"index-{next(_names)}"
    with monkeypatch.context() as patch:
        patch.setattr(schema, "VERSION", 99)
        driver.create(location).close()
    with pytest.raises(SemsearchError, match="newer semsearch") as caught:
        driver.open_reader(location)
    assert caught.value.exit_code == 1 and catalogue.UPGRADE in str(caught.value)


def test_a_server_that_is_too_old_is_refused(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semsearch.stores.milvus.server.address.Address.is_file", False)
    monkeypatch.setattr(Server, "_call", lambda *_: "v2.2.16")
    with pytest.raises(SemsearchError, match=r"2\.2\.16, and 2\.3\.2 or later"):
        driver.create(tmp_path / "old")


def test_where_no_server_is_there_is_one_line_in_time(tmp_path: Path) -> None:
    pytest.importorskip("pymilvus")
    nowhere = Addressed(milvus, f"http://127.0.0.1:{free_port()}?patience=1")
    began = time.monotonic()
    with pytest.raises(SemsearchError, match="does not answer") as caught:
        nowhere.create(tmp_path / "index")
    assert time.monotonic() - began < 30
    assert "\n" not in str(caught.value) and not (tmp_path / "index").exists()


def test_a_password_in_an_address_is_refused(driver: Any, tmp_path: Path) -> None:
    for address in ("http://me:secret@host:19530", "http://host?token=secret"):
        with pytest.raises(UsageError, match="SEMSEARCH_MILVUS_TOKEN") as caught:
            driver.create(tmp_path / "index", address=address)
        assert "secret" not in str(caught.value)
