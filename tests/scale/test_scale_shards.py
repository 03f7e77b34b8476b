"""Shards: the same files give the same shards, a change changes few of them, and none loses a document."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from semsearch.documents import loaders
from semsearch.documents.loaders import Fields
from semsearch.indexing.file_reader import named
from semsearch.scale import parts
from semsearch.scale.known import Known
from semsearch.scale.parts import documents
from semsearch.scale.shards.cutting import Cutter
from semsearch.scale.shards.shard import File, Piece, Shard
from semsearch.stores.records import text_hash
from semsearch.types import Document, Mark, Skipped


def file(path: Path, **more: object) -> File:
    return File(path.name, str(path), path.stat().st_size, "auto", Fields(**more))  # type: ignore[arg-type]


def cut(files: Iterable[File], size: int = 10, way: str = "w") -> list[Shard]:
    return list(Cutter(size, way).shards(files))


def lines(path: Path, count: int, *, end: str = "\n") -> Path:
    records = [json.dumps({"text": f"Record {n} is about kettle number {n * 7}.", "n": n}) for n in range(count)]
    path.write_text("\n".join(records) + end, encoding="utf-8")
    return path


def local(path: Path) -> list[Document | Skipped]:
    return [named(path.name, path, item) for item in loaders.load(path)]


@pytest.mark.parametrize(("count", "end"), [(25, "\n"), (30, "\n"), (30, ""), (9, ""), (10, "\n\n\n")])
def test_the_shards_of_a_file_of_lines_have_its_documents_in_order(tmp_path: Path, count: int, end: str) -> None:
    path = lines(tmp_path / "notes.jsonl", count, end=end)
    shards = cut([file(path)])
    assert len(shards) in (-(-count // 10), -(-count // 10) + (end == "\n\n\n"))
    assert [item for shard in shards for item in documents(shard.pieces)] == local(path)
    assert sum(shard.size for shard in shards) == path.stat().st_size


def test_the_shards_of_a_table_have_its_documents_in_order(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    rows = [f'{n},"Row {n}\nhas two lines, and a ""quote"".",{n / 2}' for n in range(33)]
    path.write_text("id,text,half\n" + "\n".join(rows) + "\n", encoding="utf-8")
    shards = cut([file(path)])
    assert len(shards) == 4
    assert [item for shard in shards for item in documents(shard.pieces)] == local(path)


def row_groups(path: Path, count: int, *, rows: int, column: str = "text") -> Path:
    """A table of records, some with ids, in groups of so many rows."""
    ids = [f"r{n}" if n % 3 else None for n in range(count)]
    table = pa.table({"id": ids, column: [f"Row {n} is about kettles." for n in range(count)]})
    pq.write_table(table, path, row_group_size=rows)
    return path


def test_the_shards_of_a_parquet_file_are_groups_of_rows_in_order(tmp_path: Path) -> None:
    path = row_groups(tmp_path / "notes.parquet", 35, rows=4)
    shards = cut([file(path)])
    assert [sum(1 for _ in documents(shard.pieces)) for shard in shards] == [12, 12, 11]
    assert [item for shard in shards for item in documents(shard.pieces)] == local(path)
    assert sum(shard.size for shard in shards) == path.stat().st_size


def test_a_new_name_of_a_column_of_parquet_changes_all_its_shards(tmp_path: Path) -> None:
    path = row_groups(tmp_path / "notes.parquet", 30, rows=10)
    before = {shard.name for shard in cut([file(path)])}
    row_groups(path, 30, rows=10, column="body")
    assert not before & {shard.name for shard in cut([file(path)])} and len(before) == 3


def test_a_parquet_file_that_is_damaged_is_skipped_with_the_reason(tmp_path: Path) -> None:
    path = row_groups(tmp_path / "notes.parquet", 30, rows=10)
    path.write_bytes(path.read_bytes()[:-40])
    [skipped] = [item for shard in cut([file(path)]) for item in documents(shard.pieces)]
    assert isinstance(skipped, Skipped) and "Parquet" in skipped.reason


def test_a_new_header_of_a_table_changes_all_its_shards(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    rows = "".join(f"{n},text of row {n}\n" for n in range(40))
    path.write_text("id,text\n" + rows)
    before = {shard.name for shard in cut([file(path)])}
    path.write_text("no,text\n" + rows)
    assert not before & {shard.name for shard in cut([file(path)])}


def test_lines_that_are_added_change_the_last_shard_alone(tmp_path: Path) -> None:
    path = lines(tmp_path / "notes.jsonl", 45)
    before = [shard.name for shard in cut([file(path)])]
    lines(path, 47)
    after = [shard.name for shard in cut([file(path)])]
    assert before[:4] == after[:4] and before[4] != after[4] and len(after) == 5


def test_a_new_file_in_a_folder_changes_one_shard_or_cuts_one_in_two(tmp_path: Path) -> None:
    paths = []
    for n in range(200):
        paths.append(tmp_path / f"note-{n:03}.txt")
        paths[-1].write_text(f"Note {n} is about boiler number {n}.")
    before = {shard.name for shard in cut(map(file, paths))}
    assert 5 < len(before) < 60
    between = tmp_path / "note-100a.txt"
    between.write_text("A note between others.")
    after = {shard.name for shard in cut(map(file, sorted([*paths, between])))}
    assert len(before - after) == 1 and len(after - before) in (1, 2)


def test_another_way_of_embedding_makes_other_shards(tmp_path: Path) -> None:
    path = lines(tmp_path / "notes.jsonl", 25)
    found = file(path)
    assert {one.name for one in cut([found])} == {one.name for one in cut([found])}
    assert not {one.name for one in cut([found])} & {one.name for one in cut([found], way="other")}
    other = replace(found, fields=Fields(text="n"))
    assert not {one.name for one in cut([found])} & {one.name for one in cut([other])}


def test_a_file_that_cannot_be_opened_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    there = tmp_path / "a.txt"
    there.write_text("One text.")
    gone = replace(file(there), uri="gone.txt", location=str(tmp_path / "gone.txt"))
    cutter = Cutter(10, "w")
    assert [piece.file.uri for shard in cutter.shards([gone, file(there)]) for piece in shard.pieces] == ["a.txt"]
    assert [uri for uri, _ in cutter.unreadable] == ["gone.txt"]


def test_a_table_without_the_chosen_column_is_skipped_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,body\n1,One text.\n")
    (tmp_path / "b.csv").write_text("id,text\n1,Another.\n")
    cutter = Cutter(10, "w")
    shards = cutter.shards([file(tmp_path / name, text="body") for name in ("a.csv", "b.csv")])
    first, second = [item for shard in shards for item in documents(shard.pieces)]
    assert isinstance(first, Document) and first.text == "One text." and not cutter.unreadable
    assert isinstance(second, Skipped) and "no column 'body'" in second.reason


@pytest.mark.parametrize("before", [25, 30])
def test_records_that_are_added_while_a_job_runs_are_left_to_the_next_one(tmp_path: Path, before: int) -> None:
    path = lines(tmp_path / "notes.jsonl", before)
    walked = file(path)
    lines(path, before + 1)  # after the walk
    shards = cut([walked])
    assert all(piece.size > 0 for shard in shards for piece in shard.pieces)
    lines(path, before + 40)  # before they are read
    assert [item for shard in shards for item in documents(shard.pieces)] == local(path)[:before]


def test_a_document_that_no_message_can_carry_is_skipped_with_the_reason() -> None:
    huge = Document("h", "#\n" * 200_000, marks=tuple(Mark(2 * n, None, "h") for n in range(200_000)))
    first, second = (
        item for part in parts.parts("s", [(huge, None), (Document("d", "Fill it."), None)]) for item in part
    )
    assert isinstance(first, Skipped) and first.path == "h" and "values" in first.reason
    assert isinstance(second, Document)


def test_a_piece_is_the_same_after_its_way_to_a_worker(tmp_path: Path) -> None:
    path = lines(tmp_path / "notes.jsonl", 25)
    [*_, last] = cut([file(path, text=("text", "n"), meta=("n",))])
    assert tuple(Piece.from_json(json.loads(json.dumps(piece.to_json()))) for piece in last.pieces) == last.pieces


def test_parts_carry_every_document_and_what_was_skipped(tmp_path: Path) -> None:
    path = lines(tmp_path / "notes.jsonl", 5)
    path.write_text(path.read_text() + "no json\n" + json.dumps({"text": "a" * 300_000, "title": "Long"}) + "\n")
    found = list(parts.parts("s", parts.located([Piece(file(path))])))
    assert [(part.number, part.last) for part in found] == [(0, False), (1, True)] or len(found) == 1
    assert found[-1].last and [item for part in found for item in part] == local(path)
    again = [parts.part_of(row) for part in found for row in part.table().to_pylist()]
    assert again == found


def test_documents_that_are_stored_are_left_out_of_the_parts(tmp_path: Path) -> None:
    path = lines(tmp_path / "notes.jsonl", 5)
    items = [item for item in local(path) if isinstance(item, Document)]
    known = Known.of(parts.key(item.id, text_hash(item.text), item.title) for item in items[1:])
    [part] = parts.parts("s", [(item, None) for item in items], known)
    assert list(part) == items[:1]
    [part] = parts.parts("s", [(item, None) for item in items], Known.of([]))
    assert list(part) == items


def test_a_stored_document_takes_sixteen_bytes_of_memory_and_is_found_whatever_its_key() -> None:
    keys = [n.to_bytes(parts.KEY, "big") for n in range(1, 500)] + [n.to_bytes(parts.KEY, "little") for n in range(500)]
    known = Known.of(keys)
    assert known.keys.nbytes == 16 * len(keys) and all(key in known for key in keys)
    assert not any(n.to_bytes(parts.KEY, "big") in known for n in range(500, 900))


def test_an_id_that_comes_twice_in_a_shard_is_skipped_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"id": "a", "text": "one"}\n{"id": "a", "text": "two"}\n')
    first, second = documents([Piece(file(path))])
    assert isinstance(first, Document) and first.text == "one"
    assert isinstance(second, Skipped) and "already used" in second.reason
