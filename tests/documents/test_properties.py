"""What a file says about its text, as keywords and a description, is metadata, and found behind the text itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.filemaking import (
    docx,
    epub,
    notebook,
    one,
    paragraph,
    pdf_of,
    pptx,
    relations,
    row,
    rtf,
    shape,
    written,
    xlsx,
    zipped,
)

from semsearch import Document, Index
from semsearch.documents import loaders
from semsearch.documents.parsing.text_writer import PROPERTIES
from semsearch.documents.textless import Textless

TEXT = "The cellar is dry."
KEYWORDS, DESCRIPTION = "okapi, walrus", "How a pump is serviced"
NAMES = {
    "cp": "http://schemas.openxmlformats.org/package/2006/metadata/core-properties",
    "dc": "http://purl.org/dc/elements/1.1/",
    "meta": "urn:oasis:names:tc:opendocument:xmlns:meta:1.0",
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
}
XML = " ".join(f'xmlns:{name}="{uri}"' for name, uri in NAMES.items())
CORE = {
    "docProps/core.xml": f"<cp:coreProperties {XML}><cp:keywords>okapi</cp:keywords><cp:category>walrus</cp:category>"
    f"<dc:description>{DESCRIPTION}</dc:description></cp:coreProperties>"
}
META = {
    "meta.xml": f"<office:meta {XML}><meta:keyword>okapi</meta:keyword><meta:keyword>walrus</meta:keyword>"
    f"<dc:description>{DESCRIPTION}</dc:description></office:meta>"
}


def opendocument(path: Path, inner: str) -> None:
    body = f"<office:body>{inner}</office:body>"
    zipped(path, {"content.xml": f"<office:document-content {XML}>{body}</office:document-content>", **META})


def described(folder: Path, kind: str) -> Path:
    """A file of this kind with TEXT, KEYWORDS and DESCRIPTION."""
    path = folder / f"a.{kind}"
    if kind == "html":
        meta = f'<meta name="Keywords" content="{KEYWORDS}"><meta property="og:description" content="{DESCRIPTION}">'
        path.write_text(f"<html><head>{meta}</head><body><p>{TEXT}</p></body></html>")
    elif kind == "docx":
        docx(path, paragraph(TEXT), **CORE)
    elif kind == "pptx":
        pptx(path, [shape(TEXT)], **CORE)
    elif kind == "xlsx":
        pytest.importorskip("python_calamine")
        xlsx(path, {"Parts": row(1, TEXT)}, **CORE)
    elif kind == "odt":
        opendocument(path, f"<office:text><text:p>{TEXT}</text:p></office:text>")
    elif kind == "epub":
        told = f"<dc:description>&lt;p&gt;{DESCRIPTION}&lt;/p&gt;</dc:description>"
        epub(
            path, {"a.xhtml": f"<p>{TEXT}</p>"}, f"{told}<dc:subject>okapi</dc:subject><dc:subject>walrus</dc:subject>"
        )
    elif kind == "rtf":
        told = rf"{{\info{{\keywords okapi}}{{\category walrus}}{{\doccomm {DESCRIPTION}}}}}"
        path.write_text(rtf(rf"{TEXT}\par", told))
    else:
        pytest.importorskip("pypdfium2")
        shown = f"BT /F1 12 Tf 50 700 Td ({TEXT}) Tj ET".encode()
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>",
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown),
            f"<< /Keywords ({KEYWORDS}) /Subject ({DESCRIPTION}) >>".encode(),
        ]
        path.write_bytes(pdf_of(objects).replace(b"/Root 1 0 R", b"/Root 1 0 R /Info 6 0 R"))
    return path


KINDS = ["html", "docx", "pptx", "xlsx", "odt", "epub", "rtf", "pdf"]


@pytest.mark.parametrize("kind", KINDS)
def test_keywords_and_descriptions_are_metadata_and_furniture_behind_the_text(kind: str, tmp_path: Path) -> None:
    document = one(described(tmp_path, kind))
    names = {"epub": ("subject", "description"), "pdf": ("keywords", "subject")}.get(kind, ("keywords", "description"))
    texts = dict(zip(names, (KEYWORDS, DESCRIPTION), strict=True))
    assert {name: document.metadata[name] for name in texts} == texts
    assert document.text == "\n\n".join([TEXT, *(texts[name] for name in PROPERTIES if name in texts)])
    assert [document.text[mark.start :] for mark in document.marks if mark.furniture] == [
        document.text.removeprefix(f"{TEXT}\n\n")
    ]


def test_a_keyword_that_no_text_has_finds_its_file_after_those_that_say_it(tmp_path: Path) -> None:
    (folder := tmp_path / "files").mkdir()
    described(folder, "docx")
    written(folder, "b.txt", "The okapi eats leaves.")
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.sync(folder)
        assert [hit.document for hit in index.search("okapi", mode="keyword")] == ["b.txt", "a.docx"]
        assert [hit.document for hit in index.search("walrus", mode="keyword")] == ["a.docx"]


def own_properties(folder: Path, kind: str) -> Path:
    """A file of this kind with properties that its author has named, and one of a program."""
    code = "a3f1c2d4-0b1e-4c5d-8e9f-001122334455"
    custom = "".join(
        f'<property name="{name}"><vt:lpwstr xmlns:vt="v">{text}</vt:lpwstr></property>'
        for name, text in (("Client", "Okapi Ltd"), (f"Label_{code}_On", "true"))
    )
    spaces = "http://schemas.openxmlformats.org/officeDocument/2006"
    members = {
        "docProps/app.xml": f'<Properties xmlns="{spaces}/extended-properties"><Pages>3</Pages>'
        "<Manager>Anna Walrus</Manager></Properties>",
        "custom/a.xml": f'<Properties xmlns="{spaces}/custom-properties">{custom}</Properties>',
        "_rels/.rels": relations(("custom-properties", "custom/a.xml")),
    }
    path = folder / f"own.{kind}"
    if kind == "docx":
        docx(path, paragraph(TEXT), **members)
    elif kind == "pptx":
        pptx(path, [shape(TEXT)], **members)
    elif kind == "xlsx":
        pytest.importorskip("python_calamine")
        members["_rels/.rels"] = relations(("officeDocument", "xl/workbook.xml"), ("customProperties", "custom/a.xml"))
        xlsx(path, {"Parts": row(1, TEXT)}, **members)
    else:
        defined = '<meta:user-defined meta:name="{}">{}</meta:user-defined>'.format
        told = defined("Manager", "Anna Walrus") + defined("Client", "Okapi Ltd") + defined(f"Label_{code}_On", "true")
        content = f"<office:body><office:text><text:p>{TEXT}</text:p></office:text></office:body>"
        root = f"<office:document-content {XML}>{content}</office:document-content>"
        zipped(path, {"content.xml": root, "meta.xml": f"<office:meta {XML}>{told}</office:meta>"})
    return path


@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx", "odt"])
def test_properties_that_people_have_named_are_metadata_and_found_behind_the_text(kind: str, tmp_path: Path) -> None:
    document = one(own_properties(tmp_path, kind))
    properties = document.metadata["properties"]
    assert isinstance(properties, dict)
    assert {name: properties[name] for name in ("Manager", "Client")} == {
        "Manager": "Anna Walrus",
        "Client": "Okapi Ltd",
    }
    assert (len(properties), document.text) == (3, f"{TEXT}\n\nManager: Anna Walrus; Client: Okapi Ltd")


def test_the_status_of_a_document_stands_among_its_properties(tmp_path: Path) -> None:
    core = f"<cp:coreProperties {XML}><cp:contentStatus>Okapi draft</cp:contentStatus></cp:coreProperties>"
    docx(tmp_path / "a.docx", paragraph(TEXT), **{"docProps/core.xml": core})
    document = one(tmp_path / "a.docx")
    assert document.metadata["properties"] == {"Status": "Okapi draft"} and "Status: Okapi draft" in document.text


def test_a_title_keeps_what_looks_like_a_tag(tmp_path: Path) -> None:
    core = f"<cp:coreProperties {XML}><dc:title>A vector&lt;int&gt; of okapis</dc:title></cp:coreProperties>"
    docx(tmp_path / "a.docx", paragraph(TEXT), **{"docProps/core.xml": core})
    assert one(tmp_path / "a.docx").title == "A vector<int> of okapis"


def test_what_the_text_says_itself_is_not_added(tmp_path: Path) -> None:
    head = f'<title>On {KEYWORDS.title()}</title><meta name="keywords" content="{KEYWORDS}">'
    head += '<meta name="description" content="The  CELLAR: is dry. The cel ...">'
    path = written(tmp_path, "a.html", f"<html><head>{head}</head><body><p>{TEXT}</p></body></html>")
    assert one(path).text == TEXT


def test_properties_alone_are_no_text_and_are_named(tmp_path: Path) -> None:
    docx(tmp_path / "a.docx", "", **CORE)
    (item,) = loaders.load(tmp_path / "a.docx")
    letters = len((DESCRIPTION + KEYWORDS).replace(" ", ""))
    assert isinstance(item, Textless)
    assert item.reason == f"no text found in it, only description ({letters} letters)"


def test_only_the_first_sheet_has_the_properties_as_text(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    xlsx(tmp_path / "a.xlsx", {"One": row(1, "bolt"), "Two": row(1, "nut")}, **CORE)
    first, second = (each for each in loaders.load(tmp_path / "a.xlsx") if isinstance(each, Document))
    assert (first.text.endswith(KEYWORDS), second.text) == (True, "nut")
    assert second.metadata == {"sheet": "Two", "description": DESCRIPTION, "keywords": KEYWORDS}


def test_author_and_date_of_a_page_are_those_that_it_names_first(tmp_path: Path) -> None:
    meta = '<meta name="author" content="Anna"><meta name="DC.creator" content="Bo">'
    meta += '<meta property="article:published_time" content="2024-05-01"><meta name="viewport" content="width=1">'
    path = written(tmp_path, "a.html", f"<html><head>{meta}</head><body><p>{TEXT}</p></body></html>")
    assert one(path).metadata == {"author": "Anna", "date": "2024-05-01"}
    assert one(written(tmp_path, "a.ipynb", notebook(("markdown", TEXT)))).metadata == {}
