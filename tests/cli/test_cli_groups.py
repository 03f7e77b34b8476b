"""`dedup`: what it prints, what it deletes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commandline import CommandLine

import semsearch
from semsearch.cli.groups import dedup_command

ENGINE = "Diesel engines ignite by compression of the air in them and the fuel is injected late."


@pytest.fixture
def notes(cli: CommandLine, tmp_path: Path) -> CommandLine:
    """An index of two exact copies, a near one, and something else."""
    folder = tmp_path / "notes"
    folder.mkdir()
    texts = {"a.txt": ENGINE, "bb.txt": ENGINE, "near.txt": f"{ENGINE} Always.", "bread.txt": "Bread needs salt."}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    cli.ok("-q", "index", folder)
    return cli


def documents() -> list[str]:
    with semsearch.Index.open("notes") as index:
        return [one["id"] for one in index.documents()]


def test_dedup_lists_what_to_keep_and_deletes_nothing(notes: CommandLine) -> None:
    ran = notes.ok("dedup", "notes", "--threshold", 0.8, "--words", 0.8)
    assert [line.split()[:2] for line in ran.lines[1:]] == [["keep", "near.txt"], ["copy", "a.txt"], ["copy", "bb.txt"]]
    assert "longest text" in ran.lines[1] and "2 copies of 1 document" in ran.err and len(documents()) == 4
    found = notes.ok("dedup", "notes", "--exact", "--keep", "first", "--json").json
    (group,) = found["groups"]
    assert (group["keep"], found["copies"], found["deleted"]) == ("a.txt", 1, 0)
    (copy,) = group["copies"]
    assert copy.pop("cosine") > 0.9  # titles differ, and are embedded too
    assert copy == {"document": "bb.txt", "kind": "exact", "shared_words": 1.0}


def test_dedup_deletes_the_copies_when_asked_to(notes: CommandLine) -> None:
    found = notes.ok("dedup", "notes", "--exact", "--delete", "--json").json
    assert found["deleted"] == 1 and documents() == ["a.txt", "bread.txt", "near.txt"]
    ran = notes.ok("dedup", "notes", "--exact", "--delete")
    assert ran.out == "" and "no copies" in ran.err


def test_many_copies_are_deleted_only_after_a_confirmation(notes: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dedup_command, "CONFIRM_ABOVE", 0)
    refused = notes("dedup", "notes", "--exact", "--delete")
    assert refused.code == 2 and "-y" in refused.err and len(documents()) == 4
    assert notes("dedup", "notes", "--exact", "--delete", stdin="n\n", terminal=True).code == 1
    assert len(documents()) == 4
    notes.ok("dedup", "notes", "--exact", "--delete", "-y")
    assert len(documents()) == 3


def test_nothing_is_deleted_of_an_index_that_has_changed_since_it_was_compared(
    notes: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dedup_command, "CONFIRM_ABOVE", 0)

    def answer(*_: object, **__: object) -> None:
        with semsearch.Index.open("notes") as other:
            other.delete(["a.txt"])

    monkeypatch.setattr("semsearch.cli.output.console.confirm", answer)
    refused = notes("dedup", "notes", "--exact", "--delete")
    assert refused.code == 1 and "changed" in refused.err and documents() == ["bb.txt", "bread.txt", "near.txt"]


@pytest.mark.parametrize("wrong", [("--threshold", "2"), ("--words", "-1"), ("--keep", "best"), ("--where", "n <")])
def test_wrong_options_of_dedup_are_usage_errors(notes: CommandLine, wrong: tuple[str, str]) -> None:
    assert notes("dedup", "notes", *wrong).code == 2
