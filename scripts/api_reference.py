#!/usr/bin/env python3
"""The reference of the public API, docs/api.md, written from the code: signatures, docstrings and tested examples.

Usage: scripts/api_reference.py [--check]

A public name is one that a package lists in its `__init__.pyi`. Its signature and docstring are read from the source
without importing it, so nothing has to be installed. The examples are doctests in docs/api/<package>.txt. With --check
nothing is written, and the exit code is 1 where docs/api.md is out of date.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
PAGE = CHECKOUT / "docs" / "api.md"
PACKAGES = (
    *("semsearch", "semsearch.analysis", "semsearch.index.admin", "semsearch.prompts", "semsearch.evaluation"),
    *("semsearch.training", "semsearch.export"),
)
TYPES = {
    "semsearch.types": (
        *("Passage", "Mark", "Skipped", "Facet", "VectorSample", "Layout", "SqlRows", "TruncationStats", "QueryFields"),
        *("EncoderLike", "EncoderProtocol", "RerankerLike"),
    ),
    "semsearch.encoders.encoder": ("OutputOptions",),
    "semsearch.search.snippets": ("Snippet",),
    "semsearch.documents.page_image": ("PageImage",),
    "semsearch.evaluation.sts": ("StsResult",),
    "semsearch.evaluation.sts_benchmarks": ("Subset", "TaskResult", "Aggregate"),
    "semsearch.evaluation.retrieval": ("Search", "Qrels", "Grades"),
    "semsearch.evaluation.papers.fill_mask": ("Word",),
    "semsearch.evaluation.templates.greedy_search": ("Candidate",),
    "semsearch.evaluation.templates.judging": ("Judgement",),
    "semsearch.evaluation.templates.grids": ("TemplateGrid",),
    "semsearch.models.bundle": ("Bundle",),
    "semsearch.models.rerankers.manifest": ("RerankerBundle", "Calibration"),
    "semsearch.encoders.rerankers.runtime": ("Logits",),
}
WITH_METHODS = (
    "Index",
    "Analysis",
    "AsyncIndex",
    "Encoder",
    "Reranker",
    "Results",
    "EncoderLike",
    "EncoderProtocol",
    "RerankerLike",
    "Prompt",
    "Template",
    "Judgements",
)
INTRODUCTION = """# Python API

Written by `scripts/api_reference.py`: change the docstrings or `docs/api/`, not this page. Letters in shapes: `n` texts
(or rows), `q` queries, `t` tokens, `h` hidden width, `d` vector width, `k` neighbours. Vectors are float32 rows of
length 1, so a dot product is a cosine.
"""
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign


def public_names(package: str) -> dict[str, str]:
    """The names that a package lists in its stub, without subpackages, and the module that defines each."""
    stub = ast.parse((_folder(package) / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom) and node.module]
    names = {alias.name: f"{package}.{node.module}" for node in imports for alias in node.names}
    return {name: module for name, module in names.items() if not (_folder(module) / name).is_dir()}


def page() -> str:
    """The whole of docs/api.md."""
    parts = [INTRODUCTION]
    for package in PACKAGES:
        names = public_names(package)
        errors = [name for name, module in names.items() if module == "semsearch.errors"]
        parts += [f"## {package}\n", _examples(package)]
        parts += [_entry(module, name) for name, module in names.items() if name not in errors]
        if errors:
            parts += ["### Errors\n", f"```text\n{_errors()}\n```\n"]
            parts += ["### Filters\n", _filters()]
    for module, types in TYPES.items():
        words = "Types that the calls above take or return.\n" if module == "semsearch.types" else ""
        parts += [f"## {module}\n", *([words] if words else []), *(_entry(module, name) for name in types)]
    return "\n".join(parts).rstrip() + "\n"


def _folder(package: str) -> Path:
    return CHECKOUT.joinpath(*package.split("."))


def _tree(module: str) -> ast.Module:
    path = _folder(module)
    files = (path / "__init__.pyi", path / "__init__.py", path.with_suffix(".py"))
    file = next(file for file in files if file.is_file())
    return ast.parse(file.read_text(encoding="utf-8"))


def _errors() -> str:
    """The tree of errors with their exit codes."""
    return (ast.get_docstring(_tree("semsearch.errors")) or "").partition("\n\n")[2]


def _filters() -> str:
    """The filter language, as its parser describes it."""
    words = (ast.get_docstring(_tree("semsearch.search.filter_parser")) or "").partition("\n\n")[2]
    return f"For `where` of `Index.search` and `Index.matching`, and for `--where`:\n\n```text\n{words}\n```\n"


def _examples(package: str) -> str:
    file = CHECKOUT / "docs" / "api" / f"{package.rpartition('.')[2]}.txt"
    introduction, _, code = file.read_text(encoding="utf-8").partition(">>>")
    return f"{introduction.strip()}\n\n```pycon\n>>>{code.rstrip()}\n```\n"


def _definition(module: str, name: str) -> tuple[str, Definition]:
    """The module that defines `name`, seen from `module`, and its definition."""
    for node in _tree(module).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return module, node
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return module, node
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            return module, node
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and any((alias.asname or alias.name) == name for alias in node.names)
        ):
            return _definition(f"{module}.{node.module}" if node.level else node.module, name)
    raise LookupError(f"{module} does not define {name}")


def _entry(module: str, name: str) -> str:
    """The section of one public name."""
    module, node = _definition(module, name)
    node = _Literals(_tree(module)).visit(node)
    if isinstance(node, ast.ClassDef):
        parts = [f"### {name}\n", _code(_class_signature(node)), _words(node)]
        if name in WITH_METHODS:
            parts += [part for method in _methods(node, _tree(module)) for part in method]
        return "\n".join(part for part in parts if part)
    if isinstance(node, ast.FunctionDef):
        return "\n".join(part for part in (f"### {name}\n", _code(_signature(node)), _words(node)) if part)
    return f"### {name}\n\n{_code(ast.unparse(node))}"


class _Literals(ast.NodeTransformer):
    """Writes the value of a module's constant in place of its name: `size: int = 128`, not `= SIZE`."""

    def __init__(self, tree: ast.Module) -> None:
        assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
        self._values = {ast.unparse(node.targets[0]): node.value for node in assigned}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._values.get(node.id)
        return value if node.id.isupper() and isinstance(value, ast.Constant | ast.Tuple | ast.BinOp) else node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        return node


def _methods(node: ast.ClassDef, tree: ast.Module) -> Iterator[tuple[str, ...]]:
    """The public methods and properties of a class, those included that are functions of another module."""
    last: dict[str, Function] = {}  # of overloads the first says what is taken, the last what is meant
    overloads: dict[str, list[Function]] = {}
    for each in node.body:
        if isinstance(each, Function) and (not each.name.startswith("_") or each.name == "__len__"):
            if any(ast.unparse(one) == "overload" for one in each.decorator_list):
                overloads.setdefault(each.name, []).append(each)
            else:
                last[each.name] = each
        elif isinstance(each, ast.Assign) and isinstance(each.value, ast.Call):
            function = each.value.args[0] if each.value.args else None
            if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                module = _imported(tree, function.value.id)
                _, results = _definition(module, function.attr)
                assert isinstance(results, ast.FunctionDef), function.attr
                results.decorator_list = [ast.Name("staticmethod")]
                last[function.attr] = results
    for name, method in last.items():
        label = f"#### {node.name}.{name}\n" if name != "__len__" else f"#### len({node.name.lower()})\n"
        signatures = [_signature(_with_defaults(each, method), method=True) for each in overloads.get(name, [method])]
        yield label, _code("\n".join(signatures)), _words(method)


def _with_defaults(overload: Function, implementation: Function) -> Function:
    """An overload with the defaults of the implementation in place of `...`."""
    defaults = _defaults(implementation)
    positional = [each.arg for each in overload.args.args][len(overload.args.args) - len(overload.args.defaults) :]
    overload.args.defaults = [defaults[name] for name in positional]
    keywords = zip(overload.args.kwonlyargs, overload.args.kw_defaults, strict=True)
    overload.args.kw_defaults = [defaults[each.arg] if default else None for each, default in keywords]
    return overload


def _defaults(function: Function) -> dict[str, ast.expr]:
    """Argument -> default, of those that have one."""
    args = function.args
    pairs = [
        *zip(reversed(args.args), reversed(args.defaults), strict=False),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ]
    return {argument.arg: default for argument, default in pairs if default is not None}


def _imported(tree: ast.Module, name: str) -> str:
    """The module that `name` was imported as."""
    results = (
        f"{node.module}.{alias.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (alias.asname or alias.name) == name
    )
    return next(results)


def _class_signature(node: ast.ClassDef) -> str:
    """A class with its bases, and the fields of a dataclass or a typed dictionary."""
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    body = "".join(f"\n    {ast.unparse(each)}" for each in fields if not ast.unparse(each.target).startswith("_"))
    return f"class {node.name}{f'({bases})' if bases else ''}{':' + body if body else ''}"


def _signature(node: Function, method: bool = False) -> str:
    kinds = [ast.unparse(each) for each in node.decorator_list]
    returned = ast.unparse(node.returns) if node.returns else "None"
    if "property" in kinds:
        return f"{node.name}: {returned}"
    arguments = ast.unparse(node.args)
    if method and "staticmethod" not in kinds:
        arguments = arguments.removeprefix("self").removeprefix("cls").removeprefix(", ")
    name = f"await {node.name}" if isinstance(node, ast.AsyncFunctionDef) else node.name
    line = f"{name}({arguments}) -> {returned}"
    if len(line) <= 100:
        return line
    inner = [ast.unparse(part) for part in _arguments(node, method and "staticmethod" not in kinds)]
    return "\n".join([f"{name}(", *(f"    {part}," for part in inner), f") -> {returned}"])


def _arguments(node: Function, bound: bool) -> Iterator[ast.AST]:
    """Each argument with its default, as an expression of its own."""
    args = node.args
    plain = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(args.defaults)), *args.defaults]
    for each, default in list(zip(plain, defaults, strict=True))[1 if bound else 0 :]:
        yield _one(each, default)
    if args.vararg:
        yield ast.arguments([], [], args.vararg, [], [], None, [])
    elif args.kwonlyargs:
        yield ast.Name("*")
    for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _one(each, default)
    if args.kwarg:
        yield ast.arguments([], [], None, [], [], args.kwarg, [])


def _one(argument: ast.arg, default: ast.expr | None) -> ast.arguments:
    return ast.arguments([], [argument], None, [], [], None, [] if default is None else [default])


def _words(node: ast.ClassDef | Function) -> str:
    """A docstring as Markdown: its doctests and whatever is aligned in columns as blocks of code."""
    words, _, doctest = (ast.get_docstring(node) or "").partition(">>>")
    parts = []
    for part in words.strip().split("\n\n"):
        aligned = any("   " in line for line in part.splitlines()[1:])
        parts.append(f"```text\n{textwrap.dedent(part)}\n```\n" if aligned else f"{part}\n")
    if doctest:
        parts.append(f"```pycon\n>>>{doctest.rstrip()}\n```\n")
    return "\n".join(parts) if words.strip() or doctest else ""


def _code(text: str) -> str:
    return f"```python\n{text}\n```\n"


if __name__ == "__main__":
    written = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if "--check" in sys.argv[1:]:
        sys.exit("docs/api.md is out of date: run scripts/api_reference.py" if written != page() else 0)
    PAGE.write_text(page(), encoding="utf-8")
