"""The shape of the code that a reader relies on: few entries, small folders, imports where they are looked for."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from helpers.scripts import loaded

from semsearch.utils import plugins

CHECKOUT = Path(__file__).resolve().parents[1]
MOST = {
    "entries at the top level": 23,
    "entries of a room": 16,
    "own imports in functions": 25,
    "modules in a cycle of imports": 0,
    "Any": 170,
    "public methods of Index": 30,
    "methods of the store protocol": 32,
    "modules touched by an index run": 82,
    "modules touched by a query": 38,
}


@pytest.fixture(scope="module")
def measuring() -> ModuleType:
    return loaded("measure_structure")


def test_the_code_stays_within_its_limits(measuring: ModuleType) -> None:
    structure = measuring.measure(CHECKOUT)
    figures = {
        "entries at the top level": structure.rooms["semsearch"].entries,
        "entries of a room": structure.rooms[structure.largest()].entries,
        "own imports in functions": structure.hidden(own=True),
        "modules in a cycle of imports": len(structure.cycle),
        "Any": structure.anys,
        "public methods of Index": structure.classes["Index"],
        "methods of the store protocol": structure.protocol,
    }
    assert {name: figure for name, figure in figures.items() if figure > MOST[name]} == {}, structure.cycle


def test_an_index_run_and_a_query_touch_few_modules(measuring: ModuleType) -> None:
    figures = measuring.touched(CHECKOUT)
    assert figures.keys() <= MOST.keys() and all(isinstance(figure, int) for figure in figures.values())
    assert {name: figure for name, figure in figures.items() if figure > MOST[name]} == {}


def test_every_package_is_installed() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    names = {"semsearch": "semsearch", "ui": "semsearch_ui"}
    files = [file for folder in names for file in (CHECKOUT / folder).rglob("*.py")]
    folders = [file.parent.relative_to(CHECKOUT).parts for file in files]
    installed = set(project["tool"]["setuptools"]["packages"]) - {"semsearch_ui.sample"}  # files alone
    assert installed == {".".join([names[top], *rest]) for top, *rest in folders}


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
    (one,) = (one for one in project["tool"]["importlinter"]["contracts"] if one["name"] == contract)
    return set(one["modules"])


def test_imports_rooms_and_methods_are_counted_wherever_they_stand(measuring: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "ui").mkdir()
    (tmp_path / "semsearch" / "stores").mkdir(parents=True)
    sources = {
        "__init__.py": "",
        "one.py": "def use() -> None:\n    from semsearch import two\n    import json\n",
        "two.py": "import typing\nif typing.TYPE_CHECKING:\n    from semsearch.stores import three\nx: Any = 1\n",
        "stores/__init__.py": "",
        "stores/three.py": "from ..one import use\nclass StoreReader:\n    def a(self): ...\n    def _b(self): ...\n",
    }
    for name, source in sources.items():
        (tmp_path / "semsearch" / name).write_text(source)
    structure = measuring.measure(tmp_path)
    assert structure.cycle == ["semsearch.one", "semsearch.stores.three", "semsearch.two"]
    assert (structure.hidden(), structure.hidden(own=True)) == (2, 1)
    assert (structure.anys, structure.protocol) == (1, 1)
    assert structure.classes == {"StoreReader": 1}
    assert structure.rooms == {"semsearch": measuring.Room(3, 7), "semsearch/stores": measuring.Room(1, 4)}
    assert structure.largest() == "semsearch/stores"
