"""`query TEXT PATH…`: files and folders are asked without indexing them first."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
from helpers import two_notes
from helpers.commandline import CommandLine
from helpers.two_notes import BREAD, KETTLE

import semsearch
from semsearch import Document, Index
from semsearch.cli.searching import asked_paths


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return two_notes.written(tmp_path / "notes")


def answer(cli: CommandLine, *arguments: object) -> dict:
    return cli.ok("query", *arguments, "--json").json


def names(cli: CommandLine) -> list[str]:
    return [one["index"] for one in cli.ok("list", "--json").json["indexes"]]


def test_a_folder_is_asked_without_indexing_it_first(cli: CommandLine, notes: Path) -> None:
    asked = cli.ok("query", "remove scale from a kettle", notes, "--json")
    shown = asked.json
    assert (shown["index"], shown["hits"][0]["path"]) == ("notes", f"{notes}/kettle.md")
    assert shown["update"]["documents"]["added"] == 2
    assert shown["hits"][0]["strength"] > 0.9  # the run is complete, so by meaning too
    assert "new index notes" in asked.err
    assert f"so far, by words, in 2 of 2 files:\n {notes}/kettle.md:3: {KETTLE.partition('.')[0]}." in asked.err
    assert cli.ok("info", "notes", "--json").json["recipe"]["roots"][0]["path"] == str(notes)


def test_the_same_paths_find_their_index_again_and_bring_it_up_to_date(cli: CommandLine, notes: Path) -> None:
    answer(cli, "kettle", notes)
    quiet = cli.ok("query", "kettle", notes)
    assert (quiet.err, names(cli)) == ("", ["notes"])  # nothing has changed, so nothing is said
    (notes / "bread.txt").unlink()
    (notes / "tea.txt").write_text("Green tea is best with water of eighty degrees.\n", encoding="utf-8")
    again = answer(cli, "green tea", notes.parent / "notes" / "." / "")
    assert again["hits"][0]["path"] == f"{notes}/tea.txt"
    assert again["update"]["documents"] | {"unchanged": 0} == {
        "added": 1, "changed": 0, "unchanged": 0, "moved": 0, "deleted": 1, "skipped": 0,
    }  # fmt: skip
    assert {hit["document"] for hit in again["hits"]} == {"tea.txt", "kettle.md"}


def test_an_index_that_index_made_of_these_paths_answers(cli: CommandLine, notes: Path) -> None:
    cli.ok("index", notes, "-n", "work", "-m", "hashing")
    shown = answer(cli, "kettle", notes)
    assert (shown["index"], shown["encoder"]["name"], names(cli)) == ("work", "hashing", ["work"])


def test_other_paths_have_an_index_of_their_own(cli: CommandLine, notes: Path, tmp_path: Path) -> None:
    answer(cli, "kettle", notes)
    assert answer(cli, "kettle", notes / "kettle.md")["index"] == "kettle"
    other = tmp_path / "elsewhere" / "notes"
    other.mkdir(parents=True)
    (other / "a.txt").write_text("Diesel engines ignite by compression.\n", encoding="utf-8")
    assert answer(cli, "diesel", other)["index"] == "notes-2"
    assert answer(cli, "diesel", other)["index"] == "notes-2"
    both = answer(cli, "diesel", other, notes, notes / "kettle.md")  # what lies in another of them adds nothing
    assert answer(cli, "diesel", notes, other)["index"] == both["index"] not in {"notes", "notes-2", "kettle"}


def test_an_index_with_the_name_of_a_folder_is_left_alone(cli: CommandLine, notes: Path, tmp_path: Path) -> None:
    with Index.create("notes", encoder="hashing", home=Path(cli.ok("list", "--json").json["home"])) as mine:
        mine.add([Document("mine", "A text of my own.")])
    assert answer(cli, "kettle", notes)["index"] == "notes-2"
    assert len(Index.open("notes")) == 1


def test_without_an_update_what_is_there_answers(cli: CommandLine, notes: Path) -> None:
    missing = cli("query", "kettle", notes, "--no-update", "--json")
    assert (missing.code, names(cli)) == (3, [])
    assert "Leave out --no-update" in missing.json["error"]["fix"]
    answer(cli, "kettle", notes)
    (notes / "tea.txt").write_text("A kettle for tea.\n", encoding="utf-8")
    shown = answer(cli, "kettle for tea", notes, "--no-update")
    assert "update" not in shown
    assert {hit["document"] for hit in shown["hits"]} == {"kettle.md", "bread.txt"}
    for file in notes.iterdir():
        file.unlink()
    notes.rmdir()  # a disk that is away
    assert answer(cli, "kettle", notes, "--no-update")["hits"][0]["path"] == f"{notes}/kettle.md"


def test_an_index_by_its_name_is_not_updated_with_or_without_an_update(cli: CommandLine, notes: Path) -> None:
    answer(cli, "kettle", notes)
    (notes / "tea.txt").write_text("A kettle for tea.\n", encoding="utf-8")
    for option in ([], ["--no-update"]):
        assert {hit["path"] for hit in answer(cli, "kettle for tea", "-n", "notes", *option)["hits"]} == {
            "kettle.md",
            "bread.txt",
        }


def test_beside_another_writer_the_answer_is_what_is_there_and_says_so(cli: CommandLine, notes: Path) -> None:
    answer(cli, "kettle", notes)
    (notes / "tea.txt").write_text("A kettle for tea.\n", encoding="utf-8")
    with Index.open("notes") as other:
        other.annotate("kettle.md", {"read": True})  # which takes the lock
        asked = cli.ok("query", "kettle", notes, "--json")
    assert asked.json["warnings"][0] == asked_paths.LOCKED
    assert f"warning: {asked_paths.LOCKED}" in asked.err
    assert len(asked.json["hits"]) == 2
    assert len(answer(cli, "kettle", notes)["hits"]) == 3


def test_a_folder_without_text_is_an_error_and_leaves_no_index(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "photo.png").write_bytes(b"\x89PNG")
    asked = cli("query", "kettle", tmp_path / "empty", "--json")
    assert (asked.code, names(cli)) == (3, [])
    assert f"no documents were found in {tmp_path / 'empty'}. photo.png: binary file (image)" in asked.err


@pytest.mark.parametrize("path", ["folder", "empty.txt"])
def test_what_has_no_text_is_a_warning_for_index_and_an_error_for_query(
    cli: CommandLine, tmp_path: Path, path: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.txt").write_text(" \n")
    indexed, asked = cli.ok("index", tmp_path / path), cli("query", "kettle", tmp_path / path)
    assert "warning: no documents were found, so no index was created." in indexed.err
    assert asked.code == 3 and "no documents were found in " in asked.err
    for one in (indexed, asked):
        assert ("empty.txt: no text found in it" in one.err) == (path == "empty.txt")
    assert names(cli) == []


def test_a_file_that_cannot_be_read_is_an_error_that_names_it(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    asked = cli("query", "kettle", tmp_path / "photo.png")
    assert (asked.code, names(cli)) == (1, [])
    assert "photo.png: binary file (image)" in asked.err


def test_what_is_skipped_is_counted_and_can_be_listed(cli: CommandLine, notes: Path) -> None:
    (notes / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    asked = cli.ok("query", "kettle", notes, "--json")
    [skipped] = asked.json["update"]["skipped"]
    assert skipped["path"] == "broken.pdf"
    assert "notes: 2 added, 1 skipped; what was skipped, and why: semsearch info notes\n" in asked.err
    assert "notes: 1 skipped; " in cli.ok("query", "kettle", notes).err  # of each run
    (notes / "other.pdf").write_bytes(b"%PDF-1.4 nothing")
    assert "notes: 2 skipped; " in cli.ok("query", "kettle", notes).err


def test_hits_have_the_path_that_was_given(
    cli: CommandLine, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = tmp_path / "mail" / "notes"  # as another folder is called
    (mail / "old").mkdir(parents=True)
    (mail / "old" / "kettle.csv").write_text("text\nA kettle without scale.\nScale in the kettle.\n", encoding="utf-8")
    (tmp_path / "tea.txt").write_text("Tea from a kettle.\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(notes)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    paths = "../link/", mail, "../tea.txt"
    names = ["../link/kettle.md", f"{mail}/old/kettle.csv", "../tea.txt"]
    found = answer(cli, "kettle", *paths, "--mode", "keyword")
    assert {hit["path"] for hit in found["hits"]} == {*names}
    assert {hit["document"].partition("#")[0] for hit in found["hits"]}.isdisjoint(names)  # still the ids
    told = {hit["path"]: hit for hit in found["hits"]}
    assert told["../link/kettle.md"]["file"] == str(notes / "kettle.md")
    for shape in ("table", "md"):
        shown = cli.ok("query", "kettle", *paths, "--mode", "keyword", "--format", shape).out.replace("\\", "")
        assert all(name in shown for name in (*names[::2], f"{names[1]}#")) and "[" not in shown, shown
    listed = cli.ok("query", "kettle", *paths, "--mode", "keyword", "--format", "paths").out.splitlines()
    assert {*listed} == {*names}
    assert [hit["path"] for hit in answer(cli, "kettle", *paths, "--path", names[2])["hits"]] == [names[2]]
    monkeypatch.chdir(notes)
    assert answer(cli, "kettle", ".", "--path", "./kettle.*")["hits"][0]["path"] == "./kettle.md"
    assert answer(cli, "kettle", *paths, "--path", f"{mail}/*/*.csv")["hits"][0]["path"] == names[1]


@pytest.mark.parametrize(
    "wrong, code",
    [
        (["kettle", "nowhere"], 3),
        (["kettle", "{notes}", "-n", "notes"], 2),
        (["kettle", "{notes}", "-k", "0"], 2),
        (["kettle", "{notes}", "--where", "year >"], 2),
        (["", "{notes}"], 2),
        (["kettle", "--no-update"], 2),
        (["kettle", "/"], 2),
    ],
)
def test_a_mistake_costs_no_indexing(cli: CommandLine, notes: Path, wrong: list[str], code: int) -> None:
    asked = cli("query", *(part.format(notes=notes) for part in wrong))
    assert (asked.code, names(cli)) == (code, []), asked.err
    assert asked.err.startswith("error: ")


@pytest.mark.parametrize("command", ["query", "index"])
def test_a_folder_whose_name_is_not_utf_8_is_named(cli: CommandLine, notes: Path, command: str) -> None:
    named = notes.rename(os.fsdecode(os.fsencode(notes) + b"\xe9"))
    asked = cli(command, *["kettle"] * (command == "query"), named)
    assert (asked.code, names(cli)) == (2, [])
    assert f"error: {notes}\\xe9 cannot be followed: its name is not UTF-8. Name a folder above, or" in asked.err


@pytest.mark.parametrize("command", ["query", "index"])
def test_an_empty_path_is_no_path_to_the_current_folder(cli: CommandLine, notes: Path, command: str) -> None:
    asked = cli(command, *["kettle"] * (command == "query"), notes, "")
    assert asked.code == 2 and "a path is empty" in asked.err and names(cli) == []


def test_an_unquoted_question_gets_a_hint(cli: CommandLine, notes: Path) -> None:
    asked = cli("query", "how", "do", "I", "descale", notes)
    assert "do does not exist. Check the spelling; TEXT comes first, and in quotes if it has spaces." in asked.err


def test_a_folder_that_is_confirmed_once_is_not_asked_about_again(
    cli: CommandLine, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(notes))
    refused = cli("query", "kettle", notes)
    assert "confirm it once: semsearch index" in refused.err
    cli.ok("index", notes, "--yes")
    assert answer(cli, "kettle", notes)["hits"][0]["document"] == "kettle.md"


def test_a_batch_of_queries_is_asked_of_paths_too(cli: CommandLine, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.txt").write_text("a\tkettle\nb\tbread\n", encoding="utf-8")
    shown = answer(cli, notes, "--batch", tmp_path / "queries.txt", "-k", 1)
    assert [one["hits"][0]["document"] for one in shown["queries"]] == ["kettle.md", "bread.txt"]


def test_a_run_that_is_ended_is_gone_on_with_by_the_next(cli: CommandLine, notes: Path) -> None:
    for number in range(600):
        (notes / f"{number:03}.txt").write_text(f"Note {number}. {BREAD}\n", encoding="utf-8")
    running = subprocess.Popen([sys.executable, "-m", "semsearch", "-q", "query", "kettle", str(notes)])
    home = Path(cli.ok("list", "--json").json["home"])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not _documents(home):
        time.sleep(0.01)
    running.send_signal(signal.SIGTERM)
    running.wait()
    there = _documents(home)
    assert (running.returncode, there > 0) in {(143, True), (0, True)}
    shown = answer(cli, "scale of a kettle", notes)
    assert (shown["index"], shown["hits"][0]["document"]) == ("notes", "kettle.md")
    assert shown["update"]["documents"]["added"] == 602 - there


def test_after_ctrl_c_the_hits_so_far_are_printed(cli: CommandLine, notes: Path) -> None:
    for number in range(600):
        (notes / f"{number:03}.txt").write_text(f"Note {number}. {BREAD}\n", encoding="utf-8")
    command = [sys.executable, "-m", "semsearch", "query", "kettle", str(notes), "--format", "paths", "--absolute"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    home = Path(cli.ok("list", "--json").json["home"])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not _documents(home):
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate()
    assert out.splitlines()[0] == str(notes / "kettle.md")
    assert (running.returncode, "interrupted: the answer is from what was read so far" in errors) == (130, True)
    assert _documents(home) < 602


def test_ctrl_c_before_anything_is_stored_says_so_and_leaves_no_index(
    cli: CommandLine, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Index, "sync", Mock(side_effect=KeyboardInterrupt))
    asked = cli("query", "kettle", notes)
    assert (asked.code, asked.out, "interrupted before anything was stored" in asked.err) == (130, "", True)
    assert names(cli) == []


def test_what_cannot_be_asked_says_what_to_do(cli: CommandLine, notes: Path) -> None:
    (notes / "t.tsv").write_text("id\tyear\n1\t2020\n", encoding="utf-8")
    (notes / "empty").mkdir()
    assert "semsearch index PATH --text-field F" in cli("query", "kettle", notes / "t.tsv").err
    assert "There is no file to read in it." in cli("query", "kettle", notes / "empty").err
    assert f"semsearch query TEXT {notes}" in cli("query", notes).err
    for nothing in ('""', "“ ”", ' "!?" '):
        assert "the query is empty" in cli("query", nothing, notes).err


def test_files_without_words_are_not_counted_as_read(cli: CommandLine, notes: Path) -> None:
    (notes / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    assert "so far, by words, in 2 of 3 files:" in cli("query", "kettle", notes).err


def _documents(home: Path) -> int:
    try:
        with Index.open("notes", home=home) as index:
            return len(index)
    except semsearch.SemsearchError:
        return 0


def test_better_hits_are_shown_while_passages_are_embedded(
    cli: CommandLine, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asked_paths, "WAIT_SECONDS", 0.1)
    for number in range(400):
        (notes / f"{number:03}.txt").write_text(f"Note {number}. {BREAD}\n", encoding="utf-8")
    asked = cli.ok("query", "kettle", notes, "-k", 1)
    shown = [line for line in asked.err.splitlines() if line.startswith("so far, in ")]
    assert shown and all(line.endswith(" of 402 files:") for line in shown)
    assert json.loads(asked.out)["document"] == "kettle.md"
    assert "so far" not in cli.ok("-q", "query", "kettle", notes / "kettle.md").err
