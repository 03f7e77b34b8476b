"""Links to collections on servers: what stands in `store.json`, and what never does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.commandline import CommandLine

from semsearch import Index, admin
from semsearch.errors import Corrupt, NotFound, SemsearchError, UsageError
from semsearch.stores import drivers
from semsearch.stores.remote import links
from semsearch.stores.remote.links import Link

LINK = Link("postgres", "postgresql://host/notes", "notes", links.new_id())


def test_a_link_is_read_as_it_was_written_and_lists_its_name(tmp_path: Path) -> None:
    links.write(tmp_path / "notes", LINK)
    assert links.read(tmp_path / "notes") == LINK
    assert (links.store(tmp_path / "notes"), links.store(tmp_path / "other")) == ("postgres", None)
    assert links.names(tmp_path) == drivers.load("postgres").names(tmp_path) == ["notes"]


def test_a_link_to_a_store_of_another_version_says_how_the_index_moves(cli: CommandLine, tmp_path: Path) -> None:
    links.write(tmp_path / "old", Link("milvus", "http://host:19530", "old", links.new_id()))
    assert drivers.exists(tmp_path / "old") and admin.names(tmp_path) == ["old"]
    for opened in (Index.open, admin.remove):
        with pytest.raises(NotFound, match=r"called 'milvus'.* it has lance, local, postgres") as refused:
            opened(tmp_path / "old")
        assert "admin.restore" in str(refused.value)
    for command in (["query", "tea", "-n", "old"], ["index", tmp_path, "-n", "old"]):
        ran = cli("--home", tmp_path, *command)
        assert ran.code == 3 and "semsearch restore" in ran.err
    listed = cli.ok("--home", tmp_path, "list", "--json").json["indexes"]
    assert [one["index"] for one in listed] == ["old"] and "milvus" in listed[0]["problem"]


def test_a_collection_made_anew_is_another_index(tmp_path: Path) -> None:
    for name in ("one", "two"):
        links.write(tmp_path / name, Link("postgres", LINK.address, "notes", links.new_id()))
    assert links.identity(tmp_path / "one") != links.identity(tmp_path / "two")
    assert links.identity(tmp_path / "one") == links.identity(tmp_path / "one")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:geheim@host/notes",
        "postgresql://host/notes?password=geheim",
        "host=db password = geheim dbname=notes",
        "http://host:19530?token=geheim",
        "https://root:geheim@host:19530",
    ],
)
def test_no_password_gets_into_a_link_or_a_message(address: str) -> None:
    with pytest.raises(UsageError) as refused:
        links.refuse_secrets(address, "PGPASSWORD")
    assert "geheim" not in str(refused.value) and "PGPASSWORD" in str(refused.value)


@pytest.mark.parametrize(
    "address",
    ["postgresql://ann@host/notes", "http://host:19530", "host=db dbname=notes", "x.db", "http://[::1]:19530"],
)
def test_an_address_without_a_password_is_taken(address: str) -> None:
    links.refuse_secrets(address, "PGPASSWORD")


@pytest.mark.parametrize("content", ["", "[]", "{", '{"format": 1}', '{"format": 1, "store": 3}', "\x00"])
def test_a_damaged_link_is_one_clear_error(tmp_path: Path, content: str) -> None:
    (tmp_path / links.FILE).write_text(content)
    with pytest.raises(Corrupt, match=links.FILE):
        links.read(tmp_path)


def test_a_link_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    links.write(tmp_path / "notes", LINK)
    file = tmp_path / "notes" / links.FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 2}))
    with pytest.raises(SemsearchError, match="format 2"):
        links.read(tmp_path / "notes")


def test_no_link_is_written_into_a_folder_in_use(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"diary\.txt"):
        links.write(tmp_path, LINK)
    with pytest.raises(UsageError, match="cannot be a folder"):
        links.write(tmp_path / "diary.txt", LINK)
    assert [file.name for file in tmp_path.iterdir()] == ["diary.txt"]


def test_a_link_is_renamed_and_removed_alone(tmp_path: Path) -> None:
    links.write(tmp_path / "notes", LINK)
    (tmp_path / "taken").mkdir()
    with pytest.raises(UsageError, match="taken"):
        links.rename(tmp_path / "notes", tmp_path / "taken")
    links.rename(tmp_path / "notes", tmp_path / "mine")
    assert links.read(tmp_path / "mine") == LINK
    (tmp_path / "mine" / "diary.txt").write_text("mine")
    assert links.remove(tmp_path / "mine") == ["diary.txt"]
    for gone in (links.remove, links.read, lambda place: links.rename(place, tmp_path / "other")):
        with pytest.raises(NotFound):
            gone(tmp_path / "mine")


def test_a_local_store_has_no_address(tmp_path: Path) -> None:
    driver, address = drivers.parse("local:/somewhere")
    with pytest.raises(UsageError, match="/somewhere"):
        driver.create(tmp_path / "notes", address=address)
    with pytest.raises(UsageError, match="/somewhere"):
        driver.link(tmp_path / "notes", address)
    assert not (tmp_path / "notes").exists()
