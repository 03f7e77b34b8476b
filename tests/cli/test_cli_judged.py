"""`eval judged`: the hits that were marked on the page Search as a test of every mode."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commandline import CommandLine

from semsearch.evaluation import Judgements

TEXTS = {
    "kettle": "The kettle boils in two minutes. Its lid has to be closed.",
    "garden": "The garden lies behind the house. Nothing grows in its shade.",
    "engine": "The engine ignites the fuel by compression. It has no spark plugs.",
}


@pytest.fixture
def notes(cli: CommandLine, tmp_path: Path) -> str:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    cli.ok("index", *(tmp_path / f"{name}.txt" for name in TEXTS), "-n", "notes", "-m", "hashing")
    return "notes"


def judge(*marks: tuple[str, str, int]) -> None:
    for question, document, grade in marks:
        Judgements("notes").judge(question, document, grade)


def test_it_measures_what_eval_measures_on_the_exported_files(cli: CommandLine, notes: str, tmp_path: Path) -> None:
    judge(("how does the kettle boil", "kettle.txt", 1), ("how does the kettle boil", "engine.txt", 0))
    judge(("house with a garden", "garden.txt", 1), ("zeppelins", "garden.txt", 0))
    ran = cli.ok("eval", "judged", notes, "--json")
    assert "1 question without a helpful hit left out" in ran.err
    cli.ok("eval", "judged", notes, "--export", tmp_path / "out")
    (tmp_path / "out" / "qrels.txt").write_text(
        "".join(line for line in (tmp_path / "out" / "qrels.txt").read_text().splitlines(True) if "q3" not in line)
    )
    files = ["--queries", tmp_path / "out" / "queries.jsonl", "--qrels", tmp_path / "out" / "qrels.txt"]
    right = cli.ok("eval", "-n", notes, *files, "-k", 10, "--json").json["modes"]
    for mode, found in ran.json["modes"].items():
        for name in ("queries", "nDCG@10", "recall@10", "MRR@10"):
            assert found[name] == right[mode][name]
        assert 0 < found["judged@10"] <= 1 and 0 < found["ms"] <= found["ms_95"]
    pairs = [(one["first"], one["second"]) for one in ran.json["differences"]]
    assert pairs == [("hybrid", "semantic"), ("hybrid", "keyword"), ("semantic", "keyword")]
    assert all(one["verdict"] == "too few" for one in ran.json["differences"])
    table = cli.ok("eval", "judged", notes, "--report", tmp_path / "runs")
    assert table.lines[0].split() == ["mode", "nDCG@10", "recall@10", "MRR@10", "judged@10", "ms", "ms_95"]
    assert table.lines[-1].startswith("semantic against keyword: nDCG@10 ")
    assert table.lines[-1].endswith("too few questions differ")
    assert len(list((tmp_path / "runs").glob("*.json"))) == 3


def test_judgements_of_files_are_added(cli: CommandLine, notes: str, tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "a", "text": "kettle"}\n')
    (tmp_path / "qrels.txt").write_text("a 0 kettle.txt 2\na 0 engine.txt 0\n")
    ran = cli.ok("eval", "judged", notes, "--import", tmp_path, "--mode", "keyword", "--json")
    assert "2 judgements added to notes" in ran.err
    assert Judgements("notes").grades() == {"kettle": {"kettle.txt": 2, "engine.txt": 0}}
    assert ran.json["modes"]["keyword"]["MRR@10"] == 1.0 and ran.json["differences"] == []
    (tmp_path / "qrels.txt").write_text("a 0 kettle.txt\n")
    wrong = cli("eval", "judged", notes, "--import", tmp_path)
    assert wrong.code == 2 and "qrels.txt:1: not a judgement" in wrong.err
    assert len(Judgements("notes").grades()["kettle"]) == 2


def test_without_a_helpful_hit_it_says_where_to_mark_one(cli: CommandLine, notes: str, tmp_path: Path) -> None:
    for _ in range(2):
        ran = cli("eval", "judged", notes)
        assert ran.code == 3 and "Mark hits on the page Search" in ran.err
        judge(("kettle", "engine.txt", 0))
    Judgements("notes").forget()
    assert cli("eval", "judged", notes, "--export", tmp_path / "out").code == 3
