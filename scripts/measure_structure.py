"""The structure of the code in figures: lines, rooms, widest class, hidden imports, cycles, modules on the way of data.

Usage: scripts/measure_structure.py [REV|FOLDER [REV|FOLDER]] [--rooms]

Without arguments the working tree is measured; with two, a table shows both, for example a commit before and HEAD, and
below it the lines of each room. A room is a folder of `semsearch` or `ui`; its entries are its modules and packages.
Only files that end in .py count. The modules that an index run and a query touch, which are those that a function of
runs in, are counted in a fresh process with the `hashing` encoder: a first run over five Markdown files, and a second
query of an open index. A dash stands for what a state of the code cannot do.
"""

from __future__ import annotations

import argparse
import ast
import graphlib
import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGES = {"semsearch": "semsearch", "ui": "semsearch_ui"}  # folder -> the name it is imported by
PLUGINS = {  # a file for each format, method or objective, none of which knows another
    "semsearch/documents/loaders",
    "semsearch/models/methods",
    "semsearch/training/objectives",
}
PROTOCOL = {"StoreReader", "StoreWriter"}  # of semsearch.stores
NOTE = "# Note {0}\n\nThe diesel engine of boat {0} is loud.\n\n## Bread\n\nBread of kind {0} needs salt.\n"
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
class Room:
    """A folder: its modules and packages, and the lines of its own files."""

    entries: int
    lines: int


@dataclass(frozen=True)
class Structure:
    """What is measured of one state of the code."""

    rooms: Mapping[str, Room]
    classes: Mapping[str, int]
    protocol: int
    imports: list[Import]
    cycle: list[str]
    lengths: list[int]
    anys: int
    lines: Mapping[str, int]

    def hidden(self, *, own: bool = False) -> int:
        """Import statements inside functions, each counted once."""
        return sum(each.hidden and (each.own or not own) for each in self.imports)

    def rows(self) -> dict[str, object]:
        """Every figure under the words that say what is counted."""
        largest, widest = self.largest(), max(self.classes, key=lambda name: self.classes[name])
        return {
            "lines of semsearch and ui": self.lines["semsearch"] + self.lines["ui"],
            "lines of tests": self.lines["tests"],
            "lines of scripts": self.lines["scripts"],
            "public methods of the widest class": f"{self.classes[widest]} ({widest})",
            "public methods of StoreReader and StoreWriter": self.protocol,
            "entries at the top level of semsearch": self.rooms["semsearch"].entries,
            "entries of the largest other room, plug-in folders aside": f"{self.rooms[largest].entries} ({largest})",
            "imports inside functions": self.hidden(),
            "… of own modules": self.hidden(own=True),
            "modules in an import cycle (deferred and TYPE_CHECKING imports count)": len(self.cycle),
            "lines of a function, median": round(statistics.median(self.lengths)),
            "lines of a function, 95th percentile": round(statistics.quantiles(self.lengths, n=20)[-1]),
            "uses of Any in semsearch (import lines not counted)": self.anys,
        }

    def largest(self) -> str:
        """The room with most entries, but for the top level and folders of plug-ins."""
        some = self.rooms.keys() - PLUGINS - {"semsearch"}
        return max(sorted(some), key=lambda name: self.rooms[name].entries)


def measure(root: Path) -> Structure:
    """Measure the checkout at `root`."""
    files = dict(_files(root))
    nodes = {name: [*_nodes(ast.parse(path.read_text(encoding="utf-8")))] for name, path in files.items()}
    names = set(files)
    imports = [each for name, path in files.items() for each in _imports(name, path, nodes[name], names)]
    edges: dict[str, set[str]] = {name: set() for name in names}
    for each in imports:
        edges[each.module].update(names.intersection(each.targets) - {each.module})
    functions = [node for every in nodes.values() for node, _ in every if isinstance(node, Function)]
    own = {name: [node for node, _ in every] for name, every in nodes.items() if name.split(".")[0] == "semsearch"}
    methods = [(name, *each) for name, every in own.items() for each in _methods(every)]
    stores = {(module, name): names for module, name, names in methods if module.startswith("semsearch.stores")}
    protocol = {key: names for key, names in stores.items() if key[1] in PROTOCOL}
    return Structure(
        rooms={path.relative_to(root).as_posix(): _room(path) for path in {path.parent for path in files.values()}},
        classes={name: len(names) for _, name, names in methods},
        protocol=sum(map(len, protocol.values())),
        imports=imports,
        cycle=_cycle(edges),
        lengths=[(each.end_lineno or each.lineno) - each.lineno + 1 for each in functions],
        anys=sum(isinstance(node, ast.Name) and node.id == "Any" for every in own.values() for node in every),
        lines={name: _lines((root / name).rglob("*.py")) for name in (*PACKAGES, "tests", "scripts")},
    )


def _room(folder: Path) -> Room:
    modules = list(folder.glob("*.py"))
    return Room(
        len(modules) - ((folder / "__init__.py") in modules) + len([*folder.glob("*/__init__.py")]), _lines(modules)
    )


def _methods(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, set[str]]]:
    """Every class, and the names of its public methods and properties."""
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            names = {each.name for each in node.body if isinstance(each, Function)}
            yield node.name, {name for name in names if not name.startswith("_")}


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    for folder, package in PACKAGES.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = [package, *path.relative_to(root / folder).with_suffix("").parts]
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    """Every node, and whether it stands in a function."""
    waiting = [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        yield node, inside
        inside = inside or isinstance(node, Function)
        waiting.extend((child, inside) for child in ast.iter_child_nodes(node))


def _lines(paths: Iterable[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def _imports(name: str, path: Path, nodes: Iterable[tuple[ast.AST, bool]], names: set[str]) -> Iterator[Import]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node, hidden in nodes:
        if isinstance(node, ast.Import):
            yield Import(name, tuple(alias.name for alias in node.names), hidden)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(package.split(".")[: len(package.split(".")) + 1 - node.level]) if node.level else ""
            base = ".".join(part for part in (above, node.module) if part)
            inside = (f"{base}.{alias.name}" for alias in node.names)
            yield Import(name, tuple(each if each in names else base for each in inside), hidden)


def _cycle(edges: Mapping[str, set[str]]) -> list[str]:
    """Modules each of which imports the next, and the last the first; empty where there is no such cycle."""
    try:
        graphlib.TopologicalSorter(edges).prepare()
    except graphlib.CycleError as error:
        return sorted(set(error.args[1]))
    return []


def touched(root: Path) -> dict[str, object]:
    """How many of our modules an index run and a query of the checkout at `root` touch; a dash where it fails."""
    names = ("modules touched by an index run", "modules touched by a query")
    command = [sys.executable, __file__, "--touched", str(root)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SEMSEARCH_")}
    ran = subprocess.run(
        command, env={**kept, "PYTHONPATH": str(root)}, cwd=root, capture_output=True, text=True, check=False
    )
    figures = json.loads(ran.stdout.splitlines()[-1]) if ran.returncode == 0 else ["–", "–"]
    return dict(zip(names, figures, strict=True))


def _touched(root: Path) -> tuple[int, int]:
    """The same, in this process."""
    import semsearch
    from semsearch import Index
    from semsearch.encoders.hashing import HashingEncoder

    assert Path(semsearch.__file__).is_relative_to(root), semsearch.__file__
    with tempfile.TemporaryDirectory() as scratch:
        notes, folder = Path(scratch, "notes"), Path(scratch, "index")
        notes.mkdir()
        for number in range(5):
            (notes / f"{number}.md").write_text(NOTE.format(number))
        with Index.create(folder, encoder=HashingEncoder()) as index:
            indexed = _modules(lambda: index.sync([notes]))
        with Index.open(folder, encoder=HashingEncoder()) as index:
            list(index.search("salt in bread"))
            return indexed, _modules(lambda: list(index.search("a diesel engine")))


def _modules(call: Callable[[], object]) -> int:
    """How many modules of semsearch have a function, or their own first run, among what `call` runs, in any thread."""
    modules: set[str] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            modules.add(frame.f_globals.get("__name__", ""))

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sum(name.partition(".")[0] == "semsearch" for name in modules)


def _measured(place: str) -> tuple[Structure, dict[str, object]]:
    """A folder that is there is measured as it is, anything else as a revision of this repository."""
    if Path(place).is_dir():
        return measure(Path(place)), touched(Path(place).absolute())
    archive = subprocess.run(["git", "archive", place], cwd=CHECKOUT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(folder, filter="data")
        return measure(Path(folder)), touched(Path(folder))


def _described(room: Room | None) -> str:
    return f"{room.lines:,} ({room.entries})" if room else "–"


def _show(table: list[dict[str, object]]) -> None:
    for name in table[0]:
        print(f"{name:64}" + "".join(f"{rows[name]!s:>36}" if len(table) > 1 else f"{rows[name]}" for rows in table))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", nargs="*", default=[str(CHECKOUT)], metavar="REV|FOLDER")
    parser.add_argument("--rooms", action="store_true", help="the lines of each room, also of one state")
    parser.add_argument("--touched", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.touched:
        print(json.dumps(_touched(options.touched.resolve())))
        return 0
    places = options.place
    if len(places) > 2:
        parser.error("one or two states can be measured")
    try:
        measured = [_measured(place) for place in places]
    except subprocess.CalledProcessError as error:
        print(f"error: {error.stderr.decode().strip()}", file=sys.stderr)
        return 1
    _show([{**each.rows(), **modules} for each, modules in measured])
    if len(places) > 1 or options.rooms:
        rooms = sorted({name for each, _ in measured for name in each.rooms})
        print("\nlines of each room (entries)")
        _show([{name: _described(each.rooms.get(name)) for name in rooms} for each, _ in measured])
    if cycle := measured[-1][0].cycle:
        print("\ncycle:", ", ".join(cycle))
    return 0


if __name__ == "__main__":
    sys.exit(main())
