"""The texts in stores that Chroma, txtai and LanceDB have written: tests/fixtures/databases."""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from semsearch import Index, NotFound, SemsearchError, UnknownName, UsageError
from semsearch.documents import vector_databases
from semsearch.documents.loaders import Fields
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

FILES = Path(__file__).parents[1] / "fixtures" / "databases"
DIESEL = "Diesel engines ignite fuel by compression."


def unpacked(name: str, folder: Path) -> Path:
    with tarfile.open(FILES / name) as archive:
        archive.extractall(folder, filter="data")
    return folder


def read(kind: str, path: Path, **fields: Any) -> list[Document | Skipped]:
    return list(vector_databases.documents(kind, path, Fields(**fields)))


def test_chroma_gives_ids_texts_and_metadata_of_every_collection(tmp_path: Path) -> None:
    diesel, soap, bread, picture, other, tags = read("chroma", unpacked("chroma.tar.gz", tmp_path) / "chroma")
    about = {"author": "Rudolf Diesel", "checked": True, "collection": "notes", "year": 1892}
    assert diesel == Document("notes/engines/diesel", DIESEL, about)
    assert isinstance(soap, Document) and soap.metadata["ph"] == 9.5
    assert isinstance(bread, Document) and bread.text.endswith("yeast, and a little salt.")  # as it was changed
    assert isinstance(picture, Skipped) and "chroma:document" in picture.reason
    assert isinstance(other, Document) and other.id == "more/bread"
    assert isinstance(tags, Document) and tags.metadata == {"collection": "more", "tags": ["a", "b"]}


@pytest.mark.parametrize("name", ["txtai.tar.gz", "txtai.zip", "folder"])
def test_txtai_gives_its_texts_from_a_folder_and_from_an_archive(name: str, tmp_path: Path) -> None:
    path = unpacked("txtai.tar.gz", tmp_path) if name == "folder" else FILES / name
    diesel, soap, bread = read("txtai", path)
    assert diesel == Document("diesel", DIESEL, {"author": "Rudolf Diesel", "tags": "engines", "year": 1892})
    assert soap == Document("soap", "Soap is made from fat and lye.")
    assert isinstance(bread, Document) and (bread.id, bread.metadata) == ("7", {"tags": "food"})


def test_lancedb_gives_the_rows_of_the_newest_version(tmp_path: Path) -> None:
    pytest.importorskip("lancedb", reason="tables of LanceDB are read by its own package")
    folder = unpacked("lancedb.tar.gz", tmp_path)
    found = read("lancedb", folder / "notes.lance")
    assert found[0] == Document("diesel", DIESEL, {"year": 1892})  # no vector
    assert [item.id for item in found if isinstance(item, Document)] == ["diesel", "soap", "bread"]
    assert read("lancedb", folder) == found  # its only table
    with pytest.raises(UsageError, match="Its columns are"):
        read("lancedb", folder, text="words")
    (folder / "more.lance").mkdir()
    with pytest.raises(UsageError, match="2 tables"):
        read("lancedb", folder)
    with pytest.raises(Unreadable, match="no LanceDB table"):
        read("lancedb", folder / "more.lance")


def test_without_lancedb_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(SemsearchError, match="install lancedb"):
        read("lancedb", unpacked("lancedb.tar.gz", tmp_path) / "notes.lance")


def test_what_is_no_store_of_that_program_is_refused_with_the_reason(tmp_path: Path) -> None:
    chroma = unpacked("chroma.tar.gz", tmp_path) / "chroma"
    with pytest.raises(Unreadable, match="not a database of txtai: it has no table sections"):
        read("txtai", chroma / "chroma.sqlite3")
    with pytest.raises(NotFound, match="no folder of txtai"):
        read("txtai", chroma)
    with pytest.raises(NotFound):
        read("chroma", tmp_path / "absent")
    with pytest.raises(UnknownName, match="milvus"):
        read("milvus", chroma)
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("embeddings", b"")
    with pytest.raises(Unreadable, match="no file 'documents'"):
        read("txtai", other)
    (tmp_path / "cut.tar.gz").write_bytes((FILES / "txtai.tar.gz").read_bytes()[:900])
    with pytest.raises(Unreadable):
        read("txtai", tmp_path / "cut.tar.gz")


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMSEARCH_READ_OUTPUT_MB", "1")
    with tarfile.open(tmp_path / "bomb.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("documents")
        member.size = 8 * 2**20
        archive.addfile(member, io.BytesIO(bytes(member.size)))
    with pytest.raises(Unreadable, match="far more than its own size"):
        read("txtai", tmp_path / "bomb.tar.gz")


def test_an_index_adds_them_again_without_change_and_searches_them(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        report = index.add_from("chroma", unpacked("chroma.tar.gz", tmp_path) / "chroma")
        assert (report.added, len(report.skipped)) == (5, 1)
        assert index.search("diesel", where="year = 1892", k=1)[0].document == "notes/engines/diesel"
        assert index.add_from("chroma", tmp_path / "chroma").unchanged == 5
