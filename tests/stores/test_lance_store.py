"""What the Lance store promises beyond the contract of stores: many writers, object stores, indexes, old versions."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import numpy as np
import pytest
from helpers.reading import counts, full_document
from helpers.stores import DIM, WIDE, entry, source, vectors_of

from semsearch import Document, Index, admin
from semsearch.errors import EncoderMismatch, Locked, SemsearchError, UsageError
from semsearch.search.query_check import parse_filter
from semsearch.stores.records import UNFINISHED, Space

pytest.importorskip("lance", reason="pylance is not installed (the extra `scale`)")

from semsearch.stores import lance as driver
from semsearch.stores import local
from semsearch.stores.lance import maintenance, space_vectors
from semsearch.stores.lance.address import Address
from semsearch.stores.lance.client import explained

if TYPE_CHECKING:
    from semsearch.stores.lance import LanceWriter

SPACE = Space(0, "fingerprint", "stand-in", DIM, {"name": "stand-in"})


def silent(_: object) -> None:
    """A progress callback that does nothing."""


@pytest.fixture
def made(tmp_path: Path) -> Iterator[tuple[LanceWriter, Space]]:
    """A collection of its own with one space."""
    with driver.create(tmp_path / "notes", address=str(tmp_path / "tables")) as writer:
        yield writer, writer.put_space(SPACE)


def many(count: int) -> list[object]:
    """Documents of two passages, with a year."""
    texts = (f"Engine number {n} runs. Bread needs salt {n % 7}" for n in range(count))
    return [entry(f"d{n}", text, metadata={"year": 1900 + n % 100}) for n, text in enumerate(texts)]


# ---- many writers


def test_a_file_that_two_record_at_once_has_the_documents_of_both(made: tuple[LanceWriter, Space]) -> None:
    writer, space = made
    with driver.open_writer(writer.reader.location) as other:
        with writer.transaction():
            (own,) = writer.put_sources([source("a.md")])
            (first,) = other.put_sources([source("a.md")])
            writer.replace([entry("a", "Text of a file", source=own)], space.id)
        assert [one.id for one in writer.reader.sources()] == [first] != [own]
        assert next(iter(writer.reader.document_rows(["a"]))).source == first


def test_a_change_keeps_what_another_writer_has_changed_meanwhile(made: tuple[LanceWriter, Space]) -> None:
    writer, space = made
    writer.replace([entry("a", "One. Two"), entry("b", "Three")], space.id)
    with driver.open_writer(writer.reader.location) as other, writer.transaction():
        writer.revise("a", metadata={"year": 2024})
        other.revise("a", new_uri="c", metadata={"lang": "en"})
        other.revise("c", new_uri="a")
        other.delete(["b"])
    document = full_document(writer.reader, "a")
    assert document is not None and document.metadata == {"year": 2024}
    assert writer.reader.document_ids(None) == ["a"] and writer.reader.verify(silent) == []


def test_documents_do_not_go_into_a_space_that_another_machine_has_left(made: tuple[LanceWriter, Space]) -> None:
    writer, space = made
    writer.replace([entry("a", "One")], space.id)
    with driver.open_writer(writer.reader.location) as other:
        new = other.put_space(Space(0, "other", "second", 3, {}))
        with pytest.raises(EncoderMismatch), writer.transaction():
            writer.replace([entry("b", "Two")], space.id)
            other.put_vectors(new.id, other.reader.passage_ids(), vectors_of(["x"], 3))
            other.put_space(new, current=True)
    assert writer.reader.document_ids(None) == ["a"]


def test_a_switch_to_another_space_leaves_no_passage_without_a_vector(made: tuple[LanceWriter, Space]) -> None:
    writer, space = made
    writer.replace([entry("a", "One")], space.id)
    new = writer.put_space(Space(0, "other", "second", 3, {}))
    writer.put_vectors(new.id, writer.reader.passage_ids(), vectors_of(["x"], 3))
    with driver.open_writer(writer.reader.location) as other, pytest.raises(Locked), writer.transaction():
        writer.put_space(new, current=True)
        other.replace([entry("b", "Two")], space.id)
    assert writer.reader.state().spaces[0] == space


def test_what_only_one_machine_may_do_is_refused_to_a_second(
    made: tuple[LanceWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, _ = made
    with driver.open_writer(writer.reader.location) as other, writer.alone("re-embedding it"):
        monkeypatch.setenv("SEMSEARCH_MACHINE", "another")
        with pytest.raises(Locked, match="another machine is at re-embedding it"), other.alone("re-embedding it"):
            pass
    with driver.open_writer(writer.reader.location) as other, other.alone("re-embedding it"):
        pass


def test_documents_of_another_machines_files_are_its_own(
    made: tuple[LanceWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, space = made
    (key,) = writer.put_sources([source("a.md")])
    writer.replace([entry("a", "Text", source=key)], space.id)
    with monkeypatch.context() as there:
        there.setenv("SEMSEARCH_MACHINE", "another")
        with pytest.raises(SemsearchError, match="belongs to the files of machine"):
            writer.replace([entry("a", "Other")], space.id)
        assert list(writer.reader.sources()) == []
        assert writer.reader.passages(writer.reader.passage_ids(["a"]))[0].root is None
        assert writer.delete(["a"]) == 1
    assert [one.size for one in writer.reader.sources()] == [UNFINISHED]


# ---- words


@pytest.mark.parametrize("few", [5_000, 0])
def test_words_are_found_as_in_a_local_store(
    made: tuple[LanceWriter, Space], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Counted here, as in a small collection, and by the library."""
    monkeypatch.setattr("semsearch.stores.lance.matching.FEW", few)
    writer, space = made
    texts = {
        "tea": "Green tea with milk. Black tea oxidises",
        "engines": "Diesel engines ignite by compression. MaxRequestWorkers counts",
        "cjk": "日本語の文章。 東京都に住む。 用Python写程序。 漢字",
        "bread": "Bread needs salt. Running runners run. Résumé of a ship",
    }
    entries = [entry(uri, text) for uri, text in texts.items()]
    writer.replace(entries, space.id)
    writer.update_vector_index(space.id, "auto")
    with local.create(tmp_path / "local") as other:
        other.replace(entries, other.put_space(SPACE).id)
        queries = 'tea milk|runs|resume|東京|漢|日本語の文章|python|"black tea"|oxidsies|x|max'
        for query in queries.split("|"):
            ours, theirs = writer.reader.lexical(query, 9), other.reader.lexical(query, 9)
            assert [one.text for one in writer.reader.passages(ours.ids)][:1] == [
                one.text for one in other.reader.passages(theirs.ids)
            ][:1], query
            assert len(ours.ids) == len(theirs.ids), query
            assert len(ours.complete) == len(theirs.complete), query
        for must in ("max", "tea", "black tea", "京都", "ython"):
            passing = [each.allowed(None, [must]) for each in (writer.reader, other.reader)]
            assert len({len(one) for one in passing if one is not None}) == 1, must


# ---- indexes and versions


def test_every_answer_is_the_same_with_and_without_indexes(
    made: tuple[LanceWriter, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, space = made
    monkeypatch.setattr(maintenance, "SCALARS_FROM", 1)
    monkeypatch.setattr(space_vectors.SpaceVectors, "INDEXED_FROM", 300)
    monkeypatch.setattr(space_vectors.SpaceVectors, "SUBSET_SHARE", 0.0)
    for name, number in {"CANDIDATES": 20, "ROWS_OF_CANDIDATES": 10, "MOST_TIMES": 100}.items():
        monkeypatch.setattr(space_vectors, name, number)  # right only where candidates grow with the rows
    reader, queries = writer.reader, vectors_of(["one", "two"])

    def answers() -> list[object]:
        wheres = ("year = 1950", "year > 1990", "year in (1901, 1902)", "path ~ 'd1*'", "document like 'd2%'")
        filters = [parse_filter(where, None) for where in wheres]
        dense = [reader.dense(space.id, queries, 5, reader.allowed(one)).ids.tolist() for one in [None, *filters]]
        lexical = [sorted(reader.lexical("engine 12", 500, reader.allowed(one)).ids) for one in [None, *filters]]
        return [dense, lexical, [reader.document_ids(one) for one in filters]]

    writer.replace(many(200), space.id)  # type: ignore[arg-type]
    before = answers()
    writer.update_vector_index(space.id, "auto")
    assert reader.info()["spaces"][0]["backend"] == "ivf_rq"
    assert answers() == before
    writer.replace([entry("new", "Engine number 12 again", metadata={"year": 1950})], space.id)
    assert reader.info()["spaces"][0]["newer_than_cache"] > 0
    found = reader.dense(space.id, vectors_of(["Engine number 12 again"]), 1)
    assert reader.passages(found.ids[0])[0].document == "new"
    writer.compact(silent)
    assert reader.info()["spaces"][0]["newer_than_cache"] == 0
    writer.delete(["new"])
    assert answers() == before and reader.verify(silent) == []


def test_words_are_indexed_before_hundreds_of_questions_are_asked(made: tuple[LanceWriter, Space]) -> None:
    writer, space = made

    def newer() -> int:
        return int(writer.table.latest().stats.index_stats("words_idx")["num_unindexed_rows"])

    writer.replace(many(20), space.id)  # type: ignore[arg-type]
    writer.update_vector_index(space.id, "auto", when="doubled")
    assert newer() > 0
    writer.update_vector_index(space.id, "auto", when="grown")
    assert newer() == 0


@pytest.mark.parametrize("few", [5_000, 0])
def test_a_word_weighs_what_it_weighs_in_a_local_store(
    made: tuple[LanceWriter, Space], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Words of nearly half of the passages too, which the library alone would weigh twice as much or more."""
    monkeypatch.setattr("semsearch.stores.lance.matching.FEW", few)
    writer, space = made
    entries = [
        entry(f"d{n}", f"Engine number {n} {'runs' if n % 5 < 2 else 'stands'} {'hot' if n % 9 == 1 else 'cold'}")
        for n in range(90)
    ]
    writer.replace(entries, space.id)
    writer.update_vector_index(space.id, "auto")
    with local.create(tmp_path / "local") as other:
        other.replace(entries, other.put_space(SPACE).id)
        for query in ("runs", "hot", "runs hot", "runs 17", "stands hot 28"):
            ours, theirs = writer.reader.lexical(query, 90), other.reader.lexical(query, 90)
            assert sorted(ours.scores) == pytest.approx(sorted(theirs.scores), rel=0.08), query


def test_a_reader_goes_on_reading_its_version_while_the_table_is_compacted(made: tuple[LanceWriter, Space]) -> None:
    writer, space = made
    for one in many(6):
        writer.replace([one], space.id)  # type: ignore[list-item]
    with driver.open_reader(writer.reader.location) as reader, reader.snapshot():
        before = counts(reader)
        writer.delete(["d0", "d1"])
        writer.compact(silent)
        assert counts(reader) == before and len(reader.passages(reader.passage_ids())) == before["passages"]
    assert writer.reader.verify(silent) == []


def test_the_vectors_of_a_removed_space_leave_the_table(made: tuple[LanceWriter, Space]) -> None:
    writer, space = made
    other = writer.put_space(Space(0, "other", "second", 3, {}))
    writer.drop_space(other.id)
    writer.compact(silent)
    assert [name for name in writer.table.latest().schema.names if "vector" in name] == [f"vector_{space.id}"]


def test_a_large_collection_is_restored_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.create("notes", encoder=WIDE, home=tmp_path) as index:
        index.add([Document(f"d{n}", f"Engine number {n}.", {"n": n}) for n in range(40)])
        admin.dump(index, tmp_path / "dump")
        before = list(index.documents())
    monkeypatch.setattr("semsearch.stores.lance.writer.MOST_AT_ONCE", 7)
    monkeypatch.setattr("semsearch.stores.remote.copying.AT_ONCE", 5)
    with admin.restore(tmp_path / "dump", "copy", home=tmp_path, store=f"lance:{tmp_path / 'tables'}") as copy:
        assert list(copy.documents()) == before and copy.analysis.verify() == []


# ---- addresses


def test_a_collection_is_linked_renamed_and_removed_by_every_machine(tmp_path: Path) -> None:
    address = f"lance:{tmp_path / 'tables'}"
    with Index.create("notes", encoder=WIDE, home=tmp_path / "a", store=address) as index:
        index.add([Document("d0", "Diesel engines ignite by compression.")])
        with pytest.raises(UsageError, match="has a collection called 'notes'"):
            Index.create("notes", encoder=WIDE, home=tmp_path / "b", store=address)
    assert admin.link("notes", address, tmp_path / "b") and not admin.link("none", address, tmp_path / "b")
    admin.rename("notes", "papers", tmp_path / "a")
    with Index.open("notes", encoder=WIDE, home=tmp_path / "b") as index:
        assert index.search("diesel", k=1)[0].document == "d0"
        index.add([Document("d1", "Bread needs salt.")])
    assert admin.remove("papers", tmp_path / "a") == []
    with pytest.raises(SemsearchError, match="its table is no longer at"):
        Index.open("notes", encoder=WIDE, home=tmp_path / "b")


@pytest.mark.parametrize("address", ["", "s3://", "s3://bucket/a?aws_secret_access_key=x", "s3://ann:secret@bucket/a"])
def test_an_address_is_a_folder_or_a_bucket_and_has_no_secret(address: str) -> None:
    with pytest.raises(UsageError):
        Address.of(address)


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of anybody, in the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")


@pytest.mark.usefixtures("credentials")
def test_a_bucket_that_is_away_is_one_clear_line(tmp_path: Path) -> None:
    address = "s3://bucket/notes?endpoint=http://127.0.0.1:9&allow_http=true&region=us-east-1&client_max_retries=0"
    with pytest.raises(SemsearchError) as caught:
        driver.create(tmp_path / "notes", address=address)
    assert caught.value.message == "index notes: s3://bucket/notes cannot be reached."


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        (
            "Generic LocalFileSystem error: Unable to copy data to file: No space left on device",
            "no room left at /data",
        ),
        ("Generic LocalFileSystem error: Unable to open file: Permission denied", "may not be written to or read"),
        ("Generic S3 error: error sending request for url", "/data cannot be reached"),
    ],
)
def test_an_error_of_the_library_is_told_by_its_reason(said: str, meaning: str) -> None:
    with pytest.raises(SemsearchError, match=meaning), explained("notes", "/data"):
        raise OSError(said)


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The address of a folder in a bucket of an object store in this process."""
    server = pytest.importorskip("moto.server", reason="moto is not installed (the extra `dev`)")
    served = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    served.start()
    host, port = served.get_host_and_port()
    with urlopen(Request(f"http://{host}:{port}/bucket", method="PUT")):
        pass
    yield f"s3://bucket/indexes?endpoint=http://{host}:{port}&allow_http=true&region=us-east-1"
    served.stop()


@pytest.mark.usefixtures("credentials")
def test_an_index_in_a_bucket_is_filled_searched_and_removed(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Engines\n\nDiesel engines ignite by compression.\n")
    with Index.create("notes", encoder=WIDE, home=tmp_path / "home", store=f"lance:{bucket}") as index:
        assert index.sync(tmp_path / "notes.md").added == 1
        index.add([Document("tea", "Green tea is steamed.", {"year": 2024})])
    with Index.open("notes", encoder=WIDE, home=tmp_path / "home") as again:
        assert again.search("diesel", k=1)[0].document == "notes.md"
        assert [hit.document for hit in again.search("tea", where="year > 2000")] == ["tea"]
        assert again.analysis.verify() == []
        assert "secret" not in str(again.info()["server"]) and str(again.info()["server"]).startswith("lance:s3://")
    assert admin.remove("notes", tmp_path / "home") == []


@pytest.mark.scale
@pytest.mark.usefixtures("credentials")
def test_two_who_write_into_a_bucket_at_once_lose_and_double_nothing(bucket: str, tmp_path: Path) -> None:
    location, failed = tmp_path / "both", list[BaseException]()
    with driver.create(location, address=bucket) as writer:
        space = writer.put_space(SPACE)

        def write(number: int) -> None:
            try:
                with driver.open_writer(location) as own:
                    for step in range(6):
                        both = [entry(f"shared{n}", f"Text {n}. By {number}") for n in range(3)]
                        own.replace([*both, entry(f"own{number}-{step}", "Own text. Of one")], space.id)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        assert failed == [] and counts(writer.reader)["documents"] == 15
        assert writer.reader.verify(silent) == []


ENDLESS = """
import sys
from pathlib import Path
from helpers.stores import entry
from semsearch.stores import lance
with lance.open_writer(Path(sys.argv[1])) as writer:
    space, number = writer.reader.state().spaces[0], int(sys.argv[2])
    while True:
        writer.replace([entry(f"d{number + n}", f"Text {number + n}. More of it") for n in range(20)], space.id)
        number += 20
        print(number, flush=True)
        if number % 100 == 0:
            writer.update_vector_index(space.id, "auto")
"""


@pytest.mark.scale
def test_kills_of_a_writer_lose_nothing_acknowledged_and_double_nothing(made: tuple[LanceWriter, Space]) -> None:
    writer, _ = made
    chance, acknowledged = random.Random(3), 0
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    for _ in range(10):
        command = [sys.executable, "-c", ENDLESS, str(writer.reader.location), str(acknowledged)]
        environment = {**os.environ, "PYTHONPATH": path}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            acknowledged = int(process.stdout.readline())
            time.sleep(chance.uniform(0, 1))
            process.kill()
            acknowledged = max([acknowledged, *map(int, process.stdout.read().split())])
        documents = writer.reader.document_ids(None)
        assert {f"d{n}" for n in range(acknowledged)} <= {*documents}
        assert counts(writer.reader)["passages"] == 2 * len(documents)
    assert writer.reader.verify(silent) == []


def test_a_local_query_loads_nothing_of_it(tmp_path: Path) -> None:
    with Index.create("notes", encoder="hashing", home=tmp_path) as index:
        index.add([Document("a", "Diesel engines.")])
    code = f"""
import sys
from semsearch import Index
with Index.open("notes", home={str(tmp_path)!r}) as index:
    assert index.search("diesel", k=1)
print([name for name in sys.modules if name.startswith(("lance", "semsearch.stores.lance"))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_vectors_are_those_of_a_local_store(made: tuple[LanceWriter, Space]) -> None:
    writer, space = made
    rows = vectors_of(["x", "y"])
    writer.replace([entry("a", "x. y")], space.id)
    ((_, stored),) = writer.reader.vectors(space.id)
    half = rows.astype(np.float16).astype(np.float32)
    assert stored == pytest.approx(half / np.linalg.norm(half, axis=1, keepdims=True), abs=1e-6)
