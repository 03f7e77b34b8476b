"""Small files of each kind, made by hand: one document a kind, with a heading, umlauts and two pages' worth.

And what a test wants to know of a file once it is read.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from semsearch.documents import loaders
from semsearch.documents.loaders import Fields
from semsearch.errors import Unreadable
from semsearch.types import Document, Skipped

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "manifest")
)


PML = " ".join(
    f'xmlns:{name}="http://schemas.openxmlformats.org/{what}"'
    for name, what in {
        "p": "presentationml/2006/main",
        "a": "drawingml/2006/main",
        "r": "officeDocument/2006/relationships",
    }.items()
)
SML = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
OFFICE_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def pdf(path: Path, pages: list[list[str]], outline: list[tuple[str, int]] = ()) -> None:  # type: ignore[assignment]
    """A PDF with `pages` of lines in Helvetica (Latin-1), and an outline of (title, page from 0)."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    first = 5 + len(outline)
    entries = f"<< /Type /Outlines /First 5 0 R /Last {first - 1} 0 R >>" if outline else "<< /Type /Outlines >>"
    objects.append(entries.encode())
    for at, (title, page) in enumerate(outline):
        following = f"/Next {6 + at} 0 R" if at + 1 < len(outline) else ""
        objects.append(f"<< /Title ({title}) /Parent 4 0 R /Dest [{first + 2 * page} 0 R /Fit] {following} >>".encode())
    for lines in pages:
        shown = " ".join(f"({line}) Tj T*" for line in lines)
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET".encode("latin-1")
        resources = "/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 612 792]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {resources} /Contents {len(objects) + 2} 0 R >>".encode())
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    kids = " ".join(f"{first + 2 * at} 0 R" for at in range(len(pages)))
    objects[1] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode()
    save_pdf(path, objects)


def save_pdf(path: Path, objects: list[bytes]) -> None:
    """Write `pdf_of` these objects."""
    path.write_bytes(pdf_of(objects))


def pdf_of(objects: list[bytes]) -> bytes:
    """A PDF of these objects, numbered from 1; the first one is the catalogue."""
    out = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)


def docx(path: Path, body: str, **members: str) -> None:
    """A DOCX whose document.xml has this WordprocessingML as its body."""
    styles = (
        '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="My chapter"/>'
        '<w:basedOn w:val="berschrift1"/></w:style>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document {W}><w:body>{body}</w:body></w:document>")
        archive.writestr("word/styles.xml", f"<w:styles {W}>{styles}</w:styles>")
        for name, content in members.items():
            archive.writestr(name, content)


def odt(path: Path, body: str) -> None:
    inner = f"<office:body><office:text>{body}</office:text></office:body>"
    content = f"<office:document-content {ODF}>{inner}</office:document-content>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content.xml", content)


def zipped(path: Path, members: dict[str, str]) -> None:
    """A zip archive of these members; without any other member that a format may ask for."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def pptx(path: Path, slides: list[str], notes: str = "", **members: str) -> None:
    """A PPTX whose slides have these shapes; `notes` are those of the first one."""
    rel = '<Relationship Id="r{}" Target="{}"/>'
    numbers = range(1, len(slides) + 1)
    ids = "".join(f'<p:sldId r:id="r{number}"/>' for number in numbers)
    made = {
        "ppt/presentation.xml": f"<p:presentation {PML}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": _related(rel.format(at, f"slides/slide{at}.xml") for at in numbers),
    }
    for number, shapes in zip(numbers, slides, strict=True):
        tree = f"<p:cSld><p:spTree>{shapes}</p:spTree></p:cSld>"
        made[f"ppt/slides/slide{number}.xml"] = f"<p:sld {PML}>{tree}</p:sld>"
    if notes:
        made["ppt/slides/_rels/slide1.xml.rels"] = _related([rel.format(1, "../notesSlides/notesSlide1.xml")])
        made["ppt/notesSlides/notesSlide1.xml"] = f"<p:notes {PML}>{notes}</p:notes>"
    zipped(path, made | members)


def shape(text: str, kind: str = "body") -> str:
    """A shape of a slide, filling a placeholder."""
    holder = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return f"<p:sp>{holder}<p:txBody>{lines}</p:txBody></p:sp>"


def xlsx(path: Path, sheets: dict[str, str], **members: str) -> None:
    """A workbook whose sheets have these rows, written in SpreadsheetML."""
    named = enumerate(sheets, start=1)
    entries = "".join(f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>' for at, name in named)
    rels = relations(
        *(("worksheet", f"worksheets/sheet{at}.xml") for at in range(1, len(sheets) + 1)), ("styles", "styles.xml")
    )
    made = {
        "xl/workbook.xml": f'<workbook {SML} xmlns:r="{OFFICE_RELATIONS}"><sheets>{entries}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": rels,
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
    }
    for at, rows in enumerate(sheets.values(), start=1):
        made[f"xl/worksheets/sheet{at}.xml"] = f"<worksheet {SML}><sheetData>{rows}</sheetData></worksheet>"
    zipped(path, made | members)


def row(number: int, *cells: str | float) -> str:
    """A row of a sheet, from column A on."""
    made = [
        f'<c r="{letter}{number}"><v>{cell}</v></c>'
        if not isinstance(cell, str)
        else f'<c r="{letter}{number}" t="inlineStr"><is><t>{cell}</t></is></c>'
        for letter, cell in zip("ABCDEFGH", cells, strict=False)
        if cell != ""
    ]
    return f'<row r="{number}">{"".join(made)}</row>'


def relations(*entries: tuple[str, str], strict: bool = False) -> str:
    """The relations of a part of an Office file, r1 … by their kinds and targets."""
    types = "http://purl.oclc.org/ooxml/officeDocument/relationships" if strict else OFFICE_RELATIONS
    return _related(
        f'<Relationship Id="r{number}" Type="{types}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(entries, start=1)
    )


def _related(relationships: Iterable[str]) -> str:
    return f'<Relationships xmlns="{RELATIONS}">{"".join(relationships)}</Relationships>'


def epub(path: Path, chapters: dict[str, str], metadata: str = "", *, nav: str = "", **members: str) -> None:
    """A book of these chapters, which are bodies of HTML, with Dublin Core in its package; `nav` lists the others."""
    container = '<rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles>'
    items = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"{named}/>'
        for name in chapters
        for named in [' properties="nav"' * (name == nav)]
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    if "OPS/toc.ncx" in members:
        items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    told = f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">{metadata}</metadata>'
    book = f'{told}<manifest>{items}</manifest><spine toc="ncx">{spine}</spine>'
    head = '<?xml version="1.0" encoding="utf-8"?>'
    page = head + "<!DOCTYPE html><html><head><title/><script src='a.js'/></head><body>{}</body></html>"
    made = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": f'<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">{container}'
        "</container>",
        "OPS/book.opf": f'<package xmlns="http://www.idpf.org/2007/opf">{book}</package>',
    }
    zipped(path, made | {f"OPS/{name}": page.format(body) for name, body in chapters.items()} | members)


def notebook(*cells: tuple[str, str], **metadata: object) -> str:
    """A notebook of cells of a type and a source, whose code printed nothing."""
    made = [{"cell_type": kind, "source": source.splitlines(keepends=True), "outputs": []} for kind, source in cells]
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4})


def rtf(body: str, head: str = "") -> str:
    """An RTF document with a style of headings."""
    fonts = r"{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fnil\fcharset204 Arial;}}"
    styles = r"{\stylesheet{\s0 Normal;}{\s1\b heading 1;}{\s2 \u220?berschrift 2;}{\*\cs3 heading 3;}}"
    return rf"{{\rtf1\ansi\ansicpg1252\uc1{fonts}{styles}{head} {body}}}"


def escaped(text: str) -> str:
    """A text as in RTF."""
    return "".join(char if char.isascii() else rf"\u{ord(char)}?" for char in text)


def warc_record(content: bytes, url: str = "http://example.org/a", kind: str = "response") -> bytes:
    """A record of a web archive."""
    told = {"WARC-Type": kind, "WARC-Target-URI": url, "WARC-Date": "2024-05-01T10:00:00Z"}
    head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"WARC/1.0\r\n{head}Content-Length: {len(content)}\r\n\r\n".encode() + content + b"\r\n\r\n"


def message(text: str, **headers: str) -> str:
    """A message of one part, in UTF-8."""
    given = {"From": "Anna Smith <anna@example.org>", "Date": "Wed, 1 May 2024 10:00:00 +0200", **headers}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in given.items()]
    lines += ["MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: 8bit"]
    return "\n".join([*lines, "", text, ""])


def sqlite(path: Path, rows: list[tuple[object, ...]]) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (id, title, text, year INTEGER)")
    connection.executemany("INSERT INTO notes VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


SUFFIXES = {
    "text": "txt",
    "compressed": "txt.gz",
    "code": "py",
    "markdown": "md",
    "email": "eml",
    "notebook": "ipynb",
    "subtitles": "srt",
}


def sample(kind: str, folder: Path) -> Path:
    """A good file of `kind` with the words "Größe" and "engine" in it; raises KeyError for an unknown kind."""
    path = folder / f"sample.{SUFFIXES.get(kind, kind)}"
    line = "The engine has a Größe of 12."
    texts = {
        "text": f"{line}\n\nAnother paragraph.\n",
        "code": f"class Engine:\n    # {line}\n    def run(self):\n        pass\n\n\nx = 1\n",
        "rst": f"Engines\n=======\n\n{line}\n\nMore\n----\n\nText.\n",
        "markdown": f"# Engines\n\n{line}\n\n## More\n\nText.\n",
        "html": f"<html><body><h1>Engines</h1><p>{line}</p><h2>More</h2><p>Text.</p></body></html>",
        "jsonl": f'{{"id": "a", "text": "{line}", "year": 2020}}\n',
        "csv": f'id,text,year\na,"{line}",2020\n',
        "tsv": f"id\ttext\tyear\na\t{line}\t2020\n",
        "email": message(line, Subject="Engines"),
        "notebook": notebook(("markdown", "# Engines"), ("code", f"print('{line}')"), ("markdown", "## More")),
        "rtf": rtf(rf"{{\s1 Engines\par}}\pard {escaped(line)}\par"),
        "subtitles": f"1\n00:00:01,000 --> 00:00:04,000\n{line}\n\n2\n00:01:01,000 --> 00:01:04,000\nThe end.\n",
        "man": f".TH ENGINE 1\n.SH Engines\n{line}\n.SH More\nText.\n",
        "mbox": f"From anna@example.org Wed May  1 10:00:00 2024\n{message(line, Subject='Engines')}",
    }
    if kind in texts:
        path.write_text(texts[kind], "utf-8")
    elif kind == "compressed":
        path.write_bytes(gzip.compress(f"{line}\n".encode()))
    elif kind == "pdf":
        pdf(path, [["Engines", line], ["More text."]], [("Engines", 0)])
    elif kind == "docx":
        docx(path, paragraph("Engines", "berschrift1") + paragraph(line))
    elif kind == "odt":
        odt(path, f'<text:h text:outline-level="1">Engines</text:h><text:p>{line}</text:p>')
    elif kind == "pptx":
        pptx(path, [shape("Engines", "title") + shape(line), shape("More", "title")])
    elif kind == "xlsx":
        xlsx(path, {"Engines": row(1, "part", "text") + row(3, "engine", line)})
    elif kind == "warc":
        page = f"<h1>Engines</h1><p>{line}</p>".encode()
        path.write_bytes(warc_record(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page))
    elif kind == "epub":
        epub(path, {"one.xhtml": f"<h1>Engines</h1><p>{line}</p>", "two.xhtml": "<h2>More</h2>"})
    elif kind == "sqlite":
        sqlite(path, [("a", "Engines", line, 2020)])
    elif kind == "parquet":
        parquet(path, {"id": ["a"], "text": [line], "year": [2020], "vector": [[0.5, 1.0]]})
    else:
        raise KeyError(kind)
    return path


def parquet(path: Path, columns: dict[str, list[object]]) -> None:
    """A Parquet file with these columns."""
    import pyarrow as pa  # 0.2 s that other files do without
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)


def one(path: Path, kind: str = "auto", fields: Fields | None = None) -> Document:
    """The one document that a file holds."""
    (item,) = loaders.load(path, kind, fields or Fields())
    assert isinstance(item, Document), item
    return item


def all_of(path: Path, **fields: object) -> list[Document | Skipped]:
    """Whatever a file holds, read with these fields."""
    return list(loaders.load(path, "auto", Fields(**fields)))  # type: ignore[arg-type]


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """The path of a new file with this content."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def headings(document: Document) -> list[tuple[str | None, str]]:
    """Each mark's heading with the beginning of the text it stands at."""
    return [(m.heading, document.text[m.start :].partition("\n")[0]) for m in document.marks]


def refusal(path: Path, kind: str = "auto") -> str:
    """Why a file cannot be read."""
    with pytest.raises(Unreadable) as caught:
        list(loaders.load(path, kind))
    return caught.value.message
