"""`eval own`: an index measured with sentences of its own, as the page Evaluate does."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commandline import CommandLine

import semsearch
from semsearch.evaluation import evaluate_known_items, known_item_rank, sample_sentences

TEXTS = {
    "kettle": "The kettle boils in two minutes. Its lid has to be closed.",
    "garden": "The garden lies behind the house. Nothing grows in its shade.",
    "engine": "The engine ignites the fuel by compression. It has no spark plugs.",
}


@pytest.fixture
def notes(cli: CommandLine, tmp_path: Path) -> str:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    cli.ok("index", *(tmp_path / f"{name}.txt" for name in TEXTS), "-n", "notes")
    return "notes"


def test_recall_is_that_of_the_ranks_in_every_mode(cli: CommandLine, notes: str) -> None:
    found = cli.ok("eval", "own", notes, "--sample", 3, "--seed", 7, "-k", 2, "--json").json
    assert (found["index"], found["k"], found["seed"]) == (notes, 2, 7)
    with semsearch.Index.open(notes) as index:
        asked = sample_sentences(index.analysis.texts(), 3, 7)
        for mode, one in found["modes"].items():
            hits = [index.search(text, k=2, mode=mode, group="passage") for text in asked]
            ranks = [known_item_rank(text, [hit.text for hit in each]) for text, each in zip(asked, hits, strict=True)]
            assert one["recall@1"] == ranks.count(1) / 3
            assert one["recall@2"] == sum(rank is not None for rank in ranks) / 3
            assert one["missed"] == [text for text, rank in zip(asked, ranks, strict=True) if rank is None]
            assert one["queries"] == 3 and 0 < one["ms"] <= one["ms_95"]
    assert list(found["modes"]) == ["hybrid", "semantic", "keyword"]


def test_the_comparison_of_spaces_ranks_the_same_sentences_alike(cli: CommandLine, notes: str) -> None:
    found = cli.ok("eval", "own", notes, "--mode", "keyword", "--json").json["modes"]["keyword"]
    with semsearch.Index.open(notes) as index:
        compared = evaluate_known_items(index.search, sample_sentences(index.analysis.texts()), "keyword", 10)
    assert (found["queries"], found["recall@10"]) == (compared["queries"], compared["recall@10"])


def test_what_is_missed_fails_the_gate_and_is_listed(
    cli: CommandLine, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.ok("eval", "own", notes, "--mode", "keyword", "--fail-under", 1).lines[0].split()[:2] == [
        "mode", "queries"
    ]  # fmt: skip
    monkeypatch.setattr("semsearch.evaluation.known_item.known_item_rank", lambda text, passages: None)
    failed = cli("eval", "own", notes, "--fail-under", 0.5, "--json")
    assert failed.code == 5 and "recall@10 is 0.000" in failed.json["error"]["message"]
    assert len(failed.json["modes"]["hybrid"]["missed"]) == 3


def test_an_index_without_a_sentence_is_told(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("kettle\n")
    cli.ok("index", tmp_path / "words.txt", "-n", "words")
    failed = cli("eval", "own", "words")
    assert failed.code == 2 and "has no sentence of four words or more" in failed.err
    assert cli("eval", "own", "nowhere").code == 3
