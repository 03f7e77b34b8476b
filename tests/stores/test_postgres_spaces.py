"""Many machines on PostgreSQL: a switch to another encoder, deletions of another machine's files, and deadlocks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from helpers.postgres import PATIENCE, Other, missing, until_one_waits
from helpers.reading import counts, full_document
from helpers.stores import DIM, NARROW, WIDE, entry, source, vectors_of

from semsearch import Document, Index, Progress, admin
from semsearch.errors import EncoderMismatch, Locked, SemsearchError, UsageError
from semsearch.indexing import reembedding
from semsearch.stores import base
from semsearch.stores.records import UNFINISHED, Space
from semsearch.stores.remote import links

if TYPE_CHECKING:
    from scripts.shared.postgres_server import PostgresServer
    from semsearch.stores.postgres import PostgresWriter

if missing():
    pytest.skip(missing(), allow_module_level=True)

from semsearch.stores import postgres as driver
from semsearch.stores.postgres import collection


@pytest.fixture
def made(address: str, tmp_path: Path) -> Iterator[tuple[PostgresWriter, Space]]:
    """A collection of its own with one space and two documents of two passages."""
    with driver.create(tmp_path / f"spaces {tmp_path.name}", address=address) as writer:
        space = writer.put_space(Space(0, "fingerprint", "first encoder", DIM, {"name": "first encoder"}))
        writer.replace([entry(f"d{n}", f"Engine {n}. Bread {n}") for n in range(2)], space.id)
        yield writer, space


def silent(_: object) -> None:
    """A progress callback that does nothing."""


# ---- re-embedding


@pytest.mark.parametrize(("last", "rounds"), [(reembedding.LAST, 1), (0, 2)])
def test_documents_that_others_add_during_a_reembedding_are_found_after_it(
    shared: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch, last: int, rounds: int
) -> None:
    """The last few are encoded while others wait; for more, the whole begins again."""
    monkeypatch.setattr(reembedding, "LAST", last)
    one, two = shared
    built = list[str]()

    def add_another(step: Progress) -> None:
        if step.item == "building the vector index":
            built.append(step.item)
            if len(built) == 1:
                two.add([Document("late", "Bread needs salt.")])

    report = one.reembed(NARROW, progress=add_another)
    assert (report.encoded, report.passages, len(built)) == (2, 2, rounds)
    assert one.search("bread and salt", mode="semantic", k=1)[0].document == "late"
    assert one.analysis.verify() == []
    with pytest.raises(EncoderMismatch):  # it asks for the encoder before by name
        two.add([Document("later", "Tea.")])
    with Index.open(one.name, encoder=NARROW, home=two.path.parent) as again:
        again.add([Document("later", "Green tea.")])
        assert again.search("green tea", mode="semantic", k=1)[0].document == "later"
    assert one.analysis.verify() == []


def test_an_open_index_goes_on_writing_after_another_machine_has_reembedded_it(
    shared: tuple[Index, Index], tmp_path: Path
) -> None:
    one, _ = shared
    one.reembed(NARROW)
    with Index.open(one.name, encoder=NARROW, home=tmp_path / "b") as two:
        two.add([Document("d1", "Green tea.")])
        assert two.reembed(WIDE).encoded == 2
        with pytest.raises(EncoderMismatch):
            one.add([Document("d2", "Bread.")])
        two.reembed(NARROW)
        one.add([Document("d2", "Bread.")])  # its encoder is the right one again, in another space
    assert sorted(each["id"] for each in one.documents()) == ["d0", "d1", "d2"]
    assert one.analysis.verify() == []


def test_a_writer_of_the_old_space_waits_for_the_switch_and_is_refused_in_one_line(
    postgres: PostgresServer, address: str, made: tuple[PostgresWriter, Space]
) -> None:
    writer, old = made
    new = writer.put_space(Space(0, "other", "second encoder", DIM, {}))
    with driver.open_writer(writer.reader.location) as second:
        with writer.transaction():
            writer.put_space(new, current=True)
            other = Other(lambda: second.replace([entry("late", "Too late")], old.id))
            until_one_waits(postgres, address)
            ids = base.without_vector(writer.reader, new.id)
            writer.put_vectors(new.id, ids, vectors_of([str(each) for each in ids]))
        said = other.ended()
        assert isinstance(said, EncoderMismatch) and said.exit_code == 4
        assert "second encoder" in str(said) and "re-embedded" in str(said) and "\n" not in str(said)
        writer.drop_space(old.id)
        with pytest.raises(EncoderMismatch, match="second encoder"):
            second.replace([entry("late", "Too late")], old.id)
        assert full_document(second.reader, "late") is None
        second.replace([entry("late", "In time")], new.id)
        assert second.delete(["d0"]) == 1
    assert counts(writer.reader) == {"documents": 2, "passages": 3, "vectors": {new.id: 3}}
    assert writer.reader.verify(silent) == []


def test_a_switch_waits_for_what_others_are_writing_and_sees_it(
    postgres: PostgresServer, address: str, made: tuple[PostgresWriter, Space]
) -> None:
    writer, old = made
    new = writer.put_space(Space(0, "other", "second encoder", DIM, {}))
    ids = base.without_vector(writer.reader, new.id)
    writer.put_vectors(new.id, ids, vectors_of([str(each) for each in ids]))
    late = list[int]()

    def switch() -> None:
        with writer.transaction():
            writer.put_space(new, current=True)
            late.extend(base.without_vector(writer.reader, new.id).tolist())
            writer.put_vectors(new.id, base.without_vector(writer.reader, new.id), vectors_of(["late"]))

    with driver.open_writer(writer.reader.location) as second:
        with second.transaction():
            second.replace([entry("late", "Just in time")], old.id)
            other = Other(switch)
            until_one_waits(postgres, address)
        assert other.ended() is None
        assert late == second.reader.passage_ids(["late"]).tolist() and len(late) == 1
    assert writer.reader.verify(silent) == []


# ---- deletions


def test_what_is_deleted_from_another_machines_file_comes_back_with_that_machines_next_run_as_in_a_local_index(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("Engines.")
    (notes / "b.md").write_text("Bread.")
    found = dict[str, list[list[str]]]()
    for kind, store in (("local", "local"), ("server", f"postgres:{address}")):
        here, there = tmp_path / kind / "one", tmp_path / kind / ("one" if kind == "local" else "two")
        monkeypatch.setenv("SEMSEARCH_MACHINE", "one")
        with Index.create("files", encoder=WIDE, home=here, store=store) as index:
            index.sync([notes])
        if kind == "server":
            monkeypatch.setenv("SEMSEARCH_MACHINE", "two")
            assert admin.link("files", store, there)
        with Index.open("files", encoder=WIDE, home=there) as index:
            assert index.delete(["a.md"]) == 1
            steps = [[each["id"] for each in index.documents()]]
        monkeypatch.setenv("SEMSEARCH_MACHINE", "one")
        with Index.open("files", encoder=WIDE, home=here) as index:
            report = index.sync([])
            assert (report.added, report.unchanged) == (1, 1)
            steps.append([each["id"] for each in index.documents()])
            assert index.analysis.verify() == []
        found[kind] = steps
    assert found["server"] == found["local"] == [["b.md"], ["a.md", "b.md"]]


def test_only_the_files_of_deleted_documents_are_read_again(
    made: tuple[PostgresWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, space = made
    monkeypatch.setenv("SEMSEARCH_MACHINE", "one")
    for name in ("a.md", "b.md"):
        writer.replace([entry(name, "Of the first", source=writer.put_sources([source(name)])[0])], space.id)
    monkeypatch.setenv("SEMSEARCH_MACHINE", "two")
    writer.replace([entry("c.md", "Of the second", source=writer.put_sources([source("c.md")])[0])], space.id)
    assert writer.delete(["a.md", "c.md", "d0", "unknown"]) == 3
    assert [each.size == UNFINISHED for each in writer.reader.sources()] == [False]  # its own: the caller's matter
    monkeypatch.setenv("SEMSEARCH_MACHINE", "one")
    assert {each.path: each.size == UNFINISHED for each in writer.reader.sources()} == {"a.md": True, "b.md": False}


# ---- deadlocks


def test_of_two_transactions_that_wait_for_each_other_one_is_refused_and_the_other_stands(
    made: tuple[PostgresWriter, Space],
) -> None:
    writer, space = made
    both = threading.Barrier(2)

    def write(text: str, *order: str) -> Callable[[], None]:
        def call() -> None:
            with driver.open_writer(writer.reader.location) as own, own.transaction():
                own.replace([entry(order[0], text)], space.id)
                both.wait(PATIENCE)
                own.replace([entry(order[1], text)], space.id)

        return call

    first, second = Other(write("By one", "d0", "d1")), Other(write("By two", "d1", "d0"))
    errors = [first.ended(), second.ended()]
    (refused,) = [error for error in errors if error is not None]
    assert isinstance(refused, Locked) and refused.exit_code == 7
    texts = {found.text for uri in ("d0", "d1") if (found := full_document(writer.reader, uri)) is not None}
    assert texts == {"By two" if errors[0] is refused else "By one"}
    assert writer.reader.verify(silent) == []


# ---- a link that cannot be written


def test_a_collection_whose_link_cannot_be_written_is_not_created(address: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    name = f"unlinked {tmp_path.name}"
    with pytest.raises(UsageError, match="a file is in its place"):
        driver.create(tmp_path / "file" / name, address=address)
    assert not driver.link(tmp_path / "elsewhere" / name, address)
    driver.create(tmp_path / "elsewhere" / name, address=address).close()


def test_a_collection_that_cannot_be_removed_again_is_named_with_the_command_that_links_it(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"unlinked {tmp_path.name}"

    def fails(*_: object) -> None:
        raise SemsearchError("the server is away.")

    monkeypatch.setattr(links, "write", fails)
    monkeypatch.setattr(collection, "_drop", fails)
    with pytest.raises(
        SemsearchError, match=r"could not be removed: .*semsearch index -n .* --store 'postgres:"
    ) as said:
        driver.create(tmp_path / name, address=address)
    assert "\n" not in str(said.value)
    monkeypatch.undo()
    assert driver.link(tmp_path / name, address)
