"""The README can be typed as it stands: every example is run, in order, and has to succeed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import documented

README = documented.page("README.md")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A home of indexes of its own."""
    home = tmp_path_factory.mktemp("readme")
    return {"SEMSEARCH_HOME": str(home), "SEMSEARCH_CACHE": str(home / "cache.db")}


def best_match(output: str) -> str:
    """The best `match` of the hits that a query printed as JSON or as JSON lines."""
    first = json.loads(output.splitlines()[0])
    matches = {hit["match"] for hit in first.get("hits", map(json.loads, output.splitlines()))}
    return next((match for match in ("strong", "likely") if match in matches), "none")


@pytest.mark.slow
def test_every_command_runs_in_order(places: dict[str, str]) -> None:
    commands = list(documented.console(README, places))
    assert len(commands) >= 8
    for command, ran in commands:
        if " query " in command:
            assert "no good match" not in ran.err and best_match(ran.out) in ("strong", "likely"), command


@pytest.mark.slow
def test_the_python_example_runs_and_finds_the_engine(places: dict[str, str], tmp_path: Path) -> None:
    (code,) = documented.blocks(README, "python")
    env = {name: value for name, value in os.environ.items() if not name.startswith("SEMSEARCH_")} | places
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("engines ")


def test_every_exit_code_of_the_program_is_in_the_table() -> None:
    from semsearch import errors

    told = set(map(int, re.findall(r"\d+", " ".join(re.findall(r"^\| ([\d, ]+) \|", README, flags=re.MULTILINE)))))
    known = {kind.exit_code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "exit_code")}
    assert known <= told
