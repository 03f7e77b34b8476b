"""Objects in a store are read as files of their names would be: over a disk, and over a server that speaks S3."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.filemaking import parquet

from semsearch import SyncOptions
from semsearch.documents.walk import Rules
from semsearch.errors import NotFound, UsageError
from semsearch.scale import inputs
from semsearch.scale.parts import documents
from semsearch.scale.shards import objects
from semsearch.scale.shards.cutting import Cutter, Piece
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
