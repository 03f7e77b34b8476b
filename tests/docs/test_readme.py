"""The README can be typed as it stands: every example is run, in order, and has to succeed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
README = (CHECKOUT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A home of indexes of its own, and the commands of this environment first on the path."""
    home = tmp_path_factory.mktemp("readme")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SEMSEARCH_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return {**kept, "PATH": path, "SEMSEARCH_HOME": str(home), "SEMSEARCH_CACHE": str(home / "cache.db")}


def best_match(output: str) -> str:
    """The best `match` of the hits that a query printed as JSON or as JSON lines."""
    first = json.loads(output.splitlines()[0])
    matches = {hit["match"] for hit in first.get("hits", map(json.loads, output.splitlines()))}
    return next((match for match in ("strong", "likely") if match in matches), "none")


@pytest.mark.slow
def test_every_command_runs_in_order(surroundings: dict[str, str]) -> None:
    commands = re.findall(r"^\$ (.*)$", "\n".join(blocks("console")), flags=re.MULTILINE)
    assert len(commands) >= 8
    for command in commands:
        ran = subprocess.run(["bash", "-c", command], cwd=CHECKOUT, env=surroundings, capture_output=True, text=True)
        assert ran.returncode == 0, f"{command}\n{ran.stderr}"
        assert ran.stdout.strip(), command
        if " query " in command:
            assert "no good match" not in ran.stderr and best_match(ran.stdout) in ("strong", "likely"), command


@pytest.mark.slow
def test_the_python_example_runs_and_finds_the_engine(surroundings: dict[str, str], tmp_path: Path) -> None:
    (code,) = blocks("python")
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=surroundings, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("engines ")


def test_every_exit_code_of_the_program_is_in_the_table() -> None:
    from semsearch import errors

    told = set(map(int, re.findall(r"\d+", " ".join(re.findall(r"^\| ([\d, ]+) \|", README, flags=re.MULTILINE)))))
    known = {kind.exit_code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "exit_code")}
    assert known <= told
