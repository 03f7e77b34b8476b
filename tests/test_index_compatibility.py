"""Indexes made in November 2026 (commit e43ff61) open, search, verify, update and restore with today's code.

tests/fixtures/indexes/make.sh made them: `hashing` as a folder, `default` as a dump, both with deleted and changed
documents, metadata, Japanese text and a cache file that is older than the last change.
"""

from __future__ import annotations

import json
import sqlite3
import tarfile
from pathlib import Path
from typing import Any

import pytest
from helpers.commandline import CommandLine

FIXTURES = Path(__file__).resolve().parent / "fixtures" / "indexes"
MADE_FROM = "/srv/semsearch"  # the folder of the files when the indexes were made
ANSWERS = [json.loads(line) for line in (FIXTURES / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
DOCUMENTS = [
    "bowline.txt", "bread", "diesel.txt", "heat-pumps.pdf", "kettle",
    "lithium-ion-ageing.md", "rust.html", "sub/changed.md", "sub/エンジン.md", "茶",
]  # fmt: skip
UNIT = 2e-3  # a cosine is the product of vectors that are stored in 16 bits


@pytest.fixture(params=["hashing", "default"])
def name(request: pytest.FixtureRequest, cli: CommandLine, tmp_path: Path) -> str:
    """An index of that commit: one whose folder was copied, or one out of a dump."""
    if request.param == "hashing":
        unpack(FIXTURES / "hashing.tar.xz", tmp_path / "home")
    else:
        cli.ok("restore", FIXTURES / "default.dump", "--trust")
    return str(request.param)


@pytest.fixture
def files(tmp_path: Path, name: str) -> Path:
    """The files of the index, in a place that the index follows: it stores absolute paths."""
    folder = tmp_path / "files"
    unpack(FIXTURES / "files.tar.xz", folder)
    with sqlite3.connect(tmp_path / "home" / name / "store.db") as database:
        for table, column in (("sources", "root"), ("recipe", "value")):
            database.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (MADE_FROM, str(folder)))
    database.close()
    return folder


def unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")


def test_every_question_has_the_answer_of_then_but_for_the_order_of_hybrid_search(cli: CommandLine, name: str) -> None:
    for answer in (answer for answer in ANSWERS if answer["index"] == name):
        where = ["--where", "year > 2020"] if answer["query"] == "water" else []
        found = cli.ok("query", answer["query"], "-n", name, "--mode", answer["mode"], "-k", 5, "--json", *where).json
        hits = {hit["id"]: hit for hit in found["hits"]}
        then = {number: (document, scores) for document, number, scores in answer["hits"]}
        if any("by its words" in warning for warning in found["warnings"]):  # a language that the encoder does not read
            assert [(set(hit["scores"]), hit["strength"]) for hit in hits.values()] == [({"bm25"}, None)] * len(hits)
            continue
        if answer["mode"] != "hybrid":
            assert list(hits) == list(then)
        assert len(hits) == len(then) and hits.keys() & then.keys()
        for number in hits.keys() & then.keys():
            document, scores = then[number]
            assert hits[number]["document"] == document
            assert hits[number]["scores"] == pytest.approx(scores, abs=UNIT)


def test_it_is_in_order_and_holds_what_it_held(cli: CommandLine, name: str) -> None:
    cli.ok("verify", name)
    about = cli.ok("info", name, "--json").json
    assert (about["documents"], about["passages"], about["vectors"]) == (10, 17, 17)
    assert contents(cli, name) == DOCUMENTS
    assert cli.ok("get", "kettle", "-n", name, "--json").json["metadata"] == {
        "year": 2019,
        "tags": ["kitchen", "water"],
    }


def test_an_update_reads_what_has_changed_and_nothing_else(cli: CommandLine, name: str, files: Path) -> None:
    assert counts(cli.ok("index", "-n", name, "--json").json) == {"unchanged": 10}
    (files / "notes" / "rust.html").rename(files / "notes" / "sub" / "iron.html")
    (files / "notes" / "bowline.txt").unlink()
    (files / "notes" / "sub" / "changed.md").write_text("Quartz crystals vibrate at a steady frequency.\n")
    (files / "notes" / "new.txt").write_text("A new text.\n")
    wanted = {"added": 1, "changed": 1, "unchanged": 7, "moved": 1, "deleted": 1}
    assert counts(cli.ok("index", "-n", name, "--json").json) == wanted
    found = cli.ok("query", "quartz crystals", "-n", name, "--json").json
    assert found["hits"][0]["document"] == "sub/changed.md"
    cli.ok("compact", name)
    cli.ok("verify", name)


def test_it_is_dumped_and_restored(cli: CommandLine, name: str, tmp_path: Path) -> None:
    cli.ok("dump", name, "-o", tmp_path / "again.dump")
    cli.ok("restore", tmp_path / "again.dump", "-n", "again")
    cli.ok("verify", "again")
    assert contents(cli, "again") == DOCUMENTS


def contents(cli: CommandLine, name: str) -> list[str]:
    return [document["id"] for document in cli.ok("info", name, "--documents", "--json").json["list"]]


def counts(shown: Any) -> dict[str, int]:
    return {key: count for key, count in shown["documents"].items() if count}
