"""`query` and `similar` through the command line: every flag does what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest
from helpers.commandline import CommandLine

TEXTS = {
    "kitchen/kettle.md": "# Kettles\n\nVinegar removes the scale from a kettle. Rinse it twice afterwards.\n",
    "kitchen/bread.txt": "Bread needs flour, water, salt and time. A slow rise gives the bread more taste.\n",
    "garage/diesel.txt": "Diesel engines ignite by compression. A diesel engine has no spark plug.\n",
    "garage/petrol.txt": "Petrol engines ignite by a spark. A petrol engine needs a spark plug.\n",
    "tea.txt": "Green tea is best with water of eighty degrees. A kettle with a thermometer helps.\n",
}


@pytest.fixture
def notes(cli: CommandLine, tmp_path: Path) -> CommandLine:
    """A command line with one index, of five short texts."""
    for name, text in TEXTS.items():
        (tmp_path / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / name).write_text(text, encoding="utf-8")
    cli.ok("-q", "index", tmp_path / "notes")
    return cli


def paths(cli: CommandLine, *arguments: object, **how: str) -> list[str]:
    return [hit["path"] for hit in cli.ok("query", *arguments, "--json", **how).json["hits"]]


def test_json_has_exactly_the_keys_of_the_contract(notes: CommandLine) -> None:
    shown = notes.ok("query", "diesel engine", "--json").json
    assert set(shown) == {
        "schema",
        "query",
        "index",
        "encoder",
        "mode",
        "took_ms",
        "hits",
        "good_match",
        "abstain",
        "warnings",
    }
    assert set(shown["encoder"]) == {"name", "fingerprint"}
    assert set(shown["took_ms"]) == {"encode", "search"}
    assert (shown["schema"], shown["query"], shown["index"], shown["mode"]) == (1, "diesel engine", "notes", "hybrid")
    hit = shown["hits"][0]
    assert set(hit) == {
        "rank", "id", "score", "strength", "path", "document", "start", "end", "line", "page", "heading", "text",
        "scores", "match", "metadata", "more_in_document", "file",
    }  # fmt: skip
    assert (hit["rank"], hit["path"], hit["line"]) == (1, "garage/diesel.txt", 1)
    assert Path(hit["file"]).read_text(encoding="utf-8") == TEXTS["garage/diesel.txt"]
    opened = notes.ok("query", "diesel engine", "-k", 1, "--format", "paths", "--absolute").lines
    assert opened == [hit["file"]]
    assert set(hit["scores"]) == {"cosine", "bm25"}
    assert TEXTS["garage/diesel.txt"][hit["start"] : hit["end"]] == hit["text"]


def test_a_pipe_gets_json_lines_and_a_terminal_a_table(notes: CommandLine) -> None:
    piped = notes.ok("query", "diesel engine", "-k", 2)
    assert [json.loads(line)["rank"] for line in piped.lines] == [1, 2]
    table = notes.ok("query", "diesel engine", "-k", 1, terminal=True, NO_COLOR="", TERM="xterm")
    assert "garage/diesel.txt:1" in table.out
    assert "\x1b[1;33mDiesel\x1b[0m" in table.out or "\x1b[1;33mdiesel\x1b[0m" in table.out
    plain = notes.ok("query", "diesel engine", "-k", 1, terminal=True, NO_COLOR="1")
    assert "\x1b" not in plain.out


def test_the_text_comes_from_standard_input_too(notes: CommandLine) -> None:
    assert paths(notes, "-", "-k", 1, stdin="diesel engine\n") == ["garage/diesel.txt"]


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_every_mode_finds_it_by_its_own_scores(notes: CommandLine, mode: str) -> None:
    shown = notes.ok("query", "spark plug", "--mode", mode, "--json").json
    assert shown["mode"] == mode
    assert shown["hits"][0]["path"].startswith("garage/")
    channel = {"keyword": "bm25", "semantic": "cosine"}.get(mode, "bm25")
    assert channel in shown["hits"][0]["scores"]
    assert (shown["hits"][0]["strength"] is None) == (mode == "keyword")


def test_alpha_one_orders_by_meaning_and_zero_by_words(notes: CommandLine) -> None:
    for alpha, mode in ((1, "semantic"), (0, "keyword")):
        mixed = paths(notes, "spark plug", "--alpha", alpha, "-k", 1)
        assert mixed == paths(notes, "spark plug", "--mode", mode, "-k", 1)


def test_filters_hold_before_the_top_is_taken(notes: CommandLine) -> None:
    assert set(paths(notes, "engine", "--path", "kitchen/**")) == {"kitchen/kettle.md", "kitchen/bread.txt"}
    assert paths(notes, "engine", "--path", "garage", "--must", "diesel") == ["garage/diesel.txt"]
    assert paths(notes, "engine", "--where", "path ~ kitchen/* and not path like '%.txt'") == ["kitchen/kettle.md"]


def test_more_pulls_and_less_pushes(notes: CommandLine) -> None:
    assert paths(notes, "engine", "--more", "diesel compression^3", "-k", 1) == ["garage/diesel.txt"]
    assert paths(notes, "engine", "--less", "diesel compression^2", "-k", 1, "--mode", "semantic") == [
        "garage/petrol.txt"
    ]
    assert paths(notes, "--more", "flour and salt", "-k", 1) == ["kitchen/bread.txt"]


def test_like_takes_a_passage_a_document_or_a_file(notes: CommandLine, tmp_path: Path) -> None:
    diesel = notes.ok("query", "diesel", "-k", 1, "--json").json["hits"][0]
    for example in (diesel["id"], f"passage:{diesel['id']}", diesel["document"], f"document:{diesel['document']}"):
        found = paths(notes, "--like", example, "--mode", "semantic", "-k", 1)
        assert found == ["garage/petrol.txt"]  # the example itself is no answer
        (similar,) = notes.ok("similar", example, "-k", 1, "--format", "jsonl").lines
        assert [json.loads(similar)["path"]] == found
    (tmp_path / "example.txt").write_text("Flour, water and salt make bread.", encoding="utf-8")
    opened = notes.ok("similar", tmp_path / "example.txt", "-k", 1, "--format", "paths").lines
    assert opened == [str(tmp_path / "notes" / "kitchen" / "bread.txt")]
    assert notes("similar", "nothing-of-the-kind").code == 3


def test_min_strength_and_fail_empty(notes: CommandLine) -> None:
    assert notes.ok("query", "zzzz qqqq", "--min-strength", "1", "--json").json["hits"] == []
    ran = notes("query", "zzzz qqqq", "--min-strength", "1", "--fail-empty", "--json")
    assert (ran.code, ran.json["hits"]) == (1, [])
    assert notes.ok("query", "diesel", "--fail-empty").lines


def test_hits_are_grouped_by_document_unless_passages_are_wanted(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("The diesel engine is here again, number one. " * 40, encoding="utf-8")
    cli.ok("-q", "index", tmp_path / "long.txt", "--chunk-size", "30", "--overlap", "0")
    grouped = cli.ok("query", "diesel engine", "--json").json["hits"]
    assert len(grouped) == 1
    assert grouped[0]["more_in_document"] > 0
    assert len(cli.ok("query", "diesel engine", "--group", "passage", "--json").json["hits"]) > 1


def test_exact_and_explain_say_how_it_was_found(notes: CommandLine) -> None:
    shown = notes.ok("query", "diesel", "--exact", "--explain", "--path", "garage", "--json").json
    assert shown["explain"]["filter"]["path"] == "garage"
    assert set(shown["explain"]) == {"plan", "filter", "took_ms"}
    table = notes.ok("query", "diesel", "--explain", "--format", "table")
    assert [line.split(": ")[0] for line in table.err.splitlines()] == ["plan", "filter", "took_ms"]
    assert re.search(r"cosine 0\.\d{4}  bm25 \d", table.out)


def test_a_batch_answers_every_query_under_its_name(notes: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("q1\tdiesel engine\nq2\tbread and salt\n", encoding="utf-8")
    batch = ["query", "--batch", tmp_path / "q.tsv", "-k", 1]
    assert [line.split()[:3] for line in notes.ok(*batch, "--format", "trec").lines] == [
        ["q1", "Q0", "garage/diesel.txt"],
        ["q2", "Q0", "kitchen/bread.txt"],
    ]
    shown = notes.ok(*batch, "--json").json
    assert [(query["id"], query["query"]) for query in shown["queries"]] == [
        ("q1", "diesel engine"),
        ("q2", "bread and salt"),
    ]
    assert [json.loads(line)["id"] for line in notes.ok(*batch).lines] == ["q1", "q2"]
    assert notes.ok("query", "--batch", "-", "--format", "trec", stdin="diesel\n").lines[0].startswith("1 Q0 ")


@pytest.mark.parametrize("shape", ["table", "json", "jsonl", "csv", "tsv", "md", "paths", "trec"])
def test_every_format_names_the_document(notes: CommandLine, shape: str) -> None:
    assert "garage/diesel.txt" in notes.ok("query", "diesel engine", "--format", shape).out


def test_settings_choose_k_and_mode(notes: CommandLine) -> None:
    shown = notes.ok("query", "engine", "--json", SEMSEARCH_K="2", SEMSEARCH_MODE="keyword").json
    assert (len(shown["hits"]), shown["mode"]) == (2, "keyword")
    assert (
        notes.ok("query", "engine", "--mode", "semantic", "--json", SEMSEARCH_MODE="keyword").json["mode"] == "semantic"
    )


def test_warnings_are_on_stderr_and_in_json(notes: CommandLine) -> None:
    ran = notes.ok("query", "zzzz qqqq xxxx", "--json", "--mode", "semantic")
    for warning in ran.json["warnings"]:
        assert f"warning: {warning}" in ran.err


def test_a_reader_that_leaves_early_is_no_error(notes: CommandLine) -> None:
    """As `semsearch query … | head -1`: the pipe is closed before anything is written."""
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run(
        [sys.executable, "-m", "semsearch", "query", "engine"], stdout=write, stderr=subprocess.PIPE, text=True
    )
    os.close(write)
    assert (ran.returncode, ran.stderr) == (141, "")


def test_a_real_terminal_shows_the_table_and_nothing_of_a_documents_escapes(notes: CommandLine, tmp_path: Path) -> None:
    evil = {"id": "evil\x1b[2J", "text": "An evil note \x1b]0;owned\x07 about \x1b[31mdiesel\x1b[0m."}
    (tmp_path / "evil.jsonl").write_text(json.dumps(evil), encoding="utf-8")
    notes.ok("index", tmp_path / "evil.jsonl", "-n", "evil", "--from", "jsonl", "--id-field", "id")
    command = f"{sys.executable} -m semsearch query 'evil note' -n evil -k 1"
    shown = pexpect.run(command, encoding="utf-8", env={**os.environ, "TERM": "xterm", "NO_COLOR": ""})
    assert "\x1b[1;33mevil\x1b[0m" in shown
    assert "\\x1b[31m" in re.sub("\x1b\\[[0-9;]*m", "", shown)
    for sequence in ("\x1b]0", "\x1b[31m", "\x1b[2J", "\x07"):
        assert sequence not in shown
