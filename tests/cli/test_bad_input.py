"""Input that is bad in some way: one clear line each, the documented exit code, the rest done, nothing lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commandline import CommandLine, Ran

GOOD = "Vinegar removes the scale from a kettle."
ENCRYPTED = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj "
    b"3 0 obj<</Filter/Standard/V 1/R 2/O<" + b"28" * 32 + b">/U<" + b"29" * 32 + b">/P -4>>endobj\n"
    b"trailer<</Root 1 0 R/Encrypt 3 0 R/ID[<" + b"30" * 16 + b"><" + b"30" * 16 + b">]>>\n%%EOF"
)
Make = Callable[[Path], object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one good file, whose name sorts between those that the tests add."""
    made = tmp_path / "mixed"
    made.mkdir()
    (made / "good.txt").write_text(GOOD + "\n", encoding="utf-8")
    return made


def one_line(ran: Ran, *, starting: str = "error: ") -> str:
    """The only line on stderr."""
    [line] = ran.err.splitlines()
    assert line.startswith(starting), line
    return line


def a_hundred_megabytes(path: Path, start: bytes = b"") -> None:
    with path.open("wb") as file:
        file.write(start)
        for _ in range(100):
            file.write(b"x" * 2**20)


def without_permission(path: Path) -> None:
    path.write_text("secret", encoding="utf-8")
    path.chmod(0)
    try:
        path.open("rb").close()
    except PermissionError:
        return
    pytest.skip("this user may read every file")


BAD: dict[str, tuple[str, Make, str]] = {  # what: name, how it is made, what the reason says
    "unreadable": ("secret.txt", without_permission, "Permission denied"),
    "no target": ("a.txt", lambda path: path.symlink_to("nowhere"), "a broken link"),
    "binary": ("a.bin", lambda path: path.write_bytes(bytes(range(256)) * 20), "binary file"),
    "nul": ("a.txt", lambda path: path.write_bytes(b"one\0two\0three\n"), "binary file"),
    "long line": ("a.txt", a_hundred_megabytes, "limit"),
    "long JSON line": ("a.jsonl", lambda path: a_hundred_megabytes(path, b'{"text": "'), "limit"),
    "malformed PDF": ("a.pdf", lambda path: path.write_bytes(b"%PDF-1.7\nnothing"), "not a readable PDF"),
    "encrypted PDF": ("a.pdf", lambda path: path.write_bytes(ENCRYPTED), "encrypted"),
    "DOCX": ("a.docx", lambda path: path.write_bytes(b"PK\x03\x04nothing"), ""),
    "JSONL": ("a.jsonl", lambda path: path.write_text('{"text": \n', encoding="utf-8"), "not JSON"),
    "CSV": ("a.csv", lambda path: path.write_text("name,year\nx,1\n", encoding="utf-8"), "there are: name, year"),
    "SQLite": ("a.db", lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(500)), "SQLite"),
}


@pytest.mark.parametrize(("name", "make", "reason"), BAD.values(), ids=BAD)
def test_a_bad_file_is_named_with_its_reason_and_the_good_one_is_found(
    cli: CommandLine, folder: Path, name: str, make: Make, reason: str
) -> None:
    make(folder / name)
    made = cli.ok("index", folder, "--json")
    assert (made.json["documents"]["added"], made.json["documents"]["skipped"]) == (1, 1)
    [skipped] = made.json["skipped"]
    assert skipped["path"].startswith(name)
    assert reason in skipped["reason"]
    assert skipped["reason"].isprintable()
    assert skipped["reason"] in made.err
    assert cli("index", folder, "--strict").code == 5
    assert cli.ok("query", "kettle", "--json").json["hits"][0]["path"] == "good.txt"
    assert cli.ok("verify").code == 0


def test_invalid_utf8_costs_only_itself(cli: CommandLine, folder: Path) -> None:
    (folder / "tea.txt").write_bytes(b"Green tea wants water below the boil. \xff\xfe Steep it briefly.\n")
    assert cli.ok("index", folder, "--strict", "--json").json["documents"]["added"] == 2
    assert cli.ok("query", "steep briefly", "--json").json["hits"][0]["path"] == "tea.txt"


def test_a_broken_line_of_jsonl_costs_only_itself(cli: CommandLine, folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"id": "x", "text": "Tea."}\n{"text"\n{"id": "y", "text": "Coal."}\n', "utf-8")
    made = cli.ok("index", folder, "--json").json
    assert made["documents"]["added"] == 3
    assert [item["path"] for item in made["skipped"]] == ["a.jsonl:2"]
    assert "not JSON" in made["skipped"][0]["reason"]


def test_a_csv_without_the_named_field_is_a_usage_error_alone_and_skipped_among_others(
    cli: CommandLine, folder: Path
) -> None:
    (folder / "a.csv").write_text("id,body\n1,Tea is hot.\n", encoding="utf-8")
    (folder / "b.csv").write_text("id,other\n1,Milk.\n", encoding="utf-8")
    alone = cli("index", folder / "b.csv", "-n", "alone", "--text-field", "body")
    assert alone.code == 2
    assert one_line(alone) == "error: b.csv has no column 'body'. Its columns are: id, other."
    made = cli.ok("index", folder, "-n", "all", "--text-field", "body", "--json").json
    assert made["documents"]["added"] == 2
    assert made["skipped"] == [{"path": "b.csv", "reason": "b.csv has no column 'body'. Its columns are: id, other."}]
    assert cli("index", "-n", "all", "--strict").code == 5
    assert cli.ok("query", "tea", "-n", "all", "--json").json["hits"][0]["path"] == "a.csv"


def test_a_database_that_the_query_does_not_fit_is_skipped_among_others(cli: CommandLine, folder: Path) -> None:
    for name, table in (("a.db", "notes"), ("b.db", "other")):
        with sqlite3.connect(folder / name) as database:
            database.execute(f"CREATE TABLE {table} (text TEXT)")
            database.execute(f"INSERT INTO {table} VALUES ('A text from {name}.')")
        database.close()
    made = cli.ok("index", folder, "--include", "*.db", "--sql", "SELECT text FROM notes", "--json").json
    assert made["documents"]["added"] == 1
    assert [item["path"] for item in made["skipped"]] == ["b.db"]


def test_an_id_used_twice_in_a_file_is_skipped_and_one_of_two_files_is_called_by_both(
    cli: CommandLine, folder: Path
) -> None:
    for name in ("a.csv", "b.csv"):
        (folder / name).write_text(f'id,text\n7,"From\n{name}."\n\n7,Again.\n', encoding="utf-8")
    skipped = cli.ok("index", folder, "--json").json["skipped"]
    assert skipped == [
        {"path": "a.csv:5", "reason": "its id '7' was already used in a.csv"},
        {"path": "b.csv:5", "reason": "its id 'b.csv#7' was already used in b.csv"},
    ]
    assert "From\nb.csv." in cli.ok("get", "b.csv#7").out


def test_a_folder_without_documents_is_a_warning(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = cli.ok("index", tmp_path / "empty", "-n", "e")
    assert one_line(ran, starting="warning: ") == "warning: no documents were found, so no index was created."
    assert cli("query", "anything", "-n", "e").code == 3  # an empty index is not left behind


def test_blank_standard_input_is_no_document_and_a_binary_one_an_error(cli: CommandLine) -> None:
    for blank in ("", " \n\n"):
        ran = cli.ok("index", "-", "-n", "in", "--json", stdin=blank)
        assert (ran.json["documents"]["added"], ran.json["warnings"]) == (
            0,
            ["no documents were found, so no index was created."],
        )
    ran = cli("index", "-", "-n", "in", stdin=b"\x00\x01\x02\x03" * 50)
    assert ran.code == 1
    assert one_line(ran) == "error: standard input cannot be read: binary file. Pipe text or records into it."


def test_a_missing_index_is_exit_3_with_the_nearest_name(cli: CommandLine, folder: Path) -> None:
    cli.ok("index", folder, "-n", "kettles")
    for command in (["query", "x"], ["index"], ["similar", "1"], ["info"], ["verify"], ["watch"], ["get", "1"]):
        ran = cli(*command, "-n", "kettle")
        assert ran.code == 3
        assert "Did you mean 'kettles'?" in one_line(ran)


@pytest.mark.parametrize("command", [["query", "x"], ["list"], ["verify"]])
def test_a_file_is_no_home_of_indexes(cli: CommandLine, folder: Path, command: list[str]) -> None:
    ran = cli("--home", folder / "good.txt", *command)
    assert (ran.code, ran.out) == (2, "")
    assert "is a file, not a folder of indexes" in one_line(ran)


@pytest.mark.parametrize("command", [["query", "x"], ["info"], ["rm", "-y"], ["delete", "--path", "*"], ["index"]])
def test_an_empty_name_never_means_another_index(cli: CommandLine, folder: Path, command: list[str]) -> None:
    cli.ok("index", folder)
    ran = cli(*command, "-n", "")
    assert ran.code == 2
    one_line(ran)
    assert cli.ok("info", "--json").json["documents"] == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["query", ""], "the query is empty"),
        (["query", " \n\t"], "the query is empty"),
        (["query", "-"], "the query is empty"),
        (["query", "x", "-k", "0"], "at least 1, not 0"),
        (["query", "x", "-k", "-1"], "at least 1, not -1"),
        (["query", "x", "--where", "year >"], "Write one like"),
        (["query", "x", "--less", "^"], '--less "diesel^0.5"'),
        (["query", "x", "--must", "?!"], "must needs a word"),
        (["query", "x", "--must", "?!", "--mode", "semantic"], "must needs a word"),
        (["query", "x", "--where", ""], "the filter is empty"),
        (["query", "x", "--where", "("], "incomplete after '('"),
        (["query", "x", "--where", "nokey = 1"], "'nokey'"),
        (["query", "x", "--where", "1; DROP TABLE documents"], "filter"),
        (["query", "x", "--device", "gpu"], "'gpu' is not a valid value for --device. It must be auto"),
        (["query", "x", "--where", "year in ()"], "filter"),
        (["query", "x", "--zzz"], "--zzz"),
        (["query", "x", "--alpha", "2"], "alpha"),
        (["query", "x", "--min-strength", "7"], "min"),
        (["query", "--mode", "keyword", "--like", "1"], "keyword"),
    ],
)
def test_a_query_that_cannot_be_is_one_short_line_with_its_fix(
    cli: CommandLine, folder: Path, arguments: list[str], told: str
) -> None:
    cli.ok("index", folder)
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in one_line(ran)
    error = cli(*arguments, "--json").json["error"]
    assert error["code"] == 2
    assert error["fix"]


def test_a_query_of_100_000_characters_and_a_k_beyond_the_size_are_answered(cli: CommandLine, folder: Path) -> None:
    cli.ok("index", folder)
    hits = cli.ok("query", "kettle " * 14_286, "-k", 10_000, "--json").json["hits"]
    assert [hit["path"] for hit in hits] == ["good.txt"]


def test_no_match_is_success_unless_hits_are_demanded(cli: CommandLine, folder: Path) -> None:
    cli.ok("index", folder)
    asked = ["query", "zeppelin", "--mode", "keyword"]
    assert cli.ok(*asked, "--json").json["hits"] == []
    assert cli(*asked, "--fail-empty").code == 1
    assert cli.ok("query", "kettle", "--must", "zeppelin").out == ""
