"""Source code: definitions as headings, with their comments and decorators; plain lines without a grammar."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from helpers.filemaking import written

from semsearch.documents import loaders
from semsearch.documents.loaders import Fields, code
from semsearch.documents.suffixes import BY_LOADER
from semsearch.types import Document

PYTHON = '''import os

# Größe in mm
@dataclass
class Kettle:
    """Boils."""

    size = 1

    @property
    def boil(self):
        def inner(): ...

    async def pour(self): ...

def main(): ...

main()
'''


def read(path: Path) -> Document:
    (found,) = loaders.read("code", path, Fields())
    assert isinstance(found, Document)
    return found


def sections(document: Document) -> list[tuple[str | None, str]]:
    return [(m.heading, document.text[m.start :].partition("\n")[0].strip()) for m in document.marks]


def test_every_suffix_has_a_grammar() -> None:
    assert set(code.GRAMMARS) == set(BY_LOADER["code"])


def test_definitions_are_headings_with_what_stands_above_them(tmp_path: Path) -> None:
    found = read(written(tmp_path, "a.py", PYTHON))
    assert found.text == PYTHON and found.lines and found.metadata == {"language": "python"}
    assert sections(found) == [
        ("Kettle", "# Größe in mm"),
        ("Kettle.boil", "@property"),
        ("Kettle.pour", "async def pour(self): ..."),
        ("main", "def main(): ..."),
        (None, ""),
    ]


@pytest.mark.parametrize(
    ("name", "content", "headings"),
    [
        ("a.js", "export class A { f() {} }\nfunction g() {}\nexport const h = (x) => x\nconst n = 1", "A A.f g h"),
        ("a.ts", "interface I { a: string }\nnamespace N { export function q(): void {} }\ntype T = 1", "I N N.q T"),
        ("a.tsx", "function View() { return <p>x</p> }", "View"),
        ("a.java", "class A {\n int f() { return 1; }\n A() {}\n}\nrecord R(int x) {}", "A A.f A.A R"),
        ("a.go", "package p\n// Boil it.\nfunc (k *K) Boil() {}\ntype K struct { a int }", "Boil K"),
        ("a.rs", "struct S;\n#[test]\nfn f() {}\nimpl S { fn g(&self) {} }", "S f S S.g"),
        ("a.c", "struct s { int a; };\nstatic int *f(struct s *x) { return 0; }\nint g(void);", "s f"),
        (
            "a.cpp",
            "namespace n { class A { int f() { return 1; } }; }\nint n::A::g() { return 2; }",
            "n n.A n.A.f n::A::g",
        ),
        ("a.cs", "namespace N { class A { int F() => 1; } interface I {} }", "N N.A N.A.F N.I"),
        ("a.rb", "module M\n class A\n  def f; end\n  def self.g; end\n end\nend", "M M.A M.A.f M.A.g"),
    ],
)
def test_each_language_has_its_definitions(name: str, content: str, headings: str, tmp_path: Path) -> None:
    found = read(written(tmp_path, name, content))
    assert [mark.heading for mark in found.marks if mark.heading] == headings.split()


def test_broken_code_is_read_all_the_same(tmp_path: Path) -> None:
    found = read(written(tmp_path, "a.py", "def f(:\n  ((((\nclass"))
    assert found.text == "def f(:\n  ((((\nclass"


def test_without_a_grammar_it_is_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_python", None)
    found = read(written(tmp_path, "a.py", PYTHON))
    assert (found.text, found.marks, found.metadata, found.lines) == (PYTHON, (), {}, True)
