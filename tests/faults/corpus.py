"""Two valid files of each kind: the small one of the contract of loaders, and one with what its format can do."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from helpers.filemaking import docx, odt, paragraph, pdf_of, sample

_DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
_MARKDOWN = """---
title: Engines
year: 2020
tags: [diesel, "two: words"]
---
Engines
=======

A *diesel* engine[^1] has `no` [spark plug](https://example.org "a title") and ![a picture](p.png).

1. one
   - two
     > three

| part | count |
|:--|--:|
| piston | 4 |

```python
# no heading
```

    code

<div><b>HTML</b> &amp; entities</div>

## Größe ##

[^1]: A footnote.
"""
_HTML = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Engines &amp; more</title>
<style>p { color: red }</style><script>let a = "<p>";</script></head><body><nav><a href="/">Home</a></nav><main>
<h1>Engines</h1><p>A <b>diesel</b> engine<br>has no <a href='x'>spark plug</a>.<!-- a comment --></p>
<ul><li>one<ul><li>two</ul><li>three</ul><table><tr><th>part<th colspan="2">count<tr><td>piston<td>4<td>5</table>
<pre>  x = 1\n  y</pre><h2>Größe &#8211; &eacute;</h2><p hidden>away</p><svg><text>drawn</text></svg>
<math><mi>x</mi></math>
<template><p>later</p></template><p>End.</main><footer>Imprint</footer></body></html>
"""
_RST = """:Title: Engines
:Author: Someone
:Year: 2020

=======
Engines
=======

A *diesel* engine has :ref:`no <spark>` spark plug::

    code

Größe
-----

.. note:: A note.

+------+-------+
| part | count |
+------+-------+
"""
_JSONL = """{"id": "a", "title": "Engines", "text": "A diesel engine has no spark plug.", "tags": ["x", {"y": null}]}
{"text": "Gr\\u00f6\\u00dfe \\ud83d\\ude00", "nested": {"a": {"b": [1, [2, [3, -4e-5]]]}}, "year": 2020, "ok": true}

{"id": 7, "text": "one\\ntwo\\ttabs", "empty": "", "long": 12345678901234567890}
"""
_CSV = (
    'id;text;title;year\r\na;"two\nlines; ""quoted""";Engines;2020\r\n\r\nb;plain;;\r\nc;'
    "too;many;cells;here\r\nd;Größe;x;-1e5\r\n"
)
_DOCX = (
    paragraph("Engines", "berschrift1")
    + paragraph("A chapter", "Own")
    + '<w:sdt><w:sdtContent><w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t xml:space="preserve"> one </w:t><w:tab/><w:br/>'
    + "<w:noBreakHyphen/></w:r><w:del><w:r><w:t>deleted</w:t></w:r></w:del></w:p></w:sdtContent></w:sdt>"
    + f"<w:tbl><w:tr><w:tc>{paragraph('a')}<w:tbl><w:tr><w:tc>{paragraph('inner')}</w:tc></w:tr></w:tbl></w:tc>"
    + f"<w:tc>{paragraph('Größe')}</w:tc></w:tr></w:tbl>"
)
_ODT = (
    '<text:h text:outline-level="1">Engines</text:h><text:p>A<text:s text:c="3"/>diesel<text:tab/>engine'
    "<text:note><text:p>a note</text:p></text:note><text:line-break/>has no <text:span>spark</text:span> plug.</text:p>"
    "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>two</text:p></text:list-item>"
    "</text:list></text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>a</text:p>"
    "<table:table><table:table-row><table:table-cell><text:p>inner</text:p></table:table-cell></table:table-row>"
    '</table:table></table:table-cell></table:table-row></table:table><text:h text:outline-level="2">Größe</text:h>'
)


def _docx(path: Path) -> None:
    core = f"<properties {_DC}><dc:title>Engines</dc:title></properties>"
    docx(path, _DOCX, **{"docProps/core.xml": core})


def _odt(path: Path) -> None:
    odt(path, _ODT)


def _pdf(path: Path) -> None:
    """Compressed streams, a font with a table of characters, an outline, properties, pages in two levels."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 9 0 R /PageMode /UseOutlines /Lang (en) >>",
        b"<< /Type /Pages /Kids [3 0 R 5 0 R] /Count 2 >>",
        b"<< /Type /Pages /Parent 2 0 R /Kids [4 0 R] /Count 1 >>",
        _page(parent=3, content=6),
        _page(parent=2, content=11),
        _shown(b"Engines"),
        b"<< /Type /Font /Subtype /TrueType /BaseFont /Helvetica /ToUnicode 8 0 R /FirstChar 97 /Widths [500 500] >>",
        _flate(
            b"/CIDInit begincmap 1 begincodespacerange <00> <ff> endcodespacerange "
            b"1 beginbfchar <61> <00e9> endbfchar endcmap"
        ),
        b"<< /Type /Outlines /First 10 0 R /Last 10 0 R /Count 1 >>",
        b"<< /Title (Engines) /Parent 9 0 R /Dest [4 0 R /XYZ 72 720 0] >>",
        _shown(b"diesel-"),
    ]
    path.write_bytes(pdf_of(objects))


def _page(*, parent: int, content: int) -> bytes:
    resources = b"/Resources << /Font << /F1 7 0 R >> >> /MediaBox [0 0 612 792]"
    return b"<< /Type /Page /Parent %d 0 R %s /Contents %d 0 R >>" % (parent, resources, content)


def _shown(word: bytes) -> bytes:
    return _flate(b"BT /F1 12 Tf 14 TL 72 720 Td (%s) Tj T* [(a) -200 (b) 50 <63>] TJ ET q 1 0 0 1 0 0 cm Q" % word)


def _flate(content: bytes) -> bytes:
    packed = zlib.compress(content)
    return b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)


def _sqlite(path: Path) -> None:
    """Pages of every sort: tables of several levels, an index, overflow, and free ones."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size=512")
        connection.execute("CREATE TABLE notes (id TEXT, text TEXT, data)")
        rows = [
            (f"n{at}", "A diesel engine. " * (at % 5 * 20 + 1), (None, 1.5, b"\xff\0", at)[at % 4]) for at in range(60)
        ]
        connection.executemany("INSERT INTO notes VALUES (?, ?, ?)", rows)
        connection.execute("CREATE INDEX by_id ON notes (id)")
        connection.execute("DELETE FROM notes WHERE rowid % 7 = 0")


def _text(content: str, charset: str = "utf-8") -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content.encode(charset)) and None  # type: ignore[func-returns-value]


RICH: dict[str, Callable[[Path], None]] = {
    "text": _text("A diesel engine has no spark plug.\r\n\r\nGröße: 12.\n", "utf-16"),
    "markdown": _text(_MARKDOWN),
    "html": _text(_HTML),
    "rst": _text(_RST),
    "jsonl": _text(_JSONL),
    "csv": _text(_CSV),
    "tsv": _text(_CSV.replace(";", "\t"), "latin-1"),
    "docx": _docx,
    "odt": _odt,
    "pdf": _pdf,
    "sqlite": _sqlite,
}


def corpus(kind: str, folder: Path) -> list[Path]:
    """The valid files of a kind; of a loader that `RICH` does not know, the small one alone."""
    made = [sample(kind, folder)]
    if kind in RICH:
        made.append(folder / f"rich{made[0].suffix}")
        RICH[kind](made[1])
    return made
