"""docs/api.md lists every public name as the code has it, and its examples run."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from helpers import rerankers
from helpers.checkpoints import shallow
from helpers.scripts import loaded

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = (CHECKOUT / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    return loaded("api_reference")


def test_the_page_is_what_the_code_says(reference: ModuleType) -> None:
    assert reference.page() == PAGE, "run scripts/api_reference.py"


def test_every_public_name_is_on_the_page(reference: ModuleType) -> None:
    headings = {line.removeprefix("### ") for line in PAGE.splitlines() if line.startswith("### ")}
    for package in reference.PACKAGES:
        module = importlib.import_module(package)
        names = {name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)}
        errors = {name for name in names if f" {name} " in PAGE.partition("### Errors\n")[2].partition("### ")[0]}
        names |= {"export"} if package == "semsearch.export" else set()
        missing = names - headings - errors - {"SemsearchError"}
        assert missing == set(), package


def test_an_example_uses_every_public_name(reference: ModuleType) -> None:
    for package in reference.PACKAGES:
        code = (CHECKOUT / "docs" / "api" / f"{package.rpartition('.')[2]}.txt").read_text(encoding="utf-8")
        names = set(reference.public_names(package))
        used = {word for line in code.splitlines() if line[:3] in (">>>", "...") for word in re.findall(r"\w+", line)}
        assert names - used == set(), package


@pytest.mark.parametrize("name", ["Index", "Encoder", "Reranker"])
def test_every_public_method_is_on_the_page(name: str) -> None:
    import semsearch

    methods = {each for each in vars(getattr(semsearch, name)) if not each.startswith("_")}
    assert {each for each in methods if f"#### {name}.{each}\n" not in PAGE} == set()


@pytest.mark.parametrize("name", ["semsearch", "admin", "analysis", "prompts"])
def test_every_example_runs(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    run(CHECKOUT / "docs" / "api" / f"{name}.txt")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("evaluation", marks=pytest.mark.slow),
        pytest.param("training", marks=pytest.mark.training),
        pytest.param("export", marks=[pytest.mark.training, pytest.mark.export]),
    ],
)
def test_every_example_with_a_network_runs(
    name: str, golden: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    shallow(golden, "tiny-bert", tmp_path / "bert", layers=1)
    rerankers.checkpoint(tmp_path / "cross", layers=1)
    monkeypatch.chdir(tmp_path)
    run(CHECKOUT / "docs" / "api" / f"{name}.txt")


def run(file: Path) -> None:
    """Execute the examples of a file, which are on the page too."""
    ran = doctest.testfile(str(file), module_relative=False, encoding="utf-8")
    assert ran.attempted > 0 and ran.failed == 0
    assert ">>>" + file.read_text(encoding="utf-8").partition(">>>")[2].rstrip() in PAGE


def test_the_top_level_lists_public_names_only() -> None:
    script = "import semsearch; print(sorted(set(dir(semsearch)) - set(semsearch.__all__)), semsearch.__version__)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("[] ")


def test_every_error_is_at_the_top_level() -> None:
    import semsearch
    from semsearch import errors

    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert kinds <= set(semsearch.__all__)
