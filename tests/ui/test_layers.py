"""The pages stand on the public API alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

UI = Path(__file__).parents[2] / "ui"
PACKAGES = (
    *("semsearch", "semsearch.analysis", "semsearch.evaluation", "semsearch.export", "semsearch.index.admin"),
    *("semsearch.prompts", "semsearch.training"),
)
SHARED = {
    "semsearch.utils.quantities.count",  # the one wording of numbers that commands and pages have in common
    "semsearch.utils.quantities.letters_by_kind",
    "semsearch.utils.quantities.rounded_down",
    "semsearch.documents.parsing.front_matter",  # the one place that knows where it ends
    "semsearch.documents.suffixes.page_name",  # and of the pages of documents
    "semsearch.encoders.encoder_pool.EncoderPool",  # the type of Index.open's `encoders`
    "semsearch.documents.suffixes.BY_LOADER",  # and of the files that are Markdown
    "semsearch.documents.loaders.suffix_of",  # and of the suffix that tells the type of a file
    "semsearch.indexing.language_sample.LanguageSample",  # the type of what languages_of_files returns
    "semsearch.search.snippets.Snippet",  # the type of what Index.snippets returns
    "semsearch.utils.untrusted.cell",  # and what makes the texts of others harmless
    "semsearch.utils.untrusted.visible",
    *(f"semsearch.utils.web.visitors.{name}" for name in ("HERE", "Visitors", "among", "here")),  # as `serve` does
    "semsearch.utils.web.until_signal",
    "semsearch.utils.strength.CHANCE",  # the line below which hits are folded, as the map's marks are
}


def public_names() -> set[str]:
    """Every name that the stubs of the packages list."""
    packages = (*PACKAGES, "semsearch.types")
    return {f"{package}.{name}" for package in packages for name in import_module(package).__all__}


def names_used(source: str) -> set[str]:
    """The names of semsearch that a module imports, and those that it reads from an imported package."""
    tree = ast.parse(source)
    packages, used = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == "semsearch":
            for alias in node.names:
                used.add(name := f"{node.module}.{alias.name}")
                packages[alias.asname or alias.name] = name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "semsearch":
                    used |= {alias.name} - {"semsearch"}
                    packages[alias.asname or "semsearch"] = alias.name if alias.asname else "semsearch"
    packages = {name: package for name, package in packages.items() if package in (*PACKAGES, "semsearch.types")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in packages:
            used.add(f"{packages[node.value.id]}.{node.attr}")
    return used


def test_pages_import_only_public_names_of_semsearch() -> None:
    public = public_names() | SHARED
    used = {str(file.relative_to(UI)): names_used(file.read_text(encoding="utf-8")) for file in UI.rglob("*.py")}
    assert {file: sorted(names - public) for file, names in used.items() if names - public} == {}


@pytest.mark.parametrize(
    "line",
    [
        "from semsearch import settings",
        "from semsearch.utils.languages.stop_words import QUERY",
        "from semsearch.evaluation.geometry import unit",
        "from semsearch.types import Path",
        "import semsearch.index",
        "import semsearch\nsemsearch.settings.load()",
        "from semsearch import evaluation\nevaluation.geometry",
    ],
)
def test_a_name_that_is_not_public_would_be_noticed(line: str) -> None:
    assert names_used(line) - public_names() - SHARED


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
