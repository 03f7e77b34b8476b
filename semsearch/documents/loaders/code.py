"""Source code: the lines of the file, with functions, methods and types as headings where tree-sitter is installed.

A definition begins with its comments and decorators; its heading is its name within what is around it, Kettle.boil. A
function within a function belongs to that. Each grammar is a package of the tree-sitter organisation: the packs that
join hundreds of them fetch theirs from the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.documents.parsing.charset import read_text
from semsearch.documents.parsing.records import Fields
from semsearch.documents.parsing.text_writer import MOST_HEADING
from semsearch.types import Document, Mark

if TYPE_CHECKING:
    from tree_sitter import Node

_LANGUAGES = {  # the module of the grammar without "tree_sitter_", its function, and the suffixes
    "python": ("language", ".py .pyi"),
    "javascript": ("language", ".js .mjs .cjs .jsx"),
    "typescript": ("language_typescript", ".ts .mts .cts"),
    "typescript.tsx": ("language_tsx", ".tsx"),
    "java": ("language", ".java"),
    "go": ("language", ".go"),
    "rust": ("language", ".rs"),
    "c": ("language", ".c .h"),
    "cpp": ("language", ".cc .cpp .cxx .hh .hpp"),
    "c_sharp": ("language", ".cs"),
    "ruby": ("language", ".rb"),
}
GRAMMARS = {suffix: name for name, (_, suffixes) in _LANGUAGES.items() for suffix in suffixes.split()}
ISOLATED = True
_FUNCTIONS = """
    function_definition function_declaration generator_function_declaration method_definition method_declaration
    constructor_declaration function_item method singleton_method type_spec type_alias_declaration
"""
_CONTAINERS = """
    class_definition class_declaration abstract_class_declaration interface_declaration enum_declaration
    internal_module record_declaration struct_declaration struct_item enum_item trait_item impl_item mod_item
    struct_specifier class_specifier namespace_definition namespace_declaration module class
"""
CONTAINERS = frozenset(_CONTAINERS.split())
DEFINITIONS = CONTAINERS | set(_FUNCTIONS.split())
_WRAPPERS = {"decorated_definition", "export_statement", "template_declaration", "lexical_declaration"}
_WRAPPERS |= {"type_declaration"}
_BEFORE = {"comment", "line_comment", "block_comment", "attribute_item"}
_VALUES = {"arrow_function", "function_expression"}  # const boil = (kettle) => …
_CODE = re.compile(r"\b(?!end\b)\w")  # what follows a definition may be no more than what closes its class
MOST_NAME = 100  # characters


def load(path: Path, fields: Fields) -> Iterator[Document]:
    """One document without a title, whose lines are those of the file; without marks where there is no grammar."""
    text, note = read_text(path)
    name = GRAMMARS.get(path.suffix.lower(), "")
    root = _parsed(text, name) if name else None
    if root is None:
        yield Document("", text, note, lines=True)
        return
    yield Document("", text, {**note, "language": name.partition(".")[0]}, marks=_marks(text, root), lines=True)


def _parsed(text: str, name: str) -> Node | None:
    """The syntax tree; None where the grammar is not installed."""
    try:
        engine, grammar = import_module("tree_sitter"), import_module(f"tree_sitter_{name.partition('.')[0]}")
    except ImportError:
        return None
    language = engine.Language(getattr(grammar, _LANGUAGES[name][0])())
    root: Node = engine.Parser(language).parse(text.encode()).root_node
    return root


def _marks(text: str, root: Node) -> tuple[Mark, ...]:
    """A mark at each definition, and one behind it where other code follows."""
    places: dict[int, str | None] = {}
    stack: list[tuple[Node, str | None, bool]] = [(root, None, False)]
    while stack:
        node, around, ended = stack.pop()
        if ended:
            places[node.end_byte] = around
            continue
        name, inner = _name(node), around
        if name:
            inner = f"{around}.{name}" if around else name
            places[_first(node).start_byte] = inner[-MOST_HEADING:]
            stack.append((node, around, True))
        if not name or node.type in CONTAINERS:
            stack.extend((child, inner, False) for child in reversed(node.children))
    return tuple(_at_lines(text, sorted(places.items())))


def _name(node: Node) -> str:
    """The name of what a node defines; "" where it defines nothing that a heading should name."""
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        return _text(node.child_by_field_name("name")) if value is not None and value.type in _VALUES else ""
    if node.type not in DEFINITIONS:
        return ""
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is None:  # `struct kettle *k`
        return ""
    named = node.child_by_field_name("name") or node.child_by_field_name("type")
    if node.type == "function_definition" and node.child_by_field_name("name") is None:  # of C: `int *boil(…)`
        named = node.child_by_field_name("declarator")
        while named is not None and (within := named.child_by_field_name("declarator")) is not None:
            named = within
    return _text(named)


def _text(node: Node | None) -> str:
    raw = node.text if node is not None else None
    return " ".join((raw or b"").decode("utf-8", "replace").split())[:MOST_NAME]


def _first(node: Node) -> Node:
    """Where a definition begins: at its decorators, and at the comments just above."""
    while node.parent is not None and node.parent.type in _WRAPPERS:
        node = node.parent
    while (before := node.prev_named_sibling) is not None and before.type in _BEFORE:
        if node.start_point[0] - before.end_point[0] > 1:
            break
        node = before
    return node


def _at_lines(text: str, places: list[tuple[int, str | None]]) -> Iterator[Mark]:
    """Marks at offsets in the text, each at the beginning of its line, where there is code up to the next."""
    raw = text.encode()
    starts, at, offset = [], 0, 0
    for place, heading in places:
        offset += len(raw[at:place].decode("utf-8", "replace"))
        at = place
        line = text.rfind("\n", 0, offset) + 1
        starts.append((offset if text[line:offset].strip() else line, heading))
    for (start, heading), (end, _) in pairwise([*starts, (len(text), None)]):
        if _CODE.search(text, start, end):
            yield Mark(start, heading=heading)
