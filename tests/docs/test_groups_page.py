"""The commands and examples of docs/groups.md run, in order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = (CHECKOUT / "docs" / "groups.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_commands_run_and_print_something(tmp_path: Path) -> None:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SEMSEARCH_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    places = {"SEMSEARCH_HOME": str(tmp_path / "home"), "SEMSEARCH_CACHE": str(tmp_path / "cache.db")}
    commands = re.findall(r"^\$ (.*)$", PAGE, flags=re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        ran = subprocess.run(
            ["bash", "-c", command], cwd=CHECKOUT, env={**kept, "PATH": path, **places}, capture_output=True, text=True
        )
        assert ran.returncode == 0 and ran.stdout.strip(), f"{command}\n{ran.stderr}"


def test_the_examples_run() -> None:
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(code, names)  # noqa: S102  (our own page)
    assert names["index"]
    names["index"].close()
