"""What docs/encoders.md tells people to type works, on models of no account."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from semsearch.models import methods
from semsearch.prompts import library
from semsearch.utils import plugins

CHECKOUT = Path(__file__).resolve().parents[2]
TEXT = (CHECKOUT / "docs" / "encoders.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_every_command_runs_in_order(golden: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SEMSEARCH_")}
    own = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}",
        "SEMSEARCH_HOME": str(tmp_path / "home"),
        "SEMSEARCH_CACHE": str(tmp_path / "cache.db"),
        "XDG_CACHE_HOME": str(tmp_path / "xdg"),
        "BERT": str(golden / "models" / "tiny-bert"),
        "OPT": str(golden / "models" / "tiny-opt"),
        "OUT": str(tmp_path),
    }
    commands = re.findall(r"^\$ (.*)$", "\n".join(blocks("console")), flags=re.MULTILINE)
    assert len(commands) >= 8
    for command in commands:
        ran = subprocess.run(["bash", "-c", command], cwd=CHECKOUT, env=kept | own, capture_output=True, text=True)
        assert ran.returncode == 0, f"{command}\n{ran.stderr}"
        assert ran.stdout.strip(), command


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
