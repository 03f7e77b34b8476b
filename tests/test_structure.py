"""The shape of the code that a reader relies on: few entries, small folders, imports where they are looked for."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from helpers.scripts import loaded

from semsearch.utils import plugins

CHECKOUT = Path(__file__).resolve().parents[1]
MOST = {"entries": 23, "files in a folder": 17, "hidden": 60, "hidden outside cli": 20, "cycles": 0}
FORMATS = "semsearch/documents/loaders"  # a file for each format, none of which knows another


@pytest.fixture(scope="module")
def measuring() -> ModuleType:
    return loaded("measure_structure")


def test_the_code_stays_within_its_limits(measuring: ModuleType) -> None:
    found = measuring.measure(CHECKOUT)
    figures = {
        "entries": len(found.entries),
        "files in a folder": max(count for folder, count in found.folders.items() if folder != FORMATS),
        "hidden": found.hidden(own=True),
        "hidden outside cli": found.hidden(own=True, outside_cli=True),
        "cycles": len(found.cycles),
    }
    assert {name: figure for name, figure in figures.items() if figure > MOST[name]} == {}, found.cycles


def test_every_package_is_installed() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    known = {"semsearch": "semsearch", "ui": "semsearch_ui"}
    files = [file for folder in known for file in (CHECKOUT / folder).rglob("*.py")]
    found = [file.parent.relative_to(CHECKOUT).parts for file in files]
    installed = set(project["tool"]["setuptools"]["packages"]) - {"semsearch_ui.sample"}  # files alone
    assert installed == {".".join([known[top], *rest]) for top, *rest in found}


PLUGINS = {
    "Vector index back ends do not know each other": "semsearch.vector_index.backends",
    "Training objectives do not know each other": "semsearch.training.objectives",
    "Encoder methods do not know each other": "semsearch.models.methods",
    "Runtimes of rerankers do not know each other": "semsearch.encoders.rerankers.runtimes",
}


@pytest.mark.parametrize("contract", PLUGINS)
def test_every_plugin_is_in_the_contract_of_its_kind(contract: str) -> None:
    package = PLUGINS[contract]
    assert modules_of(contract) == {f"{package}.{name}" for name in plugins.own_names(package)}


def test_every_page_is_in_the_contract_of_pages() -> None:
    pages = {f"semsearch_ui.{file.parent.name}" for file in (CHECKOUT / "ui").glob("*/page.py")}
    assert modules_of("Pages do not import each other") == pages


def modules_of(contract: str) -> set[str]:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    (found,) = (one for one in project["tool"]["importlinter"]["contracts"] if one["name"] == contract)
    return set(found["modules"])


def test_an_import_in_a_function_or_for_types_alone_is_part_of_a_cycle(measuring: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "ui").mkdir()
    (tmp_path / "semsearch" / "part").mkdir(parents=True)
    sources = {
        "__init__.py": "",
        "one.py": "def use() -> None:\n    from semsearch import two\n    import json\n",
        "two.py": "import typing\nif typing.TYPE_CHECKING:\n    from semsearch.part import three\nx: Any = 1\n",
        "part/__init__.py": "",
        "part/three.py": "from ..one import use\n",
    }
    for name, source in sources.items():
        (tmp_path / "semsearch" / name).write_text(source)
    found = measuring.measure(tmp_path)
    assert found.cycles == [["semsearch.one", "semsearch.part.three", "semsearch.two"]]
    assert (found.hidden(), found.hidden(own=True), found.hidden(own=True, outside_cli=True)) == (2, 1, 1)
    assert (found.anys, found.entries) == (1, ["__init__", "one", "part", "two"])
