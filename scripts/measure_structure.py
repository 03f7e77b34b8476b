"""The structure of the code in figures: entries at the top level, hidden imports, cycles, function lengths, lines.

Usage: scripts/measure_structure.py [REV|FOLDER [REV|FOLDER]]

Without arguments the working tree is measured; with two, a table shows both, for example a commit before and HEAD.
`semsearch` and `ui` are measured unless a row says otherwise; only files that end in .py count.
"""

from __future__ import annotations

import argparse
import ast
import io
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGES = {"semsearch": "semsearch", "ui": "semsearch_ui"}  # folder -> the name it is imported by
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Import:
    """One import statement. `hidden`: it stands in a function, and so not where a reader looks for it."""

    module: str
    targets: tuple[str, ...]
    hidden: bool

    @property
    def own(self) -> bool:
        return self.targets[0].partition(".")[0] in PACKAGES.values()


@dataclass(frozen=True)
class Structure:
    """What is measured of one state of the code."""

    entries: list[str]
    folders: Mapping[str, int]
    imports: list[Import]
    cycles: list[list[str]]
    lengths: list[int]
    anys: int
    lines: int
    test_lines: int

    def hidden(self, *, own: bool = False, outside_cli: bool = False) -> int:
        """Import statements inside functions, each counted once."""
        return sum(
            each.hidden and (each.own or not own) and not (outside_cli and each.module.startswith("semsearch.cli"))
            for each in self.imports
        )

    def rows(self) -> dict[str, object]:
        """Every figure under the words that say what is counted."""
        fullest = max(self.folders, key=lambda name: self.folders[name])
        return {
            "entries at the top level of semsearch (modules and packages)": len(self.entries),
            "files in the fullest folder": f"{self.folders[fullest]} ({fullest})",
            "imports inside functions": self.hidden(),
            "… of own modules": self.hidden(own=True),
            "… of own modules, outside semsearch.cli": self.hidden(own=True, outside_cli=True),
            "import cycles (deferred and TYPE_CHECKING imports count)": len(self.cycles),
            "… modules in them": sum(map(len, self.cycles)),
            "lines of a function, median": round(statistics.median(self.lengths)),
            "lines of a function, 95th percentile": round(statistics.quantiles(self.lengths, n=20)[-1]),
            "uses of Any in semsearch (import lines not counted)": self.anys,
            "lines of semsearch and ui": self.lines,
            "lines of tests": self.test_lines,
        }


def measure(root: Path) -> Structure:
    """Measure the checkout at `root`."""
    trees = dict(_trees(root))
    names = set(trees)
    imports = [found for name, (path, tree) in trees.items() for found in _imports(name, path, tree, names)]
    edges: dict[str, set[str]] = {name: set() for name in names}
    for found in imports:
        edges[found.module].update(target for target in found.targets if target in names and target != found.module)
    functions = [node for _, tree in trees.values() for node in ast.walk(tree) if isinstance(node, Function)]
    own = [tree for name, (_, tree) in trees.items() if name.split(".")[0] == "semsearch"]
    return Structure(
        entries=entries(root / "semsearch"),
        folders=Counter(path.parent.relative_to(root).as_posix() for path, _ in trees.values()),
        imports=imports,
        cycles=_cycles(edges),
        lengths=[(each.end_lineno or each.lineno) - each.lineno + 1 for each in functions],
        anys=sum(isinstance(node, ast.Name) and node.id == "Any" for tree in own for node in ast.walk(tree)),
        lines=sum(map(_lines, (path for path, _ in trees.values()))),
        test_lines=sum(map(_lines, (root / "tests").rglob("*.py"))),
    )


def entries(package: Path) -> list[str]:
    """The modules and packages directly in `package`."""
    modules = (path.stem for path in package.glob("*.py"))
    return sorted([*modules, *(path.parent.name for path in package.glob("*/__init__.py"))])


def _trees(root: Path) -> Iterator[tuple[str, tuple[Path, ast.Module]]]:
    for folder, package in PACKAGES.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = [package, *path.relative_to(root / folder).with_suffix("").parts]
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            yield name, (path, ast.parse(path.read_text(encoding="utf-8")))


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def _imports(name: str, path: Path, tree: ast.Module, names: set[str]) -> Iterator[Import]:
    hidden = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, Function)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield Import(name, tuple(alias.name for alias in node.names), id(node) in hidden)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(package.split(".")[: len(package.split(".")) + 1 - node.level]) if node.level else ""
            base = ".".join(part for part in (above, node.module) if part)
            inside = (f"{base}.{alias.name}" for alias in node.names)
            yield Import(name, tuple(each if each in names else base for each in inside), id(node) in hidden)


def _cycles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that reach each other (Tarjan's strongly connected components of two or more)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(edges[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            at = stack.index(node)
            group = stack[at:]
            del stack[at:]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def _measured(place: str) -> Structure:
    """A folder that is there is measured as it is, anything else as a revision of this repository."""
    if Path(place).is_dir():
        return measure(Path(place))
    archive = subprocess.run(["git", "archive", place], cwd=CHECKOUT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(folder, filter="data")
        return measure(Path(folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", nargs="*", default=[str(CHECKOUT)], metavar="REV|FOLDER")
    places = parser.parse_args().place
    if len(places) > 2:
        parser.error("one or two states can be measured")
    sys.setrecursionlimit(10_000)
    try:
        measured = [_measured(place) for place in places]
    except subprocess.CalledProcessError as error:
        print(f"error: {error.stderr.decode().strip()}", file=sys.stderr)
        return 1
    table = [each.rows() for each in measured]
    for name in table[0]:
        print(f"{name:64}" + "".join(f"{rows[name]!s:>30}" if len(table) > 1 else f"{rows[name]}" for rows in table))
    for cycle in measured[-1].cycles:
        print("cycle:", ", ".join(cycle))
    return 0


if __name__ == "__main__":
    sys.exit(main())
