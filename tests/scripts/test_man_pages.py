"""scripts/release/man_pages.py: every command has a page, which says what --help says, and which troff takes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from semsearch.cli.commands import TABLE

CHECKOUT = Path(__file__).resolve().parents[2]


def test_every_command_has_a_man_page_without_faults(tmp_path: Path) -> None:
    folder = tmp_path / "man1"
    subprocess.run(
        [sys.executable, "-m", "scripts.release.man_pages", "-o", folder], cwd=CHECKOUT, check=True, capture_output=True
    )
    written = {file.stem for file in folder.iterdir()}
    assert {"semsearch", *(f"semsearch-{name}" for name in TABLE), "semsearch-models-pull"} <= written
    whole = (folder / "semsearch.1").read_text()
    assert all(f".B {name}\n{summary[:8]}" in whole for name, (_, summary) in TABLE.items())
    query = (folder / "semsearch-query.1").read_text()
    assert "\\-\\-min\\-strength" in query and "semsearch\\-query \\- Find the passages" in query
    if (groff := shutil.which("groff")) is None:
        pytest.skip("there is no groff")
    checked = subprocess.run(
        [groff, "-man", "-Tutf8", "-ww", "-z", *sorted(folder.iterdir())], capture_output=True, text=True
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    shown = subprocess.run(
        [groff, "-man", "-Tascii", "-P-c", folder / "semsearch-sql.1"], capture_output=True, text=True
    )
    assert "Name or path of the index" in shown.stdout
