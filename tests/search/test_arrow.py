"""Hits and whole indexes as tables of pandas and Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from semsearch import Document, Index, MissingExtra, UsageError, admin

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "notes", encoder="hashing") as made:
        made.add([Document(f"d{at}", f"Number {at} is a text.", {"n": at}, title="T") for at in range(7)])
        yield made


def test_an_index_is_read_as_batches_with_its_vectors(index: Index) -> None:
    stream = admin.to_arrow(index, size=3)
    assert isinstance(stream, pa.RecordBatchReader) and hasattr(stream, "__arrow_c_stream__")
    batches = list(stream)
    assert [len(batch) for batch in batches] == [3, 3, 1]
    table = pa.Table.from_batches(batches)
    assert table["document"].to_pylist() == [f"d{at}" for at in range(7)]
    assert [json.loads(cell) for cell in table["metadata"].to_pylist()] == [{"n": at} for at in range(7)]
    vectors = np.stack(table["vector"].to_numpy())
    assert vectors.dtype == np.float32 and np.array_equal(vectors, index.vectors(table["id"].to_pylist()))


def test_a_document_that_is_deleted_while_it_is_read_is_left_out(index: Index) -> None:
    stream = admin.to_arrow(index, size=3)
    first = stream.read_next_batch()
    index.delete(["d4"])
    rest = pa.Table.from_batches(list(stream))
    assert [*first["document"].to_pylist(), *rest["document"].to_pylist()] == ["d0", "d1", "d2", "d3", "d5", "d6"]


def test_an_empty_index_has_a_schema_all_the_same(tmp_path: Path) -> None:
    with Index.create(tmp_path / "own", encoder=None, dimensions=4) as index:
        table = admin.to_arrow(index).read_all()
        assert len(table) == 0 and table.schema.field("vector").type == pa.list_(pa.float32(), 4)
        with pytest.raises(UsageError):
            admin.to_arrow(index, size=0)


def test_it_goes_through_parquet(index: Index, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(admin.to_arrow(index).read_all(), tmp_path / "notes.parquet")
    again = parquet.read_table(tmp_path / "notes.parquet")
    assert again.equals(admin.to_arrow(index).read_all())


def test_hits_are_rows(index: Index) -> None:
    found = index.search("number 3", k=4)
    table = found.to_arrow()
    assert table["document"].to_pylist() == [hit.document for hit in found]
    assert table["cosine"].to_pylist() == [hit.scores.get("cosine") for hit in found]
    assert json.loads(table["metadata"][0].as_py()) == dict(found[0].metadata)
    assert found.to_arrow().schema == index.search("number", k=1, where="n > 99").to_arrow().schema
    pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert frame["text"].tolist() == [hit.text for hit in found]
    assert frame["metadata"].tolist() == [dict(hit.metadata) for hit in found]


def test_without_pyarrow_the_error_says_what_to_install(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    found = index.search("number", k=1)
    for call in (lambda: admin.to_arrow(index), found.to_arrow, lambda: admin.export_vectors(index, "out.parquet")):
        with pytest.raises(MissingExtra, match=r"needs pyarrow.*\[arrow\]"):
            call()
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"needs pandas.*\[arrow\]"):
        found.to_pandas()
