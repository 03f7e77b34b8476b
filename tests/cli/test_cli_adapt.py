"""`adapt` at the command line: what it looks at first, and what it refuses at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.commandline import CommandLine

from semsearch import Document, Index


@pytest.fixture
def notes(tmp_path: Path, cli: CommandLine) -> CommandLine:
    with Index.create(tmp_path / "home" / "notes", encoder="hashing") as index:
        texts = (f"Part {at} of this kettle is made of copper. " * 4 for at in range(4))
        index.add(Document(f"{at}.txt", text, title=f"Copper part {at}") for at, text in enumerate(texts))
    return cli


def test_a_dry_run_says_what_there_is_and_why_it_is_not_enough(notes: CommandLine) -> None:
    seen = notes.ok("adapt", "notes", "--dry-run", "--json").json["look"]
    assert (seen["documents"], seen["enough"], seen["hours"]) == (4, False, None)
    assert sum(seen["pairs"].values()) + sum(seen["questions"].values()) == 4
    assert any("about 2,000" in reason for reason in seen["reasons"])
    lines = notes.ok("adapt", "-n", "notes", "--dry-run").lines
    assert lines[-1].startswith("enough") and "hashing has no weights to train" in lines[-1]


def test_a_dry_run_names_a_model_to_train_only_where_one_is_given(tmp_path: Path, cli: CommandLine) -> None:
    with Index.create(tmp_path / "home" / "few", encoder="minilm") as index:
        index.add([Document("a.txt", "A kettle of copper.")])
    told = [cli.ok("adapt", "few", "--dry-run", *base).lines[1] for base in ([], ["--base", "default"])]
    assert [line.split(maxsplit=1)[1] for line in told] == [
        "all-MiniLM-L6-v2",
        "all-MiniLM-L6-v2, trained from default",
    ]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--undo", "--keep"], 2, "--undo excludes"),
        (["--undo"], 3, "semsearch reembed notes -m MODEL"),
        (["--hours", "0"], 2, "above 0"),
        (["--judgements", "nowhere.jsonl"], 3, "nowhere.jsonl"),
        (["--method", "magic"], 2, "magic"),
        (["--base", "nowhere/model", "--dry-run"], 0, ""),
    ],
)
def test_what_cannot_be_is_refused_with_what_helps(
    notes: CommandLine, options: list[str], code: int, said: str
) -> None:
    ran = notes("adapt", "notes", *options)
    assert (ran.code, said in ran.err) == (code, True)


def test_an_encoder_without_weights_is_refused(notes: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("os.nice", lambda _: 0)  # of this process
    ran = notes("adapt", "notes", "--json")
    assert ran.code == 2 and "--base MODEL" in ran.json["error"]["fix"]
