"""What loaders read of files, beside independent readers that are part of Python: all but what they name."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
from helpers.filemaking import message, notebook, sample, written
from helpers.scripts import loaded

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def completeness() -> ModuleType:
    return loaded("bench.completeness")


PAGE = """<html><head><title>Engines</title><script>x()</script></head><body><nav><a href="/">Home</a></nav>
<main><h1>Engines</h1><aside class="admonition"><p>Mind the spark.</p></aside><p>A diesel engine needs none.</p></main>
<footer>Imprint of the engines</footer></body></html>"""


@pytest.mark.parametrize(
    "kind", ["html", "markdown", "rst", "text", "code", "csv", "tsv", "jsonl", "notebook", "email"]
)
def test_every_letter_is_read_or_named(kind: str, completeness: ModuleType, tmp_path: Path) -> None:
    contents = {
        "html": PAGE,
        "markdown": "# Engines\n\n<!-- a note -->\n\nThey turn.\n\n```\n# code\n```\n",
        "csv": 'id;text;"a, b"\n1;"two\nlines";1.10\n2;x;2\n',
        "jsonl": "\n".join(json.dumps({"ID": str(n), "Text": f"Row {n}", "ok": True}) for n in range(5)),
        "notebook": notebook(("markdown", "# Engines\nThey *turn*."), ("code", "print(1)")),
        "email": message("A long text.", Subject="=?utf-8?q?Gr=C3=BC=C3=9Fe?="),
    }
    path = sample(kind, tmp_path)
    if kind in contents:
        path = written(tmp_path, path.name, contents[kind])
    found = completeness.compared(path, kind)
    assert found is not None and found.letters > 10
    assert found.neither <= 0.01 * found.letters, found.missing


def test_the_pages_of_this_checkout_are_read_whole(completeness: ModuleType) -> None:
    files = completeness.by_format([CHECKOUT / "docs"])["markdown"]
    results = [completeness.compared(path, "markdown") for path in files]
    assert len(results) > 20
    assert [file.path for file in results if file is not None and file.neither > 0.01 * file.letters] == []


def test_what_is_neither_read_nor_named_is_seen(
    completeness: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "a.txt", "All of it.")
    monkeypatch.setitem(completeness.READERS, "text", lambda path: "All of it, and a lost engine.")
    found = completeness.compared(path, "text")
    assert (found.letters, found.read, found.named, found.neither) == (21, 7, 0, 14)
    assert set(found.missing) == {"and", "a", "lost", "engine"}
