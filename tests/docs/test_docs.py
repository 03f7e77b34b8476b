"""What docs/encoders.md tells people to type works, on models of no account."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import documented
from helpers.checkpoints import shallow

from semsearch.models import methods
from semsearch.prompts import library
from semsearch.utils import plugins

TEXT = documented.page("docs/encoders.md")


@pytest.mark.slow
def test_every_command_runs_in_order(golden: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    own = {
        "SEMSEARCH_HOME": str(tmp_path / "home"),
        "SEMSEARCH_CACHE": str(tmp_path / "cache.db"),
        "XDG_CACHE_HOME": str(tmp_path / "xdg"),
        "BERT": str(shallow(golden, "tiny-bert", tmp_path / "tiny-bert", layers=1)),
        "OPT": str(shallow(golden, "tiny-opt", tmp_path / "tiny-opt", layers=2)),
        "OUT": str(tmp_path),
    }
    assert len(list(documented.console(TEXT, own))) >= 8


def test_every_template_and_option_it_names_is_there() -> None:
    named = {name for line in TEXT.splitlines() if line.startswith("| `") for name in re.findall(r"`([^`]+)`", line)}
    options = {name.partition("=")[0] for name in named if "=" in name}
    known = {option for method in plugins.names(methods) for option in methods.options_of(method)}
    assert options and options <= known
    assert {name for name in named if "=" not in name} - set(library.templates()) <= {"pad-released", "[PST]"}


def test_the_template_file_it_shows_is_one(tmp_path: Path) -> None:
    several, content = documented.blocks(TEXT, "toml")
    (tmp_path / "own.toml").write_text(content)
    template = library.resolve(str(tmp_path / "own.toml"))
    assert (template.method, template.masks) == ("promptbert", 1)
    (tmp_path / "own.toml").write_text(several)
    assert library.resolve(str(tmp_path / "own.toml")).method == "metaeol"
