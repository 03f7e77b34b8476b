"""Shards and parts: none loses a document, whatever is cut, and what cannot be stored is left to the update."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from semsearch.documents import loaders
from semsearch.documents.loaders import Fields
from semsearch.indexing.file_reader import named
from semsearch.scale import parts, shards
from semsearch.scale.keys import KEY, DocumentKeys, document_key
from semsearch.scale.parts import Part
from semsearch.scale.shards import File, Piece, Shard
from semsearch.stores.records import text_hash
from semsearch.types import Document, Mark


def file(path: Path, **more: object) -> File:
    return File(path.name, str(path), path.stat().st_size, "auto", Fields(**more))  # type: ignore[arg-type]


def cut(files: Iterable[File], size: int = 10) -> list[Shard]:
    return list(shards.cut(files, size))


def read(cut: Iterable[Shard]) -> list[Document]:
    """The documents of shards, as their parts carry them."""
    return [one for number, shard in enumerate(cut) for part in parts.parts(number, shard) for one in part]


def bytes_of(cut: Iterable[Shard]) -> int:
    return sum(piece.size for shard in cut for piece in shard)


def lines(path: Path, count: int, *, end: str = "\n") -> Path:
    records = [json.dumps({"text": f"Record {n} is about kettle number {n * 7}.", "n": n}) for n in range(count)]
    path.write_text("\n".join(records) + end, encoding="utf-8")
    return path


def local(path: Path) -> list[Document]:
    items = (named(path.name, path, item) for item in loaders.load(path))
    return [item for item in items if isinstance(item, Document)]


@pytest.mark.parametrize(("count", "end"), [(25, "\n"), (30, "\n"), (30, ""), (9, ""), (10, "\n\n\n")])
def test_the_shards_of_a_file_of_lines_have_its_documents_in_order(tmp_path: Path, count: int, end: str) -> None:
    path = lines(tmp_path / "notes.jsonl", count, end=end)
    found = cut([file(path)])
    assert len(found) in (-(-count // 10), -(-count // 10) + (end == "\n\n\n"))
    assert read(found) == local(path) and bytes_of(found) == path.stat().st_size


def test_the_shards_of_a_table_have_its_documents_in_order(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    rows = [f'{n},"Row {n}\nhas two lines, and a ""quote"".",{n / 2}' for n in range(33)]
    path.write_text("id,text,half\n" + "\n".join(rows) + "\n", encoding="utf-8")
    found = cut([file(path)])
    assert len(found) == 4 and read(found) == local(path)


def row_groups(path: Path, count: int, *, rows: int) -> Path:
    """A table of records, some with ids, in groups of so many rows."""
    ids = [f"r{n}" if n % 3 else None for n in range(count)]
    table = pa.table({"id": ids, "text": [f"Row {n} is about kettles." for n in range(count)]})
    pq.write_table(table, path, row_group_size=rows)
    return path


def test_the_shards_of_a_parquet_file_are_groups_of_rows_in_order(tmp_path: Path) -> None:
    path = row_groups(tmp_path / "notes.parquet", 35, rows=4)
    found = cut([file(path)])
    assert [len(read([shard])) for shard in found] == [12, 12, 11]
    assert read(found) == local(path) and bytes_of(found) == path.stat().st_size


def test_small_files_are_read_together(tmp_path: Path) -> None:
    paths = [tmp_path / f"note-{n:03}.txt" for n in range(45)]
    for n, path in enumerate(paths):
        path.write_text(f"Note {n} is about boiler number {n}.")
    found = cut(map(file, paths))
    assert [len(shard) for shard in found] == [10, 10, 10, 10, 5]
    assert [one.id for one in read(found)] == [path.name for path in paths]


def test_what_cannot_be_read_is_left_to_the_update_and_the_rest_is_embedded(tmp_path: Path) -> None:
    damaged = row_groups(tmp_path / "damaged.parquet", 30, rows=10)
    damaged.write_bytes(damaged.read_bytes()[:-40])
    (tmp_path / "a.csv").write_text("id,body\n1,One text.\n")
    (tmp_path / "b.csv").write_text("id,text\n1,Another.\n")
    (tmp_path / "twice.jsonl").write_text('{"id": "a", "body": "one"}\nno json\n{"id": "a", "body": "two"}\n')
    gone = replace(file(damaged), uri="gone.txt", location=str(tmp_path / "gone.txt"))
    files = [gone, file(damaged), *(file(tmp_path / name, text="body") for name in ("b.csv", "a.csv", "twice.jsonl"))]
    found = cut(files)
    assert [one.text for one in read(found)] == ["One text.", "one"]
    assert bytes_of(found) == sum(one.size for one in files)


@pytest.mark.parametrize("before", [25, 30])
def test_records_that_are_added_while_a_job_runs_are_left_to_the_next_one(tmp_path: Path, before: int) -> None:
    path = lines(tmp_path / "notes.jsonl", before)
    walked = file(path)
    lines(path, before + 1)  # after the walk
    found = cut([walked])
    assert all(piece.size > 0 for shard in found for piece in shard)
    lines(path, before + 40)  # before they are read
    assert read(found) == local(path)[:before]


def test_a_document_that_no_message_can_carry_is_left_to_the_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = lines(tmp_path / "notes.jsonl", 2)
    first, second = local(path)
    huge = replace(first, marks=tuple(Mark(n, None, "h") for n in range(200_000)))
    monkeypatch.setattr(parts, "documents", lambda _: iter([huge, second]))
    assert read([(Piece(file(path)),)]) == [second]


def test_a_piece_is_the_same_after_its_way_to_a_worker(tmp_path: Path) -> None:
    path = lines(tmp_path / "notes.jsonl", 25)
    [*_, last] = cut([file(path, text=("text", "n"), meta=("n",))])
    assert tuple(Piece.from_json(json.loads(json.dumps(asdict(piece)))) for piece in last) == last


def test_parts_are_small_have_names_of_their_own_and_are_the_same_after_their_way(tmp_path: Path) -> None:
    path = lines(tmp_path / "notes.jsonl", 5)
    path.write_text(path.read_text() + "".join(json.dumps({"text": letter * 300_000}) + "\n" for letter in "abc"))
    found = list(parts.parts(7, (Piece(file(path)),)))
    assert [part.name for part in found] == ["7/0", "7/1", "7/2"]
    assert [part.size for part in found] == [0, 0, path.stat().st_size]
    assert [one for part in found for one in part] == local(path)
    assert [Part.of_row(row) for part in found for row in part.table().to_pylist()] == found


def test_documents_that_are_stored_are_left_out_of_the_parts(tmp_path: Path) -> None:
    path = lines(tmp_path / "notes.jsonl", 5)
    keys = [document_key(one.id, text_hash(one.text), one.title) for one in local(path)]
    [part] = parts.parts(0, (Piece(file(path)),), DocumentKeys.joined(keys[1:]))
    assert list(part) == local(path)[:1]
    [part] = parts.parts(0, (Piece(file(path)),), DocumentKeys.joined([]))
    assert list(part) == local(path)


def test_a_stored_document_takes_sixteen_bytes_of_memory_and_is_found_whatever_its_key() -> None:
    keys = [n.to_bytes(KEY, "big") for n in range(1, 500)] + [n.to_bytes(KEY, "little") for n in range(500)]
    found = DocumentKeys.joined([b"".join(keys)])
    assert found.keys.nbytes == 16 * len(keys) and all(key in found for key in keys)
    assert not any(n.to_bytes(KEY, "big") in found for n in range(500, 900))
