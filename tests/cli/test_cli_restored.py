"""A restored index: it follows no folder and downloads no encoder before its owner says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.commandline import CommandLine

from semsearch import Document, Index, NotFound, admin
from semsearch.models import hub
from semsearch.stores.local import backup, open_writer


@pytest.fixture
def dump_of(tmp_path: Path) -> Callable[..., Path]:
    """A dump of an index of one folder, whose recipe says something else."""

    def made(**recipe: Any) -> Path:
        notes = tmp_path / "notes"
        notes.mkdir(exist_ok=True)
        (notes / "a.md").write_text("Ships and the sea.", encoding="utf-8")
        with Index.create(tmp_path / "first", encoder="hashing", exist_ok=True) as index:
            index.sync([notes])
        with open_writer(tmp_path / "first") as writer:
            writer.change_recipe(lambda _: {**writer.reader.state().recipe, **recipe})
            backup.dump(writer.reader, tmp_path / "first.dump")
        return tmp_path / "first.dump"

    return made


def test_a_restored_index_reads_no_folder_until_it_is_trusted(
    cli: CommandLine, dump_of: Callable[..., Path], tmp_path: Path
) -> None:
    ran = cli.ok("restore", dump_of(), "-n", "copy")
    assert (
        ran.err.strip().endswith("If you trust the dump: semsearch trust copy") and str(tmp_path / "notes") in ran.err
    )
    assert len(ran.err.strip().splitlines()) == 1
    refused = cli("index", "-n", "copy", "--dry-run")
    assert refused.code == 2 and "semsearch trust NAME" in refused.err
    assert f"follow {tmp_path / 'notes'}" in cli.ok("info", "copy").out
    assert "Ships" in cli.ok("query", "ships", "-n", "copy", "--format", "csv").out
    (tmp_path / "notes" / "b.md").write_text("Salt and bread.", encoding="utf-8")
    assert str(tmp_path / "notes") in cli.ok("trust", "copy").out
    assert cli.ok("index", "-n", "copy", "--json").json["documents"]["added"] == 1
    assert "semsearch trust" not in cli.ok("info", "copy").out
    cli.ok("trust", "copy")  # again, which changes nothing


def test_restore_with_trust_is_what_the_index_was(cli: CommandLine, dump_of: Callable[..., Path]) -> None:
    ran = cli.ok("restore", dump_of(), "-n", "copy", "--trust", "--json")
    assert ran.json == {"schema": 1, "index": "copy", "documents": 1} and ran.err == ""
    assert cli.ok("index", "-n", "copy", "--json").json["documents"]["unchanged"] == 1


def test_another_folder_in_an_index_that_is_not_trusted_deletes_nothing(
    cli: CommandLine, dump_of: Callable[..., Path], tmp_path: Path
) -> None:
    cli.ok("restore", dump_of(), "-n", "copy")
    other = tmp_path / "other"
    other.mkdir()
    (other / "c.md").write_text("Coal.", encoding="utf-8")
    ran = cli.ok("index", other, "-n", "copy", "--json").json["documents"]
    assert (ran["added"], ran["deleted"]) == (1, 0)
    cli.ok("trust", "copy")
    ran = cli.ok("index", "-n", "copy", "--json").json["documents"]
    assert (ran["unchanged"], ran["deleted"], ran["added"]) == (2, 0, 0)


def test_the_dump_of_a_dump_that_was_not_trusted_is_not_trusted(dump_of: Callable[..., Path], tmp_path: Path) -> None:
    with admin.restore(dump_of(), tmp_path / "second") as index:
        admin.dump(index, tmp_path / "second.dump")
    with admin.restore(tmp_path / "second.dump", tmp_path / "third") as index:
        recipe = index.info()["recipe"]
        assert "roots" not in recipe and [root["path"] for root in recipe["set_aside"]["roots"]] == [
            str(tmp_path / "notes")
        ]
        admin.trust(index)
        assert index.sync().unchanged == 1


def test_the_encoder_of_a_dump_is_not_downloaded_until_it_is_trusted(
    cli: CommandLine, dump_of: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    def download(name: str, revision: str = "") -> Path:
        asked.append(name)
        raise NotFound(f"hf:{name} could not be downloaded: this is a test.")

    monkeypatch.setattr(hub, "download", download)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("SEMSEARCH_OFFLINE", raising=False)
    ran = cli.ok("restore", dump_of(encoder="hf:a-stranger/model"), "-n", "copy")
    assert "download the encoder hf:a-stranger/model" in ran.err
    for command in (["query", "ships"], ["index", tmp_path / "notes"]):
        refused = cli(*command, "-n", "copy")
        assert refused.code == 3 and "semsearch trust copy" in refused.err, command
    assert "Ships" in cli.ok("query", "ships", "--mode", "keyword", "-n", "copy", "--format", "csv").out
    assert asked == []
    cli.ok("trust", "copy")
    assert "Ships" in cli.ok("query", "ships", "-n", "copy").out  # one of the same fingerprint is on this machine
    assert asked == ["a-stranger/model"]


@pytest.mark.parametrize(
    "recipe",
    [
        {"roots": "everything"},
        {"roots": [{"path": 5}]},
        {"roots": [5]},
        {"encoder": ["hf:a/b"]},
        {"bases": []},
        {"bases": {"/x": 3}},
        {"set_aside": 7},
        {"set_aside": {"roots": 7}},
    ],
)
def test_a_dump_with_a_recipe_that_makes_no_sense_is_refused(
    cli: CommandLine, dump_of: Callable[..., Path], recipe: dict[str, Any]
) -> None:
    ran = cli("restore", dump_of(**recipe), "-n", "copy")
    assert ran.code == 1 and "damaged" in ran.err and "unexpected" not in ran.err
    assert cli("info", "copy").code == 3


@pytest.mark.parametrize("recipe", [{"bases": {}}, {"bases": {"/elsewhere": ""}}, {"roots": [{"path": "/x"}]}])
def test_folders_that_do_not_fit_each_other_are_one_clear_error(
    cli: CommandLine, dump_of: Callable[..., Path], recipe: dict[str, Any]
) -> None:
    cli.ok("restore", dump_of(**recipe), "-n", "copy", "--trust")
    ran = cli("index", "-n", "copy", "--dry-run")
    assert ran.code == 1 and "about its folders is damaged" in ran.err and "unexpected" not in ran.err
    assert "Ships" in cli.ok("query", "ships", "-n", "copy", "--format", "csv").out


def test_an_index_that_names_no_folder_is_restored_without_a_word(cli: CommandLine, tmp_path: Path) -> None:
    with Index.create(tmp_path / "own", encoder="hashing") as index:
        index.add([Document("a", "Ships.")])
        admin.dump(index, tmp_path / "own.dump")
    ran = cli.ok("restore", tmp_path / "own.dump", "-n", "copy", "--json")
    assert ran.json == {"schema": 1, "index": "copy", "documents": 1} and ran.err == ""
