"""The pages stand on the public API alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

UI = Path(__file__).parents[2] / "ui"
PUBLIC = {
    "semsearch",
    "semsearch.evaluation",
    "semsearch.export",
    "semsearch.prompts",
    "semsearch.training",
    "semsearch.types",
    "semsearch.utils.quantities",
    "semsearch.utils.stop_words",
    "semsearch.utils.writing_systems",
}


def test_pages_import_only_public_names_of_semsearch() -> None:
    imported = set()
    for file in UI.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                imported.add(node.module)
            elif isinstance(node, ast.Import):
                imported |= {each.name for each in node.names}
    assert {name for name in imported if name.partition(".")[0] == "semsearch"} <= PUBLIC


WITHOUT_TORCH = """
import importlib, pkgutil, sys
sys.modules["torch"] = sys.modules["transformers"] = None
import semsearch_ui
for module in pkgutil.walk_packages(semsearch_ui.__path__, "semsearch_ui."):
    if module.name != "semsearch_ui.app":  # what streamlit runs
        importlib.import_module(module.name)
"""


def test_every_page_can_be_opened_without_pytorch() -> None:
    pytest.importorskip("streamlit")
    ran = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
