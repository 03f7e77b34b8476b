"""Objects in a store are read as files of their names would be: over a disk, and over a server that speaks S3."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.filemaking import parquet

from semsearch import SyncOptions
from semsearch.documents import loaders
from semsearch.documents.walk import Rules
from semsearch.errors import NotFound, UsageError
from semsearch.indexing.file_reader import named
from semsearch.scale import inputs
from semsearch.scale.parts import documents
from semsearch.scale.shards import borders, objects
from semsearch.scale.shards.cutting import Cutter
from semsearch.scale.shards.shard import Piece
from semsearch.types import Document, Skipped


def put(folder: Path) -> dict[str, bytes]:
    """Files for a store, by name: lines, Markdown below a folder, a picture, something hidden."""
    lines = "".join(json.dumps({"id": f"r{n}", "text": f"Record {n}."}) + "\n" for n in range(25))
    found = {
        "records.jsonl": lines.encode(),
        "deep/er/note.md": b"# Kettles\n\nFill it.\n",
        "photo.png": b"\x89PNG",
        ".hidden/secret.txt": b"Not for anybody.",
    }
    for name, content in found.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return found


def read(address: str, options: SyncOptions | None = None) -> tuple[list[Document], list[str]]:
    found = inputs.of_store([address], options or SyncOptions())
    shards = list(Cutter(10, "w").shards(found.files))
    items = [item for shard in shards for item in documents(shard.pieces)]
    return [item for item in items if isinstance(item, Document)], [one.path for one in found.skipped]


def test_objects_on_a_disk_are_read_like_files(tmp_path: Path) -> None:
    put(tmp_path)
    found, skipped = read(tmp_path.as_uri())
    assert [one.id for one in found] == ["deep/er/note.md", *(f"r{n}" for n in range(25))]
    assert (found[0].title, skipped) == ("Kettles", ["photo.png"])


def test_one_object_is_named_by_its_last_name(tmp_path: Path) -> None:
    put(tmp_path)
    found, _ = read((tmp_path / "deep" / "er" / "note.md").as_uri())
    assert [one.id for one in found] == ["note.md"]


def test_patterns_choose_objects_and_parquet_has_to_be_asked_for(tmp_path: Path) -> None:
    put(tmp_path)
    (tmp_path / "more").mkdir()
    parquet(tmp_path / "more" / "rows.parquet", {"text": ["One.", "Two."]})
    assert not any("rows" in one.id for one in read(tmp_path.as_uri())[0])
    found, _ = read(tmp_path.as_uri(), SyncOptions(kind="parquet"))
    assert [one.text for one in found] == ["One.", "Two."]
    found, _ = read(tmp_path.as_uri(), SyncOptions(rules=Rules(include=("deep/**",))))
    assert [one.id for one in found] == ["deep/er/note.md"]


def large(folder: Path, name: str) -> Path:
    """A file of 95 records, some without an id, one of them broken, with lines of 40 kB before its end."""
    folder.mkdir(exist_ok=True)
    path, texts = folder / name, [f"Record {n}.\n" + "kettle " * (6_000 if n > 60 else 5) for n in range(95)]
    ids = [f"r{n}" if n % 3 else None for n in range(95)]
    if name.endswith("jsonl"):
        lines = [
            json.dumps({"text": text} | ({"id": one} if one else {})) for one, text in zip(ids, texts, strict=True)
        ]
        path.write_text("\n".join([*lines[:50], "no json", *lines[50:]]) + "\n")
    elif name.endswith("csv"):
        path.write_text("text,n\n" + "".join(f'"{text}",{n}\n' for n, text in enumerate(texts)))
    else:
        pq.write_table(pa.table({"id": ids, "text": texts}), path, 5, compression="none", use_dictionary=False)
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_a_large_object_is_cut_and_no_more_of_it_is_fetched_than_a_part_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(borders, "WHOLE", 1000)
    monkeypatch.setattr(objects, "EDGE", 2**16)
    path = large(tmp_path / "store", name)
    found = inputs.of_store([path.parent.as_uri()], SyncOptions(kind="parquet" if "parquet" in name else None)).files
    shards = list(Cutter(10, "w").shards(found))
    assert len(shards) >= 9 and sum(shard.size for shard in shards) == path.stat().st_size
    assert len({shard.name for shard in shards}) == len(shards)
    whole = [named(name, path, item) for item in loaders.load(path)]
    assert [item for shard in shards for item in documents(shard.pieces)] == whole and len(whole) in (95, 96)
    [piece] = shards[-1].pieces
    with objects.local(piece.file.location, (piece.start.at, piece.file.size, piece.file.size)) as copy:
        content, fetched = path.read_bytes(), copy.read_bytes()
    assert fetched[piece.start.at :] == content[piece.start.at :] and len(fetched) == len(content)
    assert not any(fetched[2**16 : piece.start.at]) and any(content[2**16 : piece.start.at])


def test_a_small_object_is_not_read_for_cutting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large(tmp_path / "store", "a.jsonl")
    found = inputs.of_store([(tmp_path / "store").as_uri()], SyncOptions()).files
    monkeypatch.setattr(objects, "opened", None)
    assert len(list(Cutter(10, "w").shards(found))) == 1


def test_an_object_that_changes_after_it_was_cut_is_left_to_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(borders, "WHOLE", 1000)
    path = large(tmp_path / "store", "a.jsonl")
    [file] = inputs.of_store([path.parent.as_uri()], SyncOptions()).files
    shards = list(Cutter(10, "w").shards([file]))
    path.write_text('{"text": "Another."}\n' * 200)
    for shard in shards:
        [skipped] = documents(shard.pieces)
        assert isinstance(skipped, Skipped) and skipped.reason.startswith(objects.UNREACHED)


@pytest.mark.parametrize("folder", ["plain", "my docs", "50%25", "a#b"])
@pytest.mark.parametrize("name", ["my note.md", "50% off.md", "100%25.md", "why?.md", "a#b.md", "é.md"])
def test_every_character_may_be_in_the_name_of_an_object(tmp_path: Path, folder: str, name: str) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / name).write_text("Fill it.")
    found, _ = read((tmp_path / folder).as_uri())
    assert [(one.id, one.text) for one in found] == [(name, "Fill it.")]


def test_excluded_and_generated_objects_are_left_out(tmp_path: Path) -> None:
    put(tmp_path)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "readme.md").write_text("Of others.")
    found, _ = read(tmp_path.as_uri(), SyncOptions(rules=Rules(exclude=("deep",))))
    assert [one.id for one in found] == [f"r{n}" for n in range(25)]


def test_folders_beyond_the_first_have_a_prefix_and_no_object_is_read_twice(tmp_path: Path) -> None:
    for folder in ("a/notes", "b/notes", "c/notes"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "kettle.md").write_text(f"Of {folder}.")
    addresses = [(tmp_path / folder).as_uri() for folder in ("a/notes", "b/notes", "a", "c/notes/kettle.md")]
    found = inputs.of_store(addresses, SyncOptions()).files
    assert [one.uri for one in found] == ["kettle.md", "notes/kettle.md", "notes-2/kettle.md"]


def test_an_object_that_goes_away_is_skipped_with_a_reason_for_trying_again(tmp_path: Path) -> None:
    put(tmp_path)
    [file] = [one for one in inputs.of_store([tmp_path.as_uri()], SyncOptions()).files if one.uri.endswith("note.md")]
    (tmp_path / "deep" / "er" / "note.md").unlink()
    [skipped] = documents([Piece(file)])
    assert isinstance(skipped, Skipped) and skipped.reason.startswith(objects.UNREACHED)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="AWS_SECRET_ACCESS_KEY") as refused:
        read("s3://ann:hunter2@bucket/folder")
    assert "hunter2" not in str(refused.value)


def test_a_changed_object_changes_its_shard(tmp_path: Path) -> None:
    put(tmp_path)

    def names() -> list[str]:
        return [one.name for one in Cutter(1, "w").shards(inputs.of_store([tmp_path.as_uri()], SyncOptions()).files)]

    before = names()
    assert names() == before
    (tmp_path / "records.jsonl").write_text('{"text": "Another."}\n')
    assert len(set(before) - set(names())) == 1


@pytest.mark.parametrize("address", ["file:///no/such/folder", "file://{empty}"])
def test_an_address_without_anything_is_not_found(tmp_path: Path, address: str) -> None:
    with pytest.raises(NotFound):
        read(address.format(empty=tmp_path))


def test_an_address_of_no_store_is_refused() -> None:
    with pytest.raises(UsageError, match="no address"):
        read("nothing://bucket/x")


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a bucket on a server that speaks S3, with what `put` makes."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0)
    from pyarrow.fs import S3FileSystem  # with the server only

    server.start()
    try:
        host, port = server.get_host_and_port()
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "tests")
        store = S3FileSystem(endpoint_override=f"{host}:{port}", scheme="http", allow_bucket_creation=True)
        store.create_dir("notes")
        for name, content in put(tmp_path).items():
            with store.open_output_stream(f"notes/all/{name}") as out:
                out.write(content)
        yield f"s3://notes/all?endpoint_override={host}:{port}&scheme=http"
    finally:
        server.stop()


@pytest.mark.scale
def test_objects_of_s3_are_the_documents_of_the_same_files(bucket: str, tmp_path: Path) -> None:
    found, skipped = read(bucket)
    local, _ = read(tmp_path.as_uri())
    assert found == local and skipped == ["photo.png"]
