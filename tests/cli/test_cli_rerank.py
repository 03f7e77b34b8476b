"""`query --rerank`, and rerankers in `models`: every output has the score, every mistake one clear error."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from helpers import rerankers
from helpers.commandline import CommandLine

TEXTS = {
    "diesel.txt": "A diesel engine ignites fuel by compression.",
    "petrol.txt": "A petrol engine ignites fuel with a spark plug. The petrol engine of a car is fast.",
    "kettle.txt": "Vinegar is for the scale in the kettle. The kettle is for tea.",
}
QUERY = "petrol engine"


@pytest.fixture
def notes(cli: CommandLine, tmp_path: Path) -> CommandLine:
    (tmp_path / "notes").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "notes" / name).write_text(text, encoding="utf-8")
    cli.ok("-q", "index", tmp_path / "notes")
    return cli


@pytest.fixture
def words(tmp_path: Path) -> Path:
    return rerankers.saved(tmp_path / "words")


def test_hits_are_reordered_and_carry_the_score(notes: CommandLine, words: Path) -> None:
    plain = notes.ok("query", QUERY, "--json").json
    assert plain["hits"][0]["path"] == "petrol.txt"
    shown = notes.ok("query", QUERY, "--rerank", words, "--rerank-weight", 1, "--json").json
    assert [hit["path"] for hit in shown["hits"]] == ["diesel.txt", "kettle.txt", "petrol.txt"]
    assert shown["hits"][0]["rerank"] == pytest.approx(0.982, abs=1e-3)  # the sigmoid of 6 - 2
    assert set(shown["hits"][0]) == {*plain["hits"][0], "rerank"}
    assert set(shown["took_ms"]) == {"encode", "search", "rerank"}
    assert set(shown) == set(plain)


def test_the_weight_of_0_keeps_the_order(notes: CommandLine, words: Path) -> None:
    plain = notes.ok("query", QUERY, "--format", "paths").lines
    assert notes.ok("query", QUERY, "--rerank", words, "--rerank-weight", 0, "--format", "paths").lines == plain


def test_the_depth_limits_what_is_read_again(notes: CommandLine, words: Path) -> None:
    hits = notes.ok("query", QUERY, "--rerank", words, "--rerank-depth", 1, "--json").json["hits"]
    assert ["rerank" in hit for hit in hits] == [True, False, False]


def test_every_format_shows_it(notes: CommandLine, words: Path) -> None:
    asked = ("query", QUERY, "--rerank", words, "--rerank-depth", 2)
    rows = list(csv.DictReader(io.StringIO(notes.ok(*asked, "--format", "csv").out)))
    assert [bool(row["rerank"]) for row in rows] == [True, True, False]
    assert "rerank" not in notes.ok("query", QUERY, "--format", "csv").lines[0]
    table = notes.ok(*asked, "--format", "table").lines
    assert "strength  rerank    score" in table[0]
    assert ", rerank 0." in notes.ok(*asked, "--format", "md").out
    explained = notes.ok(*asked, "--explain", "--json").json["explain"]["plan"]["rerank"]
    assert (explained["reranker"], explained["pairs"], explained["weight"]) == ("words", 2, 0.4)


def test_without_a_model_it_is_that_of_the_settings(notes: CommandLine, words: Path) -> None:
    for arguments in ((QUERY, "--rerank"), (QUERY, "--rerank", "-k", 3)):
        shown = notes.ok("query", *arguments, "--json", SEMSEARCH_RERANKER=str(words)).json
        assert "rerank" in shown["hits"][0]
    assert "rerank" in notes.ok("query", "--rerank", "-", "--json", stdin=QUERY, SEMSEARCH_RERANKER=str(words)).out


def test_a_batch_is_read_again_query_by_query(notes: CommandLine, words: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.txt").write_text("petrol engine\nkettle\n")
    shown = notes.ok("query", "--batch", tmp_path / "queries.txt", "--rerank", words, "--json").json
    assert all("rerank" in each["hits"][0] and "rerank" in each["took_ms"] for each in shown["queries"])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((QUERY, "--rerank"), 3, "no reranker is part of semsearch"),
        ((QUERY, "--rerank", "nothing"), 3, "no reranker is called 'nothing'"),
        ((QUERY, "--rerank", "./nothing"), 3, "there is no folder ./nothing"),
        ((QUERY, "--rerank", "default"), 3, "semsearch models pull"),
        (("--rerank", "kettle"), 2, "--rerank took 'kettle' as the name of its model"),
        ((QUERY, "--rerank-depth", "5"), 2, "are options of --rerank"),
        ((QUERY, "--rerank-weight", "0.1"), 2, "are options of --rerank"),
        ((QUERY, "--rerank", "hashing#mean"), 2, "has no template"),
        (("--like", "diesel.txt", "--rerank", "./words", "--rerank-depth", "0"), 2, "rerank_depth must be"),
    ],
)
def test_a_mistake_is_one_clear_error(notes: CommandLine, arguments: tuple[str, ...], code: int, message: str) -> None:
    ran = notes("query", *arguments)
    assert (ran.code, message in ran.err, "Traceback" in ran.err) == (code, True, False), ran.err


def test_an_example_alone_cannot_be_read_again(notes: CommandLine, words: Path) -> None:
    ran = notes("query", "--like", "diesel.txt", "--rerank", words)
    assert (ran.code, "this query has none" in ran.err) == (2, True), ran.err


def test_the_list_of_models_tells_both_kinds_apart(cli: CommandLine) -> None:
    kinds = {one["name"]: one["kind"] for one in cli.ok("models", "list", "--json").json["models"]}
    assert (kinds["default"], kinds["ms-marco-MiniLM-L6-v2"]) == ("encoder", "reranker")


def test_info_of_a_reranker_says_what_it_is(cli: CommandLine, words: Path) -> None:
    known = cli.ok("models", "info", words, "--json").json["model"]
    assert (known["kind"], known["max_tokens"], known["reference"]) == ("reranker", 64, str(words))
    absent = cli.ok("models", "info", "ms-marco-MiniLM-L6-v2", "--json").json["model"]
    assert (absent["local"], absent["hub"]) == (False, "cross-encoder/ms-marco-MiniLM-L6-v2")


def test_offline_names_what_is_missing(notes: CommandLine) -> None:
    ran = notes("--offline", "query", QUERY, "--rerank", "ms-marco-MiniLM-L6-v2")
    assert (ran.code, "models pull" in ran.err) == (3, True), ran.err
    ran = notes("--offline", "models", "pull", "ms-marco-MiniLM-L6-v2")
    assert (ran.code, "cannot be downloaded in offline mode" in ran.err) == (3, True), ran.err


def test_every_option_that_the_page_names_is_one(cli: CommandLine) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reranking.md").read_text(encoding="utf-8")
    options = cli.ok("query", "--help").out + cli.ok("export", "--help").out
    script = (Path(__file__).parents[2] / "scripts" / "bench" / "rerank.py").read_text(encoding="utf-8")
    named = set(re.findall(r"--[a-z][a-z-]+", page))
    assert {"--rerank", "--rerank-depth", "--rerank-weight", "--choose"} <= named
    assert {name for name in named if name not in options and f'"{name}"' not in script} == set()
