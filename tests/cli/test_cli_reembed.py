"""`reembed`, and what `info`, `eval --spaces` and errors say about the encoder of an index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import null_distributions
from helpers.commandline import CommandLine

from semsearch import Document, Index, Progress
from semsearch.encoders import index_encoder
from semsearch.encoders.hashing import HashingEncoder
from semsearch.models import bundle as bundles
from semsearch.models import model_folders
from semsearch.stores import null_queries

NOTES = [Document(f"d{n}", f"Engine number {n} runs on diesel.\n\nBread number {n} needs salt.") for n in range(12)]


@pytest.fixture
def moved(tmp_path: Path, cli: CommandLine) -> CommandLine:
    """A command line with an index of an encoder called hashing, which is another one by now: it has 256 places."""
    with Index.create(tmp_path / "home" / "notes", encoder=HashingEncoder(64)) as index:
        index.add(NOTES)
    return cli


def test_reembed_moves_an_index_whose_encoder_has_changed(moved: CommandLine) -> None:
    refused = moved("query", "diesel", "-n", "notes")
    assert refused.code == 4
    assert "semsearch reembed notes -m hashing" in refused.err and "has changed since" in refused.err
    assert "only keyword search works; to the present one: semsearch reembed notes -m hashing" in moved.ok("info").out
    ran = moved.ok("reembed", "notes", "-m", "hashing", "--json")
    assert {"schema", "index", "encoder", "before", "passages", "encoded", "present", "replaced"} <= ran.json.keys()
    assert (ran.json["encoded"], ran.json["removed"], ran.json["kept"]) == (12, ["hashing"], [])
    assert "semsearch compact notes" in ran.err
    assert moved.ok("query", "engine number 7", "-n", "notes", "--format", "paths").lines[0] == "d7"
    again = moved.ok("reembed", "-n", "notes", "-m", "hashing")
    assert again.out.startswith("notes: 12 passages encoded with hashing, all of them before, in ")
    assert "to another: semsearch reembed notes -m MODEL" in moved.ok("info").out


def test_ctrl_c_ends_it_and_the_same_command_goes_on(moved: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semsearch.indexing.reembedding.BATCH", 4)
    monkeypatch.setattr("semsearch.indexing.reembedding.READ_AT_ONCE", 4)
    reembed: Callable[..., object] = Index.reembed

    def interrupted(self: Index, encoder: object, *, keep_old: bool, progress: Callable[[Progress], None]) -> object:
        def report(step: Progress) -> None:
            if step.done >= 8:
                raise KeyboardInterrupt
            progress(step)

        return reembed(self, encoder, keep_old=keep_old, progress=report)

    with monkeypatch.context() as patched:
        patched.setattr(Index, "reembed", interrupted)
        assert moved("reembed", "notes", "-m", "hashing").code == 130
    shown = moved.ok("info", "notes").out
    assert "8 of 12 passages; go on: semsearch reembed notes -m hashing" in shown
    assert [row["encoders"] for row in moved.ok("list", "--json").json["indexes"]] == [["hashing"]]
    assert moved.ok("verify", "notes").out == "notes: no problems found\n"
    ran = moved.ok("reembed", "notes", "-v")
    assert "12 passages encoded with hashing, 4 of them now, in " in ran.out
    assert "encoding notes: " in ran.err and "encoding" not in ran.out


def test_an_index_of_own_vectors_and_a_missing_one_and_a_missing_model_are_refused(
    cli: CommandLine, tmp_path: Path
) -> None:
    Index.create(tmp_path / "home" / "own", encoder=None, dimensions=3).close()
    assert cli("reembed", "own", "-m", "hashing").code == 2
    assert cli("reembed", "nothing").code == 3
    Index.create(tmp_path / "home" / "notes", encoder="hashing").close()
    refused = cli("reembed", "notes", "-m", "haching")
    assert refused.code == 3 and "hashing" in refused.err


def test_spaces_are_compared_query_by_query(moved: CommandLine, tmp_path: Path) -> None:
    refused = moved("eval", "-n", "notes", "--spaces")
    assert refused.code == 2 and "semsearch reembed notes -m MODEL --keep-old" in refused.err
    assert "; kept: hashing" in moved.ok("reembed", "notes", "-m", "hashing", "--keep-old").out
    assert "back to it: semsearch reembed notes -m hashing" in moved.ok("info", "notes").out
    assert moved("eval", "-n", "notes", "--spaces", "--mode", "keyword").code == 2
    (tmp_path / "queries.tsv").write_text("q1\tengine number 7\nq2\tbread number 3\n")
    (tmp_path / "qrels.txt").write_text("q1 0 d7 1\nq2 0 d3 1\n")
    judged = ["--queries", tmp_path / "queries.tsv", "--qrels", tmp_path / "qrels.txt"]
    refused = moved("eval", "-n", "notes", "--spaces", *judged)  # the encoder of before cannot be loaded
    assert refused.code == 4


def test_each_space_is_searched_with_its_own_encoder(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The encoder of before has another name by now, and is found by its fingerprint."""
    known = {"hashing": HashingEncoder(), "hashing-64": HashingEncoder(64)}
    monkeypatch.setattr("semsearch.encoders.index_encoder.load", known.__getitem__)
    monkeypatch.setattr(
        "semsearch.encoders.encoder.Encoder.find_local",
        lambda wanted: next((name for name, one in known.items() if one.fingerprint == wanted), None),
    )
    with Index.create(tmp_path / "home" / "notes", encoder=known["hashing-64"]) as index:
        index.add(NOTES)
    assert cli.ok("query", "engine number 7", "-n", "notes", "--format", "paths").lines[0] == "d7"
    cli.ok("reembed", "notes", "-m", "hashing", "--keep-old")
    found = cli.ok("eval", "-n", "notes", "--spaces", "--json").json
    assert [(one["dim"], one["state"], one["vectors"]) for one in found["spaces"]] == [
        (256, "current", 12),
        (64, "kept", 12),
    ]
    scores = [one["modes"]["semantic"]["per_query"] for one in found["spaces"]]
    each = [scores[0][query]["nDCG@10"] - scores[1][query]["nDCG@10"] for query in scores[0]]
    (paired,) = found["differences"]["semantic"]
    assert paired["mean"] == pytest.approx(sum(each) / len(each))
    assert paired["better"] + paired["worse"] + paired["same"] == len(each) == 12
    assert scores[0] != scores[1]
    table = cli.ok("eval", "-n", "notes", "--spaces", "--mode", "semantic", "--report", tmp_path / "runs")
    assert table.lines[0].split() == ["mode", "encoder", "space", "nDCG@10", "recall@100", "MRR@10"]
    assert table.lines[-1].startswith("semantic: hashing@") and "standard error" in table.lines[-1]
    assert len(list((tmp_path / "runs").glob("*.json"))) == 2
    with Index.open(tmp_path / "home" / "notes") as index:
        index.add([Document("later", "A later note on engines and bread.")])
    assert "has vectors of 12 of 13 passages" in cli.ok("eval", "-n", "notes", "--spaces").err


def test_an_upgrade_of_default_neither_breaks_nor_changes_an_index(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the old weights still come with semsearch, under another name, the index goes on with them."""
    monkeypatch.setattr(null_queries, "questions", null_distributions.few)  # hundreds of them take seconds
    (tmp_path / "note.txt").write_text("Engine number 7 runs on diesel.")
    cli.ok("-q", "index", tmp_path / "note.txt", "-n", "notes", "-m", "default")
    before = cli.ok("query", "an engine", "-n", "notes", "--json").json
    catalogue = model_folders.catalogue()
    upgraded = {**catalogue, "default": catalogue["minilm"], "older": catalogue["default"]}
    upgraded.pop("minilm"), upgraded.pop("all-MiniLM-L6-v2"), upgraded.pop("cot-small")
    monkeypatch.setattr(model_folders, "catalogue", lambda: upgraded)
    loaded: list[str] = []
    load = index_encoder.load
    monkeypatch.setattr(index_encoder, "load", lambda name: loaded.append(name) or load(name))
    after = cli.ok("query", "an engine", "-n", "notes", "--json").json
    assert after["hits"] == before["hits"] and loaded == ["older"]
    assert "found as older; to the present one: semsearch reembed notes -m default" in cli.ok("info").out
    upgraded.pop("older")
    refused = cli("query", "an engine", "-n", "notes")
    assert refused.code == 4 and "semsearch reembed notes -m default" in refused.err
    cli.ok("query", "engine", "-n", "notes", "--mode", "keyword")
    cli.ok("reembed", "notes", "-m", "default")
    with Index.open(tmp_path / "home" / "notes") as index:
        assert index.encoder.fingerprint == bundles.read(model_folders.find("default")).fingerprint


def test_an_index_of_an_encoder_that_left_semsearch_says_where_to_move(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(null_queries, "questions", null_distributions.few)
    (tmp_path / "note.txt").write_text("Engine number 7 runs on diesel.")
    catalogue = model_folders.catalogue()
    monkeypatch.setattr(model_folders, "catalogue", lambda: {"cot-minilm": catalogue["minilm"]})
    cli.ok("-q", "index", tmp_path / "note.txt", "-n", "notes", "-m", "cot-minilm")
    without = {"default": catalogue["default"]}
    monkeypatch.setattr(model_folders, "catalogue", lambda: without)
    for command in (["query", "an engine"], ["query", "an engine", "--mode", "semantic"], ["index"]):
        refused = cli(*command, "-n", "notes")
        assert refused.code == 3 and "Traceback" not in refused.err
        assert "cot-minilm does not come with semsearch any more" in refused.err
        assert "semsearch reembed notes -m default (until then, search with --mode keyword)" in refused.err
    assert cli.ok("query", "engine", "-n", "notes", "--mode", "keyword", "--json").json["hits"]
    told = cli.ok("info", "-n", "notes").out
    assert "cot-minilm does not come with semsearch any more, so only keyword search works" in told
    assert "to its successor: semsearch reembed notes -m default" in told
    assert cli.ok("verify", "-n", "notes").code == 0
    cli.ok("reembed", "notes", "-m", "default")
    assert cli.ok("query", "an engine", "-n", "notes", "--json").json["hits"]


def test_an_encoder_that_left_semsearch_is_named_with_its_successor(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Engine number 7 runs on diesel.")
    refused = cli("index", tmp_path / "note.txt", "-n", "new", "-m", "cot-minilm")
    assert refused.code == 3 and "cot-minilm does not come with semsearch any more. Use default." in refused.err
