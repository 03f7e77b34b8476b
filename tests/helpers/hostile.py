"""Small files that hang their parser, or make it need any amount of memory. `FILES` has a writer for each, by name.

Sizes are those that do so without limits; those of other files are given by what a limit has to notice.
"""

from __future__ import annotations

import json
import sqlite3
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from helpers import filemaking

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n {}"
SQL = "SELECT id, text FROM notes"
_RESOURCES = b"/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 612 792]"
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
_CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"


def _pdf(stream: Callable[[], bytes]) -> Callable[[Path], None]:
    """A page with this content, which is made when the file is."""

    def write(path: Path) -> None:
        content = zlib.compress(stream(), 9)
        page = b"<< /Type /Page /Parent 2 0 R /Contents 5 0 R " + _RESOURCES + b" >>"
        kids = b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>"
        text = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(content), content)
        filemaking.save_pdf(path, [_CATALOG, kids, _FONT, page, text])

    return write


def _pdf_of(*objects: bytes) -> Callable[[Path], None]:
    return lambda path: filemaking.save_pdf(path, [_CATALOG, *objects])


def _zipped(member: str, begin: str, middle: str, times: int, end: str, copies: int = 1) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in [member, "word/styles.xml", "a.xml", "b.xml", "c.xml"][:copies]:
                with archive.open(name, "w") as file:
                    file.write(begin.encode())
                    for _ in range(100):
                        file.write(middle.encode() * (times // 100))
                    file.write(end.encode())

    return write


def _docx(middle: str, times: int, copies: int = 1) -> Callable[[Path], None]:
    begin, end = f"<w:document {filemaking.W}><w:body>", "</w:body></w:document>"
    return _zipped("word/document.xml", begin, middle, times, end, copies)


def _odt(middle: str, times: int) -> Callable[[Path], None]:
    begin = f"<office:document-content {filemaking.ODF}><office:body><office:text>"
    return _zipped("content.xml", begin, middle, times, "</office:text></office:body></office:document-content>")


def nested_docx_tables(depth: int) -> str:
    """Tables in the cells of tables, each with a word."""
    opened = "".join(f"<w:tbl><w:tr><w:tc>{filemaking.paragraph(f'word{at}')}" for at in range(depth))
    return opened + "</w:tc></w:tr></w:tbl>" * depth


def nested_odt_tables(depth: int) -> str:
    """Tables in the cells of tables, each with a word."""
    begin = "<table:table><table:table-row><table:table-cell>"
    opened = "".join(f"{begin}<text:p>word{at}</text:p>" for at in range(depth))
    return opened + "</table:table-cell></table:table-row></table:table>" * depth


def _xlsx(rows: str) -> Callable[[Path], None]:
    return lambda path: filemaking.xlsx(path, {"Sheet": rows})


def _text(content: Callable[[], str]) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content().encode()) and None  # type: ignore[func-returns-value]


def _view(select: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute(f"CREATE VIEW notes AS {select}")
        connection.close()

    return write


def _many_members(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for at in range(60_000):
            archive.writestr(f"{at}", b"")


def _attributes(value: str, count: int) -> str:
    return "<p " + " ".join(f"a{at}={value}" for at in range(count)) + ">The text of the page.</p>"


_MULTIPART = "Content-Type: multipart/mixed; boundary="

FILES: dict[str, Callable[[Path], None]] = {
    "tj.pdf": _pdf(lambda: b"BT /F1 12 Tf " + b"(a) Tj " * 3_000_000 + b"ET"),
    "tj-fewer.pdf": _pdf(lambda: b"BT /F1 12 Tf " + b"(a) Tj " * 500_000 + b"ET"),
    "flate.pdf": _pdf(lambda: b" " * 300_000_000),
    "arrays.pdf": _pdf(lambda: b"BT /F1 12 Tf " + b"[" * 5_000_000 + b"ET"),
    "loop.pdf": _pdf_of(b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 100000 >>"),
    "pages.pdf": _pdf_of(b"<< /Type /Pages /Kids [] /Count 1000000000 >>"),
    "nested.docx": lambda path: filemaking.docx(path, nested_docx_tables(900)),
    "empty.docx": _docx("<w:p/>", 17_000_000),
    "five.docx": _docx("<w:p/>", 17_000_000, copies=5),
    "paragraphs.docx": _docx("<w:p><w:r><w:t>a</w:t></w:r></w:p>", 1_000_000),
    "deep.docx": _docx("<w:p>", 100_000),
    "entities.docx": _docx("<!ENTITY a 'b'>", 1000),
    "long.docx": _docx(filemaking.paragraph("word " * 2000), 5000),
    "empty.odt": _odt("<text:p/>", 11_000_000),
    "nested.odt": lambda path: filemaking.odt(path, nested_odt_tables(900)),
    "spaces.odt": _odt('<text:p>a<text:s text:c="999999999"/>b</text:p>', 2_000),
    "attributes.html": _text(lambda: _attributes("1", 400_000)),
    "quoted-attributes.html": _text(lambda: _attributes('">"', 400_000)),
    "deep.html": _text(lambda: "<div>" * 500_000),
    "tables.html": _text(lambda: "<table><tr><td>a" * 20_000),
    "heading.html": _text(lambda: f"<h1>{'word ' * 20_000}</h1>" + "<p>Some text.</p>" * 2_000),
    "endless.db": _view(ENDLESS.format("i AS id, 'note ' || hex(zeroblob(20000)) AS text", "")),
    "silent.db": _view(ENDLESS.format("i AS id, 'note' AS text", "WHERE i < 0")),
    "cell.db": _view("SELECT 1 AS id, replace(hex(zeroblob(200000000)), '0', 'ab') AS text"),
    "nested.jsonl": _text(lambda: '{"text": "a", "m": ' + "[" * 900 + "]" * 900 + '}\n{"text": "the next record"}\n'),
    "lists.jsonl": _text(lambda: '{"text": "a", "m": [' + "[]," * 3_000_000 + '[]]}\n{"text": "the next record"}\n'),
    "quotes.jsonl": _text(lambda: '{"text": "' + '\\"' * 2_500_000),
    "id.jsonl": _text(lambda: f"{json.dumps({'id': 'x' * 100_000, 'text': 'a'})}\n" * 2),
    "columns.csv": _text(lambda: ",".join(map(str, range(1_000_000))) + ",text\n" + "a\n" * 1000),
    "line.csv": _text(lambda: "text\n" + "word " * 5_000_000 + "\nthe next row\n"),
    "quote.csv": _text(lambda: 'text\n"' + ("word " * 999 + "word\n") * 2_100),
    "brackets.md": _text(lambda: "# " + "[" * 500_000),
    "links.md": _text(lambda: "# [](" * 100_000),
    "items.md": _text(lambda: "- a\n" * 200_000),
    "front.md": _text(lambda: "---\n" + "".join(f"k{at}: v\n" for at in range(50_000)) + "---\ntext\n"),
    "members": _many_members,
    "deep.eml": _text(lambda: "".join(f"{_MULTIPART}{at}\n\n--{at}\n" for at in range(300))),
    "parts.eml": _text(lambda: f"{_MULTIPART}b\n" + "\n--b\nContent-Type: a/b\n\nx" * 20_000),
    "addresses.eml": _text(lambda: "To: " + "a@b.c, " * 500_000 + "\n\nThe text."),
    "words.eml": _text(lambda: "Subject: " + "=?utf-8?q?a?= " * 500_000 + "\n\nThe text."),
    "page.eml": _text(lambda: f"Content-Type: text/html\n\n{_attributes('1', 400_000)}"),
    "empty.mbox": _text(lambda: "From a\n\n" * 5_000),
    "shapes.pptx": _zipped("ppt/presentation.xml", f"<p:presentation {filemaking.PML}>", "<p:sldId/>", 9_000_000, ""),
    "far.xlsx": _xlsx(filemaking.row(1, 1) + '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
    "chapter.epub": lambda path: filemaking.epub(path, {"a.xhtml": "<p>a" * 1_000_000}),
    "deep.epub": lambda path: filemaking.epub(path, {"a.xhtml": "<div>" * 500_000}),
    "deep.rtf": _text(lambda: "{\\rtf1 " + "{" * 5_000_000),
    "bin.rtf": _text(lambda: "{\\rtf1 \\bin9999999999 words}"),
    "deep.py": _text(lambda: "(" * 50_000),
    "nest.js": _text(lambda: "class A { f() {" * 5_000),
    "empty.warc": _text(lambda: "WARC/1.0\nContent-Length: 0\n\n" * 100_000),
    "long.warc": _text(lambda: "WARC/1.0\nContent-Length: " + "9" * 4000 + "\n\n"),
    "deep.ipynb": _text(lambda: '{"cells": ' + "[" * 500_000),
    "values.ipynb": _text(lambda: '{"cells": [' + "[]," * 3_000_000 + "[]]}"),
    "cues.srt": _text(lambda: "00:00:01,000 --> 00:00:01,000\na\n\n" * 50_000),
    "times.srt": _text(lambda: "0" * 5_000_000 + ":" * 5_000_000),
}
