"""PDF: what is written into forms and about the text is found; what pages repeat or do not show is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.filemaking import all_of, one, pdf, pdf_of, refusal, written

from semsearch.types import Document, Omission

pytest.importorskip("pypdfium2")
ENCODING = "<< /Type /Encoding /Differences [173 /softhyphen] >>"
FONT = f"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding {ENCODING} >>".encode()


def page(folder: Path, shown: str, page: str = "", *objects: str, catalogue: str = "") -> Path:
    """A PDF of one page with this content and these entries; `objects` are numbered from 6."""
    stream = shown.encode("latin-1")
    entries = f"/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 600 800] /Contents 5 0 R {page}"
    made = [
        f"<< /Type /Catalog /Pages 2 0 R {catalogue} >>".encode(),
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        FONT,
        f"<< /Type /Page /Parent 2 0 R {entries} >>".encode(),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        *(each.encode("latin-1") for each in objects),
    ]
    return written(folder, "a.pdf", pdf_of(made))


def line(text: str, y: int, x: int = 50) -> str:
    return f"BT /F1 12 Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET "


def test_annotations_are_read_and_remarks_have_their_authors(tmp_path: Path) -> None:
    annotation = "<< /Type /Annot /Rect [50 50 200 100] /Subtype /{} /Contents ({}) {} >>"
    path = page(
        tmp_path,
        line("Text.", 700),
        "/Annots [6 0 R 7 0 R 8 0 R 9 0 R]",
        annotation.format("FreeText", "About a hoopoe", ""),
        annotation.format("Highlight", "Really?", "/T (Bo)"),
        annotation.format("Popup", "Really?", ""),
        annotation.format("Link", "a tooltip", "/A << /S /URI /URI (https://a.example) >>"),
    )
    found = one(path)
    assert found.text == "Text.\nAbout a hoopoe\n[Bo: Really?]"
    assert dict(found.omissions) == {"tooltip": 8, "address of a link": 17}


def test_a_file_in_an_annotation_is_read_and_an_outline_entry_without_a_page_is_named(tmp_path: Path) -> None:
    path = page(
        tmp_path,
        line("Text.", 700),
        "/Annots [6 0 R 11 0 R 6 0 R]",
        "<< /Type /Annot /Rect [50 50 70 70] /Subtype /FileAttachment /Contents (The plan) /FS 7 0 R >>",
        "<< /Type /Filespec /F (plan.txt) /UF (plan.txt) /EF << /F 8 0 R >> >>",
        "<< /Type /EmbeddedFile /Length 9 >>\nstream\nA quetzal\nendstream",
        "<< /Type /Outlines /First 10 0 R /Last 10 0 R /Count 1 >>",
        "<< /Title (Heron) /Parent 9 0 R /A << /S /URI /URI (https://a.example) >> >>",
        "<< /Type /Annot /Rect [50 90 70 99] /Subtype /FileAttachment /FS << /Type /Filespec /F (gone.txt) >> >>",
        catalogue="/Outlines 9 0 R",
    )
    found, plan = all_of(path)
    assert isinstance(found, Document) and isinstance(plan, Document)
    assert found.text == "Text.\n[The plan]"
    assert dict(found.omissions) == {"embedded object": 0, "outline entry": len("Heron")}  # a file that is only named
    assert (plan.id, plan.text) == ("#plan.txt", "A quetzal")


def test_values_of_forms_are_read_but_for_passwords(tmp_path: Path) -> None:
    field = "<< /Type /Annot /Subtype /Widget /FT /{} /T ({}) /V {} /Rect [50 600 300 620] {} >>"
    path = page(
        tmp_path,
        line("Application", 700),
        "/Annots [6 0 R 7 0 R 8 0 R 9 0 R]",
        field.format("Tx", "name", "(Filled in by a quetzal)", ""),
        field.format("Ch", "country", "(Peru)", "/Opt [(Chile) (Peru)] /Ff 131072"),
        field.format("Tx", "secret", "(swordfish)", "/Ff 8192"),
        field.format("Btn", "agreed", "/Yes", ""),
        catalogue="/AcroForm << /Fields [6 0 R 7 0 R 8 0 R 9 0 R] >>",
    )
    assert one(path).text == "Application\nFilled in by a quetzal\nPeru"


def test_tooltips_options_and_captions_of_fields_are_counted(tmp_path: Path) -> None:
    field = "<< /Type /Annot /Subtype /Widget /FT /{} /T ({}) /TU (a tooltip) /Rect [50 600 200 620] {} >>"
    path = page(
        tmp_path,
        line("Application", 700),
        "/Annots [6 0 R 7 0 R]",
        field.format("Ch", "country", "/V (Peru) /Opt [(Chile) (Peru)] /Ff 131072"),
        field.format("Btn", "send", "/Ff 65536 /AP << /N 8 0 R >>"),
        "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 20 >>\nstream\nBT (Send it) Tj ET  \nendstream",
        catalogue="/AcroForm << /Fields [6 0 R 7 0 R] >>",
    )
    found = one(path)
    assert found.text == "Application\nPeru"
    assert dict(found.omissions) == {"tooltip": 16, "option of a field": 5, "button": 6}


def test_text_beyond_the_crop_box_is_left_out_letter_by_letter(tmp_path: Path) -> None:
    shown = line("Nightjars at the top", 705) + line("Owls within", 600) + line("Doves at the bottom", 495)
    found = one(page(tmp_path, shown, "/CropBox [0 500 600 700]"))
    assert found.text == "Owls within"
    assert found.omissions == (Omission("text beyond the page", 33),)


def test_soft_hyphens_join_what_they_divide(tmp_path: Path) -> None:
    assert one(page(tmp_path, line("Die Donau\xaddampf\xadschiff fahrt", 700))).text == "Die Donaudampfschiff fahrt"


def test_columns_written_line_by_line_are_read_one_after_the_other(tmp_path: Path) -> None:
    left = [f"on the left a line of prose, {n * n}" for n in range(30)]
    right = [f"and on the right one, {n * n}" for n in range(30)]
    rows = "".join(line(left[n], 700 - 15 * n) + line(right[n], 700 - 15 * n, 310) for n in range(30))
    found = one(page(tmp_path, line("A title across both", 750) + rows))
    assert found.text.split("\n") == ["A title across both", *left, *right]


def test_three_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    columns = [[f"column {name} says it, {n * n}" for n in range(30)] for name in "abc"]
    rows = "".join(
        line(columns[at][n], 700 - 15 * n, 50 + 175 * at) for n in range(30) for at in range(3) if (n, at) != (7, 1)
    )
    found = one(
        page(tmp_path, line("A title across all of the columns of this page, in one long line of it", 750) + rows)
    )
    first, *rest = found.text.split("\n")
    assert first.startswith("A title")
    assert rest == columns[0] + columns[1][:7] + columns[1][8:] + columns[2]


def test_the_rows_of_a_table_stay_rows(tmp_path: Path) -> None:
    cells = [line(f"part {n * n}", 700 - 15 * n) + line(f"described {n * n}", 700 - 15 * n, 310) for n in range(30)]
    found = one(page(tmp_path, "".join(cells)))
    assert found.text.split("\n")[7] == "part 49 described 49"


def test_running_headers_are_kept_once_and_page_numbers_left_out(tmp_path: Path) -> None:
    pages = [
        ["The Handbook", f"Chapter {n // 5}", f"Body {n} of its own.", f"Item {n * n} costs 5", f"Page {n} of 10"]
        for n in range(1, 11)
    ]
    for number, each in enumerate(pages, start=1):
        each.append(str(number + 7))
    pdf(tmp_path / "a.pdf", pages)
    found = one(tmp_path / "a.pdf")
    assert found.text.count("The Handbook") == 1 and found.text.count("Page 1 of 10") == 1
    assert "Page 2 of 10" not in found.text and "17" not in found.text
    assert all(f"Body {n} of its own." in found.text and f"Item {n * n} costs 5" in found.text for n in range(1, 11))
    assert [f"Chapter {n}" in found.text for n in range(3)] == [True] * 3
    assert {each.kind for each in found.omissions} == {"header or footer", "page number"}


def test_lines_that_few_pages_share_stay(tmp_path: Path) -> None:
    pages = [["Results" if n in (1, 5, 20) else f"Part {n * n}", f"Body {n * n}.", "-" * n] for n in range(1, 21)]
    pdf(tmp_path / "a.pdf", pages)
    found = one(tmp_path / "a.pdf")
    assert found.text.count("Results") == 3 and found.omissions == ()


def test_pages_without_text_are_named_beside_those_with_text(tmp_path: Path) -> None:
    square = "0 0 100 100 re f"
    made = page(tmp_path, line("Text.", 700)).read_bytes()
    assert made  # a document of one page with text has nothing to name
    assert "pages_without_text" not in one(tmp_path / "a.pdf").metadata
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R 6 0 R 8 0 R] /Count 3 >>",
        FONT,
    ]
    for at, shown in enumerate((line("Text.", 700), square, ""), start=2):
        entries = f"/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 600 800] /Contents {2 * at + 1} 0 R"
        objects.append(f"<< /Type /Page /Parent 2 0 R {entries} >>".encode())
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(shown), shown.encode()))
    found = one(written(tmp_path, "b.pdf", pdf_of(objects)))
    assert found.metadata == {"pages_without_text": [2]}
    assert [each.kind for each in found.omissions] == ["page without text (--ocr reads scans)"]


def test_attached_files_are_read_by_their_loaders(tmp_path: Path) -> None:
    names = "/Names << /EmbeddedFiles << /Names [(a) 6 0 R (b) 8 0 R] >> >>"
    spec = "<< /Type /Filespec /F ({0}) /UF ({0}) /EF << /F {1} 0 R >> >>"
    content = "<< /Type /EmbeddedFile /Length 17 >>\nstream\nAbout the badgers\nendstream"
    path = page(
        tmp_path, line("Text.", 700), "",
        spec.format("notes.txt", 7), content, spec.format("picture.png", 9), content,
        catalogue=names,
    )  # fmt: skip
    document, attached = all_of(path)
    assert isinstance(document, Document) and isinstance(attached, Document)
    assert (document.text, document.omissions) == ("Text.", (Omission("embedded object", 0),))
    assert (attached.id, attached.text) == ("#notes.txt", "About the badgers")


def test_a_scan_is_refused_with_the_option_that_reads_it(tmp_path: Path) -> None:
    assert "--ocr eng" in refusal(page(tmp_path, "0 0 100 100 re f"))


def test_of_a_page_of_few_lines_most_stay_whatever_other_pages_have(tmp_path: Path) -> None:
    pdf(
        tmp_path / "a.pdf",
        [["Lesson", f"Card {n}", "True or false?", f"{n} is a prime.", f"{n} / 6"] for n in range(1, 7)],
    )
    found = one(tmp_path / "a.pdf")
    assert all(f"Card {n}\nTrue or false?\n{n} is a prime." in found.text for n in range(1, 7))
    assert found.text.count("Lesson") == 1 and "2 / 6" not in found.text


def test_an_entry_of_the_outline_that_its_page_does_not_show_is_named(tmp_path: Path) -> None:
    pdf(tmp_path / "a.pdf", [["Engines", "Text."]], [("Engines", 0), ("Okapi", 0)])
    assert one(tmp_path / "a.pdf").omissions == (Omission("outline entry", 5),)
