"""The folder of a run is an encoder like any other: searched with, shown and checked by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.checkpoints import shallow
from helpers.commandline import CommandLine
from helpers.training import TEXTS, examples

from semsearch.encoders.encoder import Encoder

pytest.importorskip("torch")
pytest.importorskip("transformers")

from semsearch.training import TrainingConfig, trainer


def test_a_trained_folder_is_searched_with(
    golden: Path, tmp_path: Path, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = shallow(golden, "tiny-bert", tmp_path / "bert", layers=1)
    told = TrainingConfig("cotbert", str(base), batch_size=4, steps=2, max_length=8, device="cpu")
    trainer.train(told, examples(), Path("mine"))
    trained = Encoder.load("mine", device="cpu")
    Path("notes").mkdir()
    for at, text in enumerate(TEXTS[8:12]):
        (Path("notes") / f"{at}.txt").write_text(text)
    cli.ok("index", "notes", "-n", "notes", "-m", "mine")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    hits = cli.ok("query", TEXTS[9], "-n", "notes", "--mode", "semantic", "--json").json
    assert hits["hits"][0]["path"].endswith("1.txt") and hits["encoder"]["fingerprint"] == trained.fingerprint


def test_a_trained_folder_is_shown_for_what_it_is(golden: Path, cli: CommandLine) -> None:
    told = TrainingConfig(
        "cotbert", str(golden / "models" / "tiny-bert"), batch_size=4, steps=1, max_length=8, device="cpu"
    )
    trainer.train(told, examples(), Path("mine"))
    shown = cli.ok("models", "info", "-m", "mine", "--json").json["model"]
    assert (shown["name"], shown["method"], shown["dim"]) == ("mine", "cot_bert", 32)
    checks = cli.ok("doctor", "-m", "mine", "--json").json["checks"]
    assert not [each for each in checks if each["state"] == "fail"]
