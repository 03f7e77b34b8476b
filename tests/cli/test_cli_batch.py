"""Files of queries, judgements, pairs and texts, in the layouts that people have."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commandline import CommandLine

from semsearch.cli import input_files as batch
from semsearch.errors import NotFound, UsageError


def file(tmp_path: Path, text: str | bytes, name: str = "f.txt") -> str:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return str(tmp_path / name)


def test_queries_are_lines_or_tab_separated_or_json(tmp_path: Path) -> None:
    assert batch.read_queries(file(tmp_path, "tea\n\ncoffee\r\n")) == [("1", "tea"), ("3", "coffee")]
    assert batch.read_queries(file(tmp_path, "\ufeffq1\ttea\nq2\ta\tb\n")) == [("q1", "tea"), ("q2", "a\tb")]
    records = '{"_id": "q1", "text": "tea"}\n{"id": 2, "query": "coffee"}\n{"text": "water"}\n'
    assert batch.read_queries(file(tmp_path, records)) == [("q1", "tea"), ("2", "coffee"), ("3", "water")]


def test_judgements_are_trec_or_beir(tmp_path: Path) -> None:
    wanted = {"q1": {"d 1": 2, "d2": 0}, "q2": {"d1": 1}}
    beir = "query-id\tcorpus-id\tscore\nq1\td 1\t2\nq1\td2\t0\nq2\td1\t1\n"
    assert batch.read_qrels(file(tmp_path, beir)) == wanted
    trec = "q1 0 d1 2\nq1 0 d2 -1\n\nq2 0 d1 1\n"
    assert batch.read_qrels(file(tmp_path, trec)) == {"q1": {"d1": 2, "d2": -1}, "q2": {"d1": 1}}


def test_pairs_are_tab_separated_or_csv_or_json(tmp_path: Path) -> None:
    assert batch.read_pairs(file(tmp_path, 'a "b"\tc\t4.5\n')) == [('a "b"', "c", 4.5)]
    assert batch.read_pairs(file(tmp_path, 'a,b\n"x, y",z\n')) == [("x, y", "z", None)]
    records = '{"a": "x", "b": "y"}\n{"sentence1": "x", "sentence2": "y", "score": 3}\n'
    assert batch.read_pairs(file(tmp_path, records)) == [("x", "y", None), ("x", "y", 3.0)]


def test_texts_keep_their_line_numbers(tmp_path: Path) -> None:
    assert batch.read_texts(file(tmp_path, "a\n\nb\n")) == ["a", "", "b"]
    assert batch.read_texts(file(tmp_path, "a\n\nb")) == ["a", "", "b"]
    assert batch.read_texts(file(tmp_path, "")) == []
    assert batch.read_texts(file(tmp_path, '{"text": "a"}\n\n{"text": "b"}\n', "f.jsonl")) == ["a", "b"]


@pytest.mark.parametrize(
    ("reader", "text", "told"),
    [
        (batch.read_queries, "", "no query"),
        (batch.read_queries, '{"text": "a"}\n{"text": ', ":2: broken JSON"),
        (batch.read_queries, '{"id": 1}\n', ":1: a query needs"),
        (batch.read_queries, b"caf\xe9\n", "not UTF-8"),
        (batch.read_qrels, "q1 0 d1 relevant\n", ":1: not a judgement"),
        (batch.read_qrels, "q1 d1\n", ":1: not a judgement"),
        (batch.read_qrels, "\n", "no judgement"),
        (batch.read_pairs, "", "no pair"),
        (batch.read_pairs, "a\tb\nonly one\n", ":2: 1 columns"),
        (batch.read_pairs, "a\tb\thigh\n", ":1: 'high' is not a score"),
        (batch.read_pairs, '{"a": "x"}\n', ":1: a pair needs"),
    ],
)
def test_what_cannot_be_read_names_the_file_and_the_line(tmp_path: Path, reader, text, told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        reader(file(tmp_path, text))
    assert "f.txt" in caught.value.message


def test_a_missing_file_is_not_found() -> None:
    with pytest.raises(NotFound):
        batch.read_queries("nowhere.txt")


@pytest.mark.parametrize(("line", "name"), [("q2\t ", "queries.tsv"), ('{"id": "q2", "text": " "}', "queries.jsonl")])
def test_an_empty_query_of_a_batch_is_named_with_its_line(
    cli: CommandLine, tmp_path: Path, line: str, name: str
) -> None:
    (tmp_path / name).write_text(f"q1\tdiesel\n\n{line}\n", encoding="utf-8")
    failed = cli("query", "--batch", tmp_path / name)
    assert failed.code == 2 and f"{name}:3: the query is empty" in failed.err
