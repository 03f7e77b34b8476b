"""`embed`, `sts`, `models` and `doctor` through the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.commandline import CommandLine

from semsearch.cli.evaluate import sts_command
from semsearch.encoders.hashing import HashingEncoder
from semsearch.evaluation.sts import StsResult


def test_embed_prints_the_vector_that_the_encoder_gives(cli: CommandLine, hashing: HashingEncoder) -> None:
    [line] = cli.ok("embed", "a diesel engine").lines
    shown = json.loads(line)
    assert set(shown) == {"text", "vector"}
    vector = np.asarray(shown["vector"], dtype=np.float32)
    np.testing.assert_array_equal(vector, hashing.encode(["a diesel engine"], role="passage")[0])


def test_embed_takes_a_line_of_a_file_or_of_standard_input_each(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("one\n\nthree\n", encoding="utf-8")
    by_file = cli.ok("embed", tmp_path / "texts.txt").out
    assert [json.loads(line)["text"] for line in by_file.splitlines()] == ["one", "", "three"]
    assert cli.ok("embed", "-", stdin="one\n\nthree\n").out == by_file
    (tmp_path / "t.jsonl").write_text('{"text": "one"}\n', encoding="utf-8")
    assert cli.ok("embed", tmp_path / "t.jsonl").lines == by_file.splitlines()[:1]


def test_embed_writes_npy_to_a_file_or_a_pipe_but_not_to_a_terminal(cli: CommandLine, tmp_path: Path) -> None:
    piped = np.load(io.BytesIO(cli.ok("embed", "-", "--format", "npy", stdin="a\nb\n").raw), allow_pickle=False)
    assert (piped.shape, piped.dtype) == ((2, 256), np.float32)
    cli.ok("embed", "-", "-o", tmp_path / "v.npy", "--role", "query", stdin="a\nb\n")
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), piped)
    cli.ok("embed", "a", "-o", tmp_path / "v.jsonl")
    assert json.loads((tmp_path / "v.jsonl").read_text(encoding="utf-8"))["text"] == "a"
    assert cli("embed", "a", "--format", "npy", terminal=True).code == 2


def test_embed_nothing_gives_nothing(cli: CommandLine) -> None:
    assert cli.ok("embed", "-", stdin="").out == ""
    assert np.load(io.BytesIO(cli.ok("embed", "-", "--format", "npy", stdin="").raw)).shape == (0, 256)


def test_sts_of_two_texts_for_several_models(cli: CommandLine) -> None:
    shown = cli.ok("sts", "a red car", "a red bus", "-m", "hashing", "--json").json
    [pair] = shown["pairs"]
    assert (shown["schema"], pair["a"], pair["b"], list(pair["models"])) == (1, "a red car", "a red bus", ["hashing"])
    assert set(pair["models"]["hashing"]) == {"cosine", "strength"}
    assert 0 < pair["models"]["hashing"]["cosine"] < 1
    assert cli.ok("sts", "same", "same").out.startswith("cosine 1.0000")


def test_sts_for_several_models_is_a_table_with_a_line_for_each(cli: CommandLine) -> None:
    head, one, other = cli.ok("sts", "a red car", "a red bus", "-m", "hashing", "-m", "default").lines
    assert head.split() == ["model", "cosine", "strength"]
    assert one.split()[0] == "hashing" and other.split()[0] == "default"
    pairs = cli.ok("sts", "--pairs", "-", "-m", "hashing", "-m", "default", stdin="one\ttwo\nred\tblue\n").lines
    assert len(pairs) == 5 and pairs[1].endswith("one | two") and pairs[4].endswith("red | blue")


def test_sts_of_scored_pairs_gives_correlations_in_percent(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text("a cat\ta cat\t5\na cat\ta cab\t3\na cat\txyz\t0\n", encoding="utf-8")
    shown = cli.ok("sts", "--pairs", tmp_path / "p.tsv", "--json").json
    assert len(shown["pairs"]) == 3
    assert shown["models"]["hashing"]["spearman"] == 100
    assert 90 < shown["models"]["hashing"]["pearson"] <= 100
    assert "spearman" in cli.ok("sts", "--pairs", tmp_path / "p.tsv").out
    unscored = cli.ok("sts", "--pairs", "-", "--json", stdin="a\tb\n").json
    assert "models" not in unscored
    assert cli("sts", "--pairs", "-", stdin="a\tb\t1\nc\td\n").code == 2


def test_sts_of_constant_scores_is_no_number_and_valid_json(cli: CommandLine) -> None:
    shown = cli.ok("sts", "--pairs", "-", "--json", stdin="a\tb\t1\nc\td\t1\n").json
    assert shown["models"]["hashing"] == {"spearman": None, "pearson": None}


def test_sts_matrix_compares_every_line_with_every_other(cli: CommandLine) -> None:
    shown = cli.ok("sts", "--matrix", "-", "--json", stdin="a cat\na cab\nxyz\n").json
    cosines = np.asarray(shown["models"]["hashing"]["cosine"])
    assert shown["texts"] == ["a cat", "a cab", "xyz"]
    np.testing.assert_allclose(cosines, cosines.T)
    np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-6)
    assert len(cli.ok("sts", "--matrix", "-", stdin="a cat\na cab\n").lines) == 3
    assert cli("sts", "--matrix", "-", stdin="").code == 2


def test_sts_of_a_public_task_is_the_figure_of_the_papers(cli: CommandLine, data: Path) -> None:
    from semsearch.evaluation import sts_task

    shown = cli.ok("sts", "--task", "sickr", "--data", data, "--json").json
    wanted = sts_task("sickr", HashingEncoder(), data)
    assert shown["models"]["hashing"]["spearman"] == pytest.approx(wanted.spearman.all, abs=1e-3)
    assert cli("sts", "--task", "sickr", "--data", "/nowhere").code == 3


@pytest.mark.parametrize(
    "arguments", [[], ["a"], ["a", "b", "--pairs", "-"], ["--task", "sts11"], ["--matrix", "-", "--task", "stsb"]]
)
def test_sts_takes_one_thing_to_compare(cli: CommandLine, arguments: list[str]) -> None:
    assert cli("sts", *arguments).code == 2


def test_models_are_listed_and_explained(cli: CommandLine) -> None:
    known = cli.ok("models", "list", "--json").json["models"]
    assert {"default", "hashing"} <= {one["name"] for one in known}
    assert all(one["licence"] for one in known)
    assert "default" in cli.ok("models", "list").out
    shown = cli.ok("models", "info", "hashing", "--json").json["model"]
    assert {"name", "fingerprint", "dim", "prompts", "licence", "device"} <= set(shown)
    assert "fingerprint" in cli.ok("models", "info", "-m", "hashing").out
    assert cli("models", "info", "defualt").err.count("'default'") >= 1
    assert cli("models").code == 2


def test_doctor_finds_a_sound_installation_sound(cli: CommandLine) -> None:
    shown = cli.ok("doctor", "--json").json
    assert shown["ok"]
    checks = {check["check"] for check in shown["checks"]}
    assert {"python", "sqlite", "numpy", "faiss", "onnxruntime", "encoder", "home", "embedding cache"} <= checks
    assert {check["state"] for check in shown["checks"]} <= {"ok", "note"}
    assert "FTS5" in cli.ok("doctor").out


def test_doctor_finds_an_encoder_that_is_not_there_and_goes_on(cli: CommandLine) -> None:
    ran = cli("doctor", "-m", "no-such-model")
    assert ran.code == 1
    assert any(line.startswith("broken  encoder") for line in ran.lines)
    assert any(" home " in line for line in ran.lines)


def test_doctor_finds_a_home_that_cannot_be_written(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = cli("--home", "/proc/indexes", "doctor", "--json")
    assert ran.code == 1
    assert [check["check"] for check in ran.json["checks"] if check["state"] == "broken"] == ["home"]


@pytest.mark.parametrize("models", [["hashing"], ["hashing", "default"]])
def test_cosines_are_printed_before_any_model_is_measured_for_strengths(
    capsys: pytest.CaptureFixture[str], models: list[str]
) -> None:
    """A model that was never compared with unrelated texts encodes 156 of them first, for as long as a minute."""
    written: list[str] = []

    def measured(name: str) -> list[float]:
        written.append(capsys.readouterr().out)
        return [0.5]

    sts_command._print_pairs({name: StsResult((("a", "b"),), (0.25,), (None,)) for name in models}, measured)
    assert len(written) == len(models) and all(each.endswith("0.2500") for each in written)
    assert capsys.readouterr().out == ("  strength 0.50\n" if len(models) == 1 else "    0.5000\n")


def test_strengths_are_left_out_where_they_are_not_wanted(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(*_: object) -> list[float]:
        raise AssertionError("a model is measured")

    monkeypatch.setattr(sts_command, "strengths_of", unwanted)
    assert cli.ok("sts", "a cat", "a cab", "-m", "default", "--no-strength").out.startswith("cosine 0.")
    shown = cli.ok("sts", "a cat", "a cab", "-m", "default", "--no-strength", "--json").json
    assert shown["pairs"][0]["models"]["default"]["strength"] is None
