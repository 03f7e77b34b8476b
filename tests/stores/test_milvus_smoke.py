"""An index in Milvus through the public API, over Milvus Lite."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commandline import CommandLine

from semsearch import Document, Index
from semsearch.errors import EncoderMismatch, UsageError

pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")

DOCUMENTS = [
    Document("engines", "Diesel engines ignite by compression.", {"year": 1990, "lang": "en"}),
    Document("bread", "Bread needs flour, water, salt and time.", {"year": 2001, "lang": "en"}),
    Document("tea", "Green tea is steamed.", {"year": 2010, "lang": "it's"}),
]


def test_an_index_in_milvus_answers_in_every_mode_and_is_linked_by_its_name(tmp_path: Path) -> None:
    store, here, there = f"milvus:{tmp_path}/milvus.db", tmp_path / "here", tmp_path / "there"
    with Index.create("notes", encoder="hashing", home=here, store=store) as index:
        assert index.add(DOCUMENTS).added == 3
        for mode in ("semantic", "keyword", "hybrid"):
            assert index.search("diesel compression", mode=mode, k=1)[0].document == "engines"
        assert {hit.document for hit in index.search("water", where="year > 2000", k=3)} == {"bread", "tea"}
        assert [hit.document for hit in index.search("tea", where='lang = "it\'s"', k=3)] == ["tea"]
        assert index.add(DOCUMENTS).unchanged == 3
        assert index.delete(["tea"]) == 1 and index.verify() == []
    assert Index.link("notes", store, there)
    with Index.open("notes", home=there) as linked:
        assert sorted(each["id"] for each in linked.documents()) == ["bread", "engines"]
        assert linked.add([Document("new", "Cold rain falls.")]).added == 1
    with Index.open("notes", home=here) as index:
        assert index.search("rain", mode="keyword")[0].document == "new"
    with Index.open("notes", encoder="default", home=here) as other, pytest.raises(EncoderMismatch):
        other.search("rain")
    Index.unlink("notes", there)
    assert Index.names(there) == [] and Index.remove("notes", here) == []
    assert not Index.link("notes", store, there)


def test_a_vector_index_that_the_address_does_not_name_is_refused(tmp_path: Path, cli: CommandLine) -> None:
    store = f"milvus:{tmp_path}/milvus.db"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Diesel engines ignite by compression.")
    refused = cli(
        "index", tmp_path / "docs", "-n", "notes", "--store", store, "-m", "hashing", "--backend-type", "flat"
    )
    assert refused.code == 2 and "?index=HNSW" in refused.err and len(refused.err.splitlines()) == 1
    cli.ok("index", tmp_path / "docs", "-n", "notes", "--store", store, "-m", "hashing")
    (tmp_path / "docs" / "b.md").write_text("Bread needs salt.")
    again = cli("index", "-n", "notes", "--backend-type", "flat")
    assert again.code == 2 and "--backend-type" in again.err
    with Index.open(tmp_path / "home" / "notes") as index:
        assert len(index) == 1
        with pytest.raises(UsageError, match="here the address names the vector index"):
            index.rebuild("flat")
        index.rebuild("auto")
