"""docs/architecture.md and other pages name what is there, and the drawing has every package."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = (CHECKOUT / "docs" / "architecture.md").read_text(encoding="utf-8")
PAGES = ["docs/architecture.md", "docs/trust.md", "CONTRIBUTING.md", "README.md"]
EVERY = [*(f"docs/{path.name}" for path in (CHECKOUT / "docs").glob("*.md")), "CONTRIBUTING.md", "README.md"]
PATH = re.compile(r"`((?:semsearch|ui|tests|scripts|docs|indexes)/[\w./]+)`")


@pytest.mark.parametrize("name", PAGES)
def test_every_path_it_names_exists(name: str) -> None:
    named = set(PATH.findall((CHECKOUT / name).read_text(encoding="utf-8")))
    assert named
    assert sorted(path for path in named if not (CHECKOUT / path).exists()) == []


def test_the_index_of_the_documentation_has_a_line_for_every_page() -> None:
    lines = (CHECKOUT / "docs" / "README.md").read_text(encoding="utf-8").splitlines()
    linked = [re.match(r"\| \[[\w.-]+\]\(([\w-]+\.md)\) \| [^|]{8,} \|$", line) for line in lines]
    pages = sorted(path.name for path in (CHECKOUT / "docs").glob("*.md") if path.name != "README.md")
    assert sorted(match[1] for match in linked if match) == pages


@pytest.mark.parametrize("name", EVERY)
def test_every_script_and_every_page_it_names_exists(name: str) -> None:
    file = CHECKOUT / name
    modules = re.findall(r"-m (scripts\.[\w.]*\w)", file.read_text(encoding="utf-8"))
    paths = [f"{module.replace('.', '/')}.py" for module in modules]
    paths += re.findall(r"(?<![\w/])(scripts/[\w./-]*\w)", file.read_text(encoding="utf-8"))
    assert [path for path in paths if not (CHECKOUT / path).exists()] == []
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read_text(encoding="utf-8"))
    assert [link for link in links if not (file.parent / link).exists()] == []


def test_every_package_is_in_the_drawing() -> None:
    drawing = PAGE.partition("```\n")[2].partition("```")[0]
    entries = {
        path.stem
        for path in (CHECKOUT / "semsearch").iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").is_file()) and path.stem != "__init__"
    }
    assert {name for name in entries if not re.search(rf"\b{name}\b", drawing)} == set()


def test_every_function_in_the_tables_of_steps_is_defined_in_its_module() -> None:
    rows = re.findall(r"^\| \d+\. [^|]*\| ([^|]*) \| ([^|]*) \|$", PAGE, flags=re.MULTILINE)
    assert len(rows) >= 18
    for modules, functions in rows:
        defined: set[str] = set()
        for path in PATH.findall(modules):
            tree = ast.parse((CHECKOUT / path).read_text(encoding="utf-8"))
            for node in tree.body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    defined.add(node.name)
                if isinstance(node, ast.ClassDef):
                    defined |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
        named = set(re.findall(r"`([\w.]+)`", functions))
        assert named and named <= defined, modules
