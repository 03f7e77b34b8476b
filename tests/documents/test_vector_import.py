"""Texts that come with their vectors from a file, and the vectors of an index written to one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semsearch import Document, EncoderMismatch, Fields, Index, NotFound, UsageError, admin

pa = pytest.importorskip("pyarrow", reason="of the extra arrow")
pq = pytest.importorskip("pyarrow.parquet")
TEXTS = ["Diesel engines ignite by compression.", "Bread needs salt.", "Soap is made from fat and lye."]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "notes", encoder="hashing") as made:
        made.add([Document(f"d{at}", text, {"n": at}, title="On things") for at, text in enumerate(TEXTS)])
        yield made


def npy(folder: Path, vectors: Any, records: Sequence[object]) -> tuple[Path, Path]:
    np.save(folder / "v.npy", vectors)
    (folder / "v.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return folder / "v.npy", folder / "v.jsonl"


def content(index: Index) -> list[object]:
    found = [index.get(one["id"]) for one in index.documents()]
    ids = [index.passages(one["document"])[0]["id"] for one in found]
    return [*((one["document"], one["text"], one["title"]) for one in found), np.round(index.vectors(ids), 3).tolist()]


@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize("suffix", [".parquet", ".npy"])
def test_what_is_written_makes_the_same_index_again(index: Index, suffix: str, precision: Any, tmp_path: Path) -> None:
    file, *texts = admin.export_vectors(index, tmp_path / f"out{suffix}", precision=precision)
    if suffix == ".npy":
        assert np.load(file).dtype == precision and np.load(file).shape == (3, 256)
    else:
        assert (
            str(pq.read_schema(file).field("vector").type.value_type)
            == {"float32": "float", "float16": "halffloat"}[precision]
        )
    seen: list[float] = []
    for encoder in ("hashing", None):
        again = admin.from_vectors(
            file,
            tmp_path / f"again-{encoder}",
            texts=texts[0] if texts else None,
            encoder=encoder,
            progress=lambda step: seen.append(step.total),
        )
        with again:
            assert content(again) == content(index)
            assert again.get("d1")["metadata"]["n"] == 1
            assert again.info()["spaces"][0]["dim"] == 256
    assert seen == [3, 3]


def test_a_file_appears_when_it_is_complete(index: Index, tmp_path: Path) -> None:
    def stop(_: object) -> None:
        raise KeyboardInterrupt

    before = sorted(tmp_path.iterdir())
    for suffix in (".npy", ".parquet"):
        with pytest.raises(KeyboardInterrupt):
            admin.export_vectors(index, tmp_path / f"out{suffix}", progress=stop)
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(UsageError, match="neither"):
        admin.export_vectors(index, tmp_path / "out.csv")


def test_vectors_of_another_encoder_are_refused_and_nothing_is_left(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(3, 256))
    file, texts = npy(tmp_path, rows, [{"text": text} for text in TEXTS])
    with pytest.raises(EncoderMismatch, match=r"v.npy.*hashing.*below 0.99") as refused:
        admin.from_vectors(file, tmp_path / "new", texts=texts, encoder="hashing")
    assert refused.value.exit_code == 4 and not admin.exists(tmp_path / "new")
    with admin.from_vectors(file, tmp_path / "new", texts=texts) as index:
        assert [one["id"] for one in index.documents()] == ["v.npy#1", "v.npy#2", "v.npy#3"]
        assert index.search(vector=rows[1], k=1)[0].text == TEXTS[1]


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([{"text": "a"}], "3 vectors, and v.jsonl 1 texts"),
        ([{"text": "a"}] * 4, "3 vectors, and v.jsonl 4 texts"),
        ([{"text": "a"}, {"words": "b"}, {"text": "c"}], "row 2: no field called text"),
        ([{"text": "a"}, {"text": " "}, {"text": "c"}], "row 2: its text is empty"),
        ([{"id": "x", "text": "a"}, {"id": "y", "text": "b"}, {"id": "x", "text": "c"}], "row 3 has the id 'x'"),
        ([{"text": "a"}, [1], {"text": "c"}], "v.jsonl:2: not a JSON object"),
    ],
)
def test_a_row_that_does_not_fit_changes_nothing(
    records: list[object], said: str, index: Index, tmp_path: Path
) -> None:
    before = index.version
    with pytest.raises(UsageError, match=said):
        index.add_vectors(*npy(tmp_path, np.ones((3, 256)), records))
    assert index.version == before


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (np.ones((3, 4)), "width 4, and the index of width 256"),
        (np.zeros((3, 256)), "rows from 1: vector 1 of 3 is zero"),
        (np.ones(3), "of shape"),
        (np.array(["a", "b", "c"]), "of shape"),
    ],
)
def test_vectors_that_do_not_fit_change_nothing(vectors: Any, said: str, index: Index, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        index.add_vectors(*npy(tmp_path, vectors, [{"text": text} for text in TEXTS]))
    assert len(index) == 3


def test_tables_of_other_programs_are_read_by_their_columns(tmp_path: Path) -> None:
    table = pa.table({"key": ["a", "b"], "words": TEXTS[:2], "year": [1, None], "embedding": [[1.0, 0.0], [0.0, 2.0]]})
    pq.write_table(table, tmp_path / "t.parquet")
    fields = Fields(text="words", id="key")
    with admin.from_vectors(tmp_path / "t.parquet", tmp_path / "new", fields=fields) as index:
        assert index.get("a")["metadata"] == {"year": 1} and index.get("b")["metadata"] == {}
        assert index.search(vector=[0, 1], k=1)[0].document == "b"
    table = pa.table({"text": TEXTS[:2], "embedded": ["yes", "no"], "vector": [[1.0, 0.0], [0.0, 2.0]]})
    pq.write_table(table, tmp_path / "key.parquet")
    with admin.from_vectors(tmp_path / "key.parquet", tmp_path / "keyed") as index:
        assert index.get("key.parquet#2")["metadata"] == {"embedded": "no"}
    pq.write_table(pa.table({"text": ["a", "b"], "vector": [[1.0, 0.0], [1.0]]}), tmp_path / "uneven.parquet")
    with pytest.raises(UsageError, match="row 2 has the width 1, not 2"):
        admin.from_vectors(tmp_path / "uneven.parquet", tmp_path / "other")
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "none.parquet")
    with pytest.raises(UsageError, match="no column of vectors"):
        admin.from_vectors(tmp_path / "none.parquet", tmp_path / "other")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(UsageError, match="no readable Parquet"):
        admin.from_vectors(tmp_path / "bad.parquet", tmp_path / "other")
    with pytest.raises(NotFound):
        admin.from_vectors(tmp_path / "absent.parquet", tmp_path / "other")
    assert not admin.exists(tmp_path / "other")


def test_files_of_a_folder_with_the_same_ids_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for name in ("a", "b"):
        table = pa.table({"id": ["x"], "text": [name], "vector": [[1.0, 0.0]]})
        pq.write_table(table, tmp_path / "rows" / f"{name}.parquet")
    with pytest.raises(UsageError, match="row 2 has the id 'x' of a row before"):
        admin.from_vectors(tmp_path / "rows", tmp_path / "other")


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "v.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(UsageError, match=r"no readable \.npy"):
        admin.from_vectors(tmp_path / "v.npy", tmp_path / "new", texts=tmp_path / "v.jsonl")
