"""What docs/training.md tells people to type works, and its tables say what the program does."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import pytest
from helpers import documented
from helpers.checkpoints import shallow

CHECKOUT = Path(__file__).resolve().parents[2]
TEXT = documented.page("docs/training.md")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below `heading`, without its own head."""
    part = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| `") and not line.startswith("| `--")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.fixture
def surroundings(tmp_path: Path, golden: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A home of indexes of its own, no settings, and the variables of the examples."""
    values = {
        "SEMSEARCH_HOME": str(tmp_path / "home"),
        "SEMSEARCH_CACHE": str(tmp_path / "cache.db"),
        "XDG_CACHE_HOME": str(tmp_path / "xdg"),
        "BERT": str(shallow(golden, "tiny-bert", tmp_path / "tiny-bert", layers=1)),
        "OUT": str(tmp_path),
    }
    monkeypatch.delenv("SEMSEARCH_DATA", raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return values


def test_every_command_runs_in_order(surroundings: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (pairs,) = documented.blocks(TEXT, "json")
    (tmp_path / "pairs.jsonl").write_text(pairs * 2, encoding="utf-8")
    ran = [ran for _, ran in documented.console(TEXT, surroundings)]
    assert len(ran) >= 6
    told = ran[-1].json["train"]
    named = re.findall(r"`(\w+)`", TEXT.partition("under `train`,")[2].partition("\n\n")[0])
    assert set(told) == set(named)
    for name in re.findall(r"^\| `([\w./]+)`", TEXT.partition("\n| in DIR")[2], flags=re.MULTILINE):
        made = (tmp_path / "cooking" / name).exists()
        assert made == (name not in ("run/state.safetensors", "seed-N/")), name


def test_the_python_example_runs(
    surroundings: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(CHECKOUT / "scripts" / "sample" / "cooking", tmp_path / "notes")
    (tmp_path / "tiny-bert").rename(tmp_path / "bert")
    (code,) = documented.blocks(TEXT, "python")
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    runpy.run_path("example.py")
    assert capsys.readouterr().out.strip().endswith("tuned")


def test_the_table_of_methods_has_each_with_the_figures_that_hold() -> None:
    pytest.importorskip("torch")
    from semsearch.training import objectives
    from semsearch.utils import plugins

    told = {row[0].strip("`"): row for row in rows("Methods") if len(row) == 8}
    assert set(told) == {name.replace("_", "-") for name in plugins.names(objectives)}
    for name, row in told.items():
        paper = objectives.load(name).hyperparameters
        held = [paper.batch_size, paper.learning_rate, paper.epochs, paper.max_length]
        assert [float(cell) for cell in row[-4:]] == held, name
        wants = {"score": "score", "class": "classes", "teacher": "teacher", "none": ""}[objectives.load(name).labels]
        assert wants in row[1], name


def test_every_column_it_names_is_known() -> None:
    from semsearch.training.datasets import columns

    lines = {
        row[0]: row[1] for row in re.findall(r"^\| (a text|a pair|a third text|how alike) \| (.*) \|$", TEXT, re.M)
    }
    names = {role: re.findall(r"`(\w+)`", cells) for role, cells in lines.items()}
    assert all(columns.recognise([name]) == {"anchor": name} for name in names["a text"])
    pairs = [re.findall(r"`(\w+)`", part) for part in lines["a pair"].split(" · ")]
    asked = [[first, second] for first in pairs[-1][:2] for second in pairs[-1][2:]]
    for one, other in [*pairs[:-1], *asked]:
        assert columns.recognise([other, one]) == {"anchor": one, "positive": other}
    for role, kind in (("a third text", "negative"), ("how alike", None)):
        for name in names[role]:
            found = columns.recognise(["sentence1", "sentence2", name])
            assert len(found) == 3 and (kind is None or found[kind] == name), name


def test_every_flag_it_names_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    from semsearch.cli.main import main

    assert main(["train", "--help"]) == 0
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) | {"--queries", "--qrels", "--dtype"}
    named = set(re.findall(r"--[a-z][a-z-]*", TEXT))
    assert named <= known and len(named) > 20
