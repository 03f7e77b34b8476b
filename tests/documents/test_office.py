"""PowerPoint and spreadsheets: slides as pages, sheets as documents, rows as lines."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from helpers.filemaking import PML, all_of, headings, one, pptx, refusal, row, shape, written, xlsx, zipped

from semsearch import Index
from semsearch.documents import loaders
from semsearch.documents.loaders import Fields
from semsearch.errors import Unreadable
from semsearch.types import Document

DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"'


def test_slides_are_pages_and_their_titles_headings(tmp_path: Path) -> None:
    table = "<a:tbl><a:tr><a:tc><a:p><a:r><a:t>part</a:t></a:r></a:p></a:tc><a:tc><a:p/></a:tc></a:tr></a:tbl>"
    slides = [
        shape("Some text.\nMore.") + shape("Engines", "title") + shape("12", "sldNum"),
        "",
        f"<p:graphicFrame>{table}</p:graphicFrame><p:grpSp>{shape('In a group.')}</p:grpSp>",
    ]
    properties = f"<p {DC}><dc:title>Talk</dc:title><dc:creator>Anna</dc:creator>"
    properties += "<dcterms:modified>2024-05-01T10:00:00Z</dcterms:modified></p>"
    pptx(tmp_path / "a.pptx", slides, shape("What to say."), **{"docProps/core.xml": properties})
    found = one(tmp_path / "a.pptx")
    assert found.title == "Talk" and found.metadata == {"author": "Anna", "date": "2024-05-01T10:00:00Z"}
    assert found.text == "Engines\n\nSome text.\nMore.\n\nWhat to say.\n\npart |\n\nIn a group."
    assert {found.text[mark.start :][:4]: (mark.page, mark.heading) for mark in found.marks} == {
        "Engi": (1, "Engines"),
        "part": (3, None),
    }


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"ppt/presentation.xml": "<p:presentation"}, "not a readable PPTX"),
        ({"a.txt": "words"}, "it has no ppt/presentation.xml"),
        (
            {
                "ppt/presentation.xml": f'<p:presentation {PML}><p:sldIdLst><p:sldId r:id="r7"/></p:sldIdLst>'
                "</p:presentation>"
            },
            "it has no slide 1",
        ),
    ],
)
def test_a_damaged_presentation_is_refused(members: dict[str, str], reason: str, tmp_path: Path) -> None:
    zipped(tmp_path / "a.pptx", members)
    assert reason in refusal(tmp_path / "a.pptx")


def test_each_sheet_is_a_document_whose_lines_are_the_rows(tmp_path: Path) -> None:
    xlsx(
        tmp_path / "stock.xlsx",
        {
            "Parts": row(1, "part", "count", "price") + row(4, "a  bolt", 12.0, 0.25) + row(5, "", "", "alone"),
            "Empty": "",
            "Größen 2": row(2, "wheel", 4),
        },
    )
    parts, sizes = all_of(tmp_path / "stock.xlsx")
    assert isinstance(parts, Document) and isinstance(sizes, Document)
    assert (parts.id, parts.title, parts.metadata, parts.lines) == ("#Parts", "Parts", {"sheet": "Parts"}, True)
    assert parts.text == "part | count | price\n\n\na bolt | 12 | 0.25\nalone"
    assert (sizes.id, sizes.text) == ("#Größen 2", "\nwheel | 4")


def test_a_hit_in_a_workbook_names_the_sheet_and_the_row(tmp_path: Path) -> None:
    words = "".join(row(at, "some other words that fill a passage up " * 20) for at in range(2, 6))
    xlsx(tmp_path / "stock.xlsx", {"Parts": row(1, "part") + words + row(7, "kettle"), "More": row(1, "x")})
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.sync([tmp_path / "stock.xlsx"])
        (hit, *_) = index.search("kettle", k=1, mode="keyword")
        assert (hit.document, hit.line) == ("stock.xlsx#Parts", 5) and "kettle" in hit.text


def test_a_workbook_that_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "not a readable spreadsheet" in refusal(written(tmp_path, "a.xlsx", b"PK\3\4 torn"))
    xlsx(tmp_path / "empty.xlsx", {"One": "", "Two": ""})
    assert refusal(tmp_path / "empty.xlsx") == "no value in any of its sheets"
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(Unreadable, match=r"needs python-calamine: .*docs"):
        list(loaders.read("xlsx", tmp_path / "empty.xlsx", Fields()))


def test_headings_of_word_and_powerpoint_alike_are_in_the_text(tmp_path: Path) -> None:
    pptx(tmp_path / "a.pptx", [shape("One", "ctrTitle"), shape("Two\nlines", "title")])
    assert headings(one(tmp_path / "a.pptx")) == [("One", "One"), ("Two lines", "Two lines")]
