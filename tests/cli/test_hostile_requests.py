"""Requests that are too large or too deep: exit 2 with a reason, and nothing that controls a terminal in the output."""

from __future__ import annotations

from unittest import mock

import pytest
from helpers.commandline import CommandLine

from semsearch import Document, Index
from semsearch.stores import entry_checks

NESTED = "(" * 98 + "a = 1"
FILTERS = {
    "open brackets": "(" * 5_000,
    "brackets": "a = 1" + " and (b = 2 or (a = 1" * 49 + "))" * 49,
    "not": "not (a = 1 and " * 99 + "b = 1" + ")" * 99,
    "far too deep": "(a = 1 or (b = 2 and " * 4_000 + "a = 1" + "))" * 4_000,
    "parts": ".".join(["a"] * 40_000) + " = 1",
    "65 parts": ".".join(["a"] * 65) + " = 1",
    "quoted parts": ".".join(['"x y"'] * 15_000) + " exists",
}
SPOOFED = "a\x1b[2Jb \u202egnp.exe\u2066 \u061c end\x07"


@pytest.fixture
def notes(cli: CommandLine) -> CommandLine:
    with Index.create("notes", encoder="hashing") as index:
        index.add([Document("x", "Ships and the sea.", {"a": 1, "b": 2})])
    return cli


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_that_is_too_deep_or_too_long_is_refused(notes: CommandLine, name: str) -> None:
    ran = notes("query", "ships", "--where", FILTERS[name])
    assert ran.code == 2 and "SQLite" not in ran.err and "unexpected" not in ran.err
    assert len(ran.err) < 500 and ran.err.startswith("error: ")


@pytest.mark.parametrize(
    "where",
    [
        "(" * 99 + "a = 1" + ")" * 99,
        "a = 1" + " and (b = 2 or (a = 1" * 9 + "))" * 9,
        "not (a = 2 and not (b = 3 or not (a = 5" + ")))",
        "not (a = 2 and (b = 3 or " * 6 + "a = 5" + "))" * 6,
        "not " * 999 + "a = 2",
        "not " + ".".join(["a"] * 20) + " exists",
    ],
)
def test_a_filter_within_the_limits_is_answered(notes: CommandLine, where: str) -> None:
    assert notes.ok("query", "ships", "--where", where, "--json").json["hits"]


def test_ten_megabytes_are_no_query(notes: CommandLine) -> None:
    long = "ships and the sea " * 600_000
    for ran in (notes("query", "-", stdin=long), notes("query", "ships", "--more", long[:300_000])):
        assert ran.code == 2 and "200,000 is the most" in ran.err and len(ran.err) < 300
    assert notes("query", "-", "--mode", "keyword", stdin=long).code == 2
    assert notes.ok("query", "-", "--json", stdin=long[:90_000]).json["hits"]


@pytest.mark.parametrize("terminal", [True, False])
def test_no_command_prints_what_controls_a_terminal(cli: CommandLine, terminal: bool) -> None:
    stored = mock.patch.object(entry_checks, "_control_character", lambda _: "")  # by an older version, or from a file
    with Index.create("notes", encoder="hashing") as index, stored:
        index.add([Document(f"id {SPOOFED}", f"Ships {SPOOFED}\nsea", {"key": SPOOFED}, title=SPOOFED)])
        hit = index.search("ships")[0].id
    commands: list[list[object]] = [
        ["get", hit], ["get", hit, "--json"], ["info", "--documents"], ["info", "--json"], ["similar", hit],
        *(["query", "ships", "--format", shape] for shape in ("table", "json", "jsonl", "csv", "tsv", "md", "paths")),
        ["query", SPOOFED, "--mode", "keyword"], ["get", SPOOFED], ["query", "x", "--where", SPOOFED],
        ["index", f"no {SPOOFED}"], ["delete", "--id", f"id {SPOOFED}", "--dry-run"],
    ]  # fmt: skip
    for command in commands:
        ran = cli(*command, terminal=terminal)
        shown = (ran.out + ran.err).replace("\x1b[0m", "").replace("\x1b[36m", "").replace("\x1b[1m", "")
        shown = shown.replace("\x1b[2m", "").replace("\x1b[1;33m", "")
        assert not set(shown) & set("\x1b\x07\u202e\u2066\u061c"), command


def test_get_keeps_lines_and_indentation_and_raw_keeps_everything(cli: CommandLine) -> None:
    text = "def f():\n\treturn  1\n    # \u202eevil\x1b[1m"
    with Index.create("notes", encoder="hashing") as index:
        index.add([Document("x", text)])
    assert cli.ok("get", "x").out == "def f():\n\treturn  1\n    # \\u202eevil\\x1b[1m\n"
    assert cli.ok("get", "x", "--raw").out == text + "\n"
