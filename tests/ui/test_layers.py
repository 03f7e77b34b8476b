"""The pages stand on the public API alone."""

from __future__ import annotations

import ast
from pathlib import Path

UI = Path(__file__).parents[2] / "ui"
PUBLIC = {
    "semsearch",
    "semsearch.evaluation",
    "semsearch.export",
    "semsearch.prompts",
    "semsearch.training",
    "semsearch.types",
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
