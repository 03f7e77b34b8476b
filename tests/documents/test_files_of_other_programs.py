"""Files that other programs wrote are read as those made by hand are."""

from __future__ import annotations

from pathlib import Path

from helpers.filemaking import all_of, headings, one

from semsearch.types import Document

FILES = Path(__file__).resolve().parents[1] / "fixtures" / "formats"


def test_a_presentation_of_python_pptx() -> None:
    talk = one(FILES / "talk.pptx")
    assert talk.title == "Engines"
    about = {"author": "Anna Smith", "date": "2024-05-01T10:00:00Z", "contributor": "Steve Canny"}
    assert talk.metadata == about
    assert talk.text == (
        "Engines\n\nAn introduction\n\nDiesel\n\nNo spark plug.\nIgnition by compression.\n\n"
        "Explain the compression ratio.\n\nParts\n\npart | count\npiston | 4"
    )
    assert [(mark.page, mark.heading) for mark in talk.marks if mark.heading] == [
        (1, "Engines"),
        (2, "Diesel"),
        (3, "Parts"),
    ]


def test_workbooks_of_openpyxl_and_xlwt() -> None:
    parts, notes = (item for item in all_of(FILES / "stock.xlsx") if isinstance(item, Document))
    assert parts.text.split("\n") == [
        "part | count | price | since",
        "piston | 4 | 12.5 | 2020-02-01",
        "",
        "kettle | 1 | 30 | 2021-03-01 08:30:00",
    ]
    assert (notes.id, notes.text) == ("#Notes", "Größe in mm")
    assert one(FILES / "stock.xls").text == "part | count\npiston | 4\nGröße | 1.5"


def test_a_book_of_ebooklib() -> None:
    book = one(FILES / "book.epub")
    assert book.title == "The Engine"
    named = {"properties": {"Identifier": "x"}}
    assert book.metadata == {"author": "Anna Smith", "date": "2019-07-01", "language": "en", **named}
    assert "It has no spark plug.\n\nBoilers\n\nA boiler heats water." in book.text
    assert headings(book)[-3:-1] == [("Diesel", "Diesel"), ("Boilers", "Boilers")]
