"""What docs/encoders.md tells people to type works, on models of no account."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.checkpoints import shallow
from helpers.commandline import run_console

from semsearch.models import methods
from semsearch.prompts import library
from semsearch.utils import plugins

CHECKOUT = Path(__file__).resolve().parents[2]
TEXT = (CHECKOUT / "docs" / "encoders.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_every_command_runs_in_order(golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(CHECKOUT)
    own = {
        "SEMSEARCH_HOME": str(tmp_path / "home"),
        "SEMSEARCH_CACHE": str(tmp_path / "cache.db"),
        "XDG_CACHE_HOME": str(tmp_path / "xdg"),
        "BERT": str(shallow(golden, "tiny-bert", tmp_path / "tiny-bert", layers=1)),
        "OPT": str(shallow(golden, "tiny-opt", tmp_path / "tiny-opt", layers=2)),
        "OUT": str(tmp_path),
    }
    commands = re.findall(r"^\$ (.*)$", "\n".join(blocks("console")), flags=re.MULTILINE)
    assert len(commands) >= 8
    for command in commands:
        ran = run_console(command, own)
        assert ran.code == 0, f"{command}\n{ran.err}"
        assert ran.out.strip(), command


def test_every_template_and_option_it_names_is_there() -> None:
    named = {name for line in TEXT.splitlines() if line.startswith("| `") for name in re.findall(r"`([^`]+)`", line)}
    options = {name.partition("=")[0] for name in named if "=" in name}
    known = {option for method in plugins.names(methods) for option in methods.options_of(method)}
    assert options and options <= known
    assert {name for name in named if "=" not in name} - set(library.templates()) <= {"pad-released"}


def test_the_template_file_it_shows_is_one(tmp_path: Path) -> None:
    (content,) = blocks("toml")
    (tmp_path / "own.toml").write_text(content)
    template = library.resolve(str(tmp_path / "own.toml"))
    assert (template.method, template.masks) == ("promptbert", 1)
