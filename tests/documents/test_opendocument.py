"""OpenDocument: whatever a document, a presentation or a sheet shows is found, and what is left out is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.filemaking import all_of, one, refusal, written, zipped

from semsearch.types import Document, Omission

NAMES = {name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("office", "style", "table", "text")}
NAMES |= {
    "dc": "http://purl.org/dc/elements/1.1/",
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "form": "urn:oasis:names:tc:opendocument:xmlns:form:1.0",
    "math": "http://www.w3.org/1998/Math/MathML",
    "presentation": "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0",
    "xlink": "http://www.w3.org/1999/xlink",
}
ODF = " ".join(f'xmlns:{name}="{uri}"' for name, uri in NAMES.items())
MANIFEST = '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"
ANNOTATION = "<office:annotation><dc:creator>Bo</dc:creator><text:p>Clause missing</text:p></office:annotation>"


def content(body: str, kind: str = "text", styles: str = "") -> str:
    automatic = f"<office:automatic-styles>{styles}</office:automatic-styles>"
    inner = f"{automatic}<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    return f"<office:document-content {ODF}>{inner}</office:document-content>"


def masters(inner: str) -> str:
    page = f"<style:master-page>{inner}</style:master-page>"
    inner = f"<office:master-styles>{page}{page}</office:master-styles>"
    return f"<office:document-styles {ODF}>{inner}</office:document-styles>"


def read(path: Path, body: str, styles: str = "", **members: str) -> Document:
    zipped(path, {"content.xml": content(body, styles=styles), **members})
    return one(path)


def test_boxes_notes_and_comments_follow_their_paragraph(tmp_path: Path) -> None:
    box = "<draw:text-box><text:p>three litres</text:p><text:p>per weekday</text:p></draw:text-box>"
    note = (
        "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Moist.</text:p></text:note-body>"
    )
    body = f"<text:p>Pump<draw:frame>{box}</draw:frame> man{note}</text:note>ual.{ANNOTATION}</text:p>"
    body += "<text:p>More.</text:p>"
    assert read(tmp_path / "a.odt", body).text == (
        "Pump manual.\n\nthree litres\n\nper weekday\n\nMoist.\n\n[Bo: Clause missing]\n\nMore."
    )


def test_headers_charts_links_and_choices_of_a_spreadsheet_are_read_or_named(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    check = '<table:content-validation table:name="v" table:condition="cell-content-is-in-list(&quot;Amber&quot;)">'
    check += '<table:help-message table:title="Lamp"><text:p>Choose</text:p></table:help-message>'
    cells = '<table:table-cell office:value-type="string" table:content-validation-name="v">'
    cells += '<text:p><text:a xlink:href="x.org">tea</text:a></text:p>'
    chart = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    rows = f"<table:table-row>{cells}{chart}</table:table-cell></table:table-row>"
    body = f"<table:content-validations>{check}</table:content-validation></table:content-validations>"
    body += f'<table:table table:name="S">{rows}</table:table>'
    page = "<style:header><text:p>Secret</text:p></style:header>"
    page += "<style:footer><text:p>Page <text:page-number>1</text:page-number></text:p></style:footer>"
    zipped(
        tmp_path / "a.ods",
        {
            "mimetype": SPREADSHEET,
            "META-INF/manifest.xml": MANIFEST,
            "content.xml": content(body, "spreadsheet"),
            "styles.xml": masters(page),
            "Object 1/content.xml": content("<text:p>Sales</text:p><text:p>12</text:p>", "chart"),
        },
    )
    found = one(tmp_path / "a.ods")
    assert found.text == "tea | [Lamp Choose] | Sales\nSecret"
    assert dict(found.omissions) == {
        "page number": len("Page"),
        "option of a field": len("Amber"),
        "address of a link": len("x.org"),
    }
    damaged = {"Object 1/content.xml": "<damaged", "styles.xml": "<damaged"}
    members = {"mimetype": SPREADSHEET, "META-INF/manifest.xml": MANIFEST, "content.xml": content(body, "spreadsheet")}
    zipped(tmp_path / "c.ods", {**members, **damaged})
    assert one(tmp_path / "c.ods").text == "tea | [Lamp Choose]"
    assert ("damaged part", 0) in one(tmp_path / "c.ods").omissions
    zipped(tmp_path / "d.ods", {**members, "styles.xml": masters(page)})
    written(tmp_path, "d.ods", (tmp_path / "d.ods").read_bytes().replace(b"Secret", b"Sekret"))  # not as its checksum
    assert one(tmp_path / "d.ods").text == "tea | [Lamp Choose]"
    assert ("damaged part", 0) in one(tmp_path / "d.ods").omissions
    plain = f'<table:table table:name="S">{rows.replace(chart, "")}</table:table>'.replace("text:a", "text:span")
    members = {"mimetype": SPREADSHEET, "META-INF/manifest.xml": MANIFEST, "styles.xml": masters(page)}
    zipped(tmp_path / "b.ods", {"content.xml": content(plain, "spreadsheet"), **members})
    assert one(tmp_path / "b.ods").text == "tea\nSecret"


def test_sheets_of_one_file_have_their_names_and_its_pictures_no_letters(tmp_path: Path) -> None:
    picture = "<draw:frame><draw:image><office:binary-data>iVBORw0K</office:binary-data></draw:image></draw:frame>"
    rows = f"<table:table-row><table:table-cell><text:p>tea{picture}</text:p></table:table-cell></table:table-row>"
    body = f'<office:body><office:spreadsheet><table:table table:name="Stock">{rows}</table:table>'
    path = written(
        tmp_path, "a.fods", f"<office:document {ODF}>{body}</office:spreadsheet></office:body></office:document>"
    )
    assert (one(path).text, one(path).omissions) == ("Stock\n\ntea", (Omission("picture", 0),))


def test_who_comments_in_a_document_of_one_file_is_no_author(tmp_path: Path) -> None:
    meta = "<office:meta><dc:creator>Anna</dc:creator></office:meta>"
    body = f"<office:body><office:text><text:p>Pump{ANNOTATION}</text:p></office:text></office:body>"
    found = one(written(tmp_path, "a.fodt", f"<office:document {ODF}>{meta}{body}</office:document>"))
    assert (found.text, found.metadata["author"]) == ("Pump\n\n[Bo: Clause missing]", "Anna")


def test_the_other_branch_of_a_condition_is_named(tmp_path: Path) -> None:
    values = 'text:string-value-if-true="dry" text:string-value-if-false="wet"'
    found = read(
        tmp_path / "a.odt", f"<text:p>It is <text:conditional-text {values}>dry</text:conditional-text></text:p>"
    )
    assert (found.text, found.omissions) == ("It is dry", (Omission("hidden text", 3),))


def test_headers_are_read_once_and_hidden_text_is_named(tmp_path: Path) -> None:
    hidden = '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>'
    body = '<text:h>Chapter</text:h><text:p>Seen<text:span text:style-name="T1"> secret</text:span></text:p>'
    body += "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
    body += '<text:section text:display="none"><text:p>of nobody</text:p></text:section>'
    header = "<style:header><text:p>Confidential, page <text:page-number>1</text:page-number></text:p></style:header>"
    found = read(tmp_path / "a.odt", body, hidden, **{"styles.xml": masters(header)})
    assert found.text == "Chapter\n\nSeen\n\nConfidential, page 1"
    assert found.marks[-1].heading is None
    assert set(found.omissions) == {Omission("hidden text", 14), Omission("deleted text", 4)}


def test_a_cell_that_another_one_covers_is_counted(tmp_path: Path) -> None:
    cells = "".join(
        f"<table:{kind}><text:p>{kind[:5]}</text:p></table:{kind}>" for kind in ("table-cell", "covered-table-cell")
    )
    found = read(tmp_path / "a.odt", f"<table:table><table:table-row>{cells}</table:table-row></table:table>")
    assert (found.text, found.omissions) == ("table", (Omission("hidden text", 5),))


def test_charts_formulas_and_forms_are_text(tmp_path: Path) -> None:
    chart = '<text:p><draw:frame><draw:object xlink:href="./Object 1"/><draw:image/></draw:frame></text:p>'
    formula = '<text:p><draw:frame><draw:object xlink:href="./Object 2"/></draw:frame></text:p>'
    form = (
        '<office:forms><form:form><form:text form:label="Name" form:current-value="Anna"/></form:form></office:forms>'
    )
    symbols = "<math:mi>x</math:mi><math:mo>=</math:mo><math:mn>2</math:mn><math:annotation>x = 2</math:annotation>"
    found = read(
        tmp_path / "a.odt",
        form + chart + formula,
        **{
            "Object 1/content.xml": content("<text:p>Sales by year</text:p>", "chart"),
            "Object 2/content.xml": f"<math:math {ODF}>{symbols}</math:math>",
        },
    )
    assert found.text == "Name Anna\n\nSales by year\n\nx = 2"
    assert found.omissions == (Omission("picture", 0),)


SLIDE = (
    "<draw:page><draw:frame><draw:text-box><text:p>Some text.</text:p></draw:text-box></draw:frame>"
    '<draw:frame presentation:class="title"><draw:text-box><text:p>Engines</text:p></draw:text-box></draw:frame>'
    "<presentation:notes><draw:frame><draw:text-box><text:p>What to say.</text:p></draw:text-box></draw:frame>"
    "</presentation:notes></draw:page>"
)


@pytest.mark.parametrize("suffix", ["odp", "otp", "fodp"])
def test_slides_are_pages_with_their_notes(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    body = content(SLIDE + SLIDE.replace("Engines", "Boilers"), "presentation")
    shown = masters("<draw:frame><draw:text-box><text:p>Acme</text:p></draw:text-box></draw:frame>")
    if suffix == "fodp":
        written(tmp_path, path.name, body.replace("</office:automatic-styles>", f"</office:automatic-styles>{shown}"))
    else:
        zipped(path, {"content.xml": body, "styles.xml": shown})
    found = one(path)
    assert found.text == ("Engines\n\nSome text.\n\nWhat to say.\n\nBoilers\n\nSome text.\n\nWhat to say.\n\nAcme")
    assert [(mark.page, mark.heading) for mark in found.marks] == [(1, "Engines"), (2, "Boilers"), (None, None)]


def test_a_sheet_has_comments_and_percent(tmp_path: Path) -> None:
    percent = (
        '<table:table-cell office:value-type="percentage" office:value="0.15"><text:p>15%</text:p></table:table-cell>'
    )
    named = f'<table:table-cell office:value-type="string"><text:p>bolt</text:p>{ANNOTATION}</table:table-cell>'
    rows = f"<table:table-row>{percent}</table:table-row><table:table-row>{named}</table:table-row>"
    sheet = content(f'<table:table table:name="Parts">{rows}</table:table>', "spreadsheet")
    zipped(tmp_path / "a.ods", {"mimetype": SPREADSHEET, "META-INF/manifest.xml": MANIFEST, "content.xml": sheet})
    (found,) = all_of(tmp_path / "a.ods")
    assert isinstance(found, Document) and found.text == "15%\nbolt | [Bo: Clause missing]"
    written(tmp_path, "a.fods", sheet)
    assert "15%\nbolt" in one(tmp_path / "a.fods").text


def test_an_encrypted_document_is_refused(tmp_path: Path) -> None:
    manifest = (
        '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:encryption-data/></m:manifest>'
    )
    zipped(tmp_path / "a.odp", {"META-INF/manifest.xml": manifest, "content.xml": "?"})
    assert refusal(tmp_path / "a.odp") == "encrypted OpenDocument file: it needs a password"


def test_index_entries_are_named(tmp_path: Path) -> None:
    entry = '<text:alphabetical-index-mark text:string-value="okapi"/>'
    document = read(tmp_path / "a.odt", f"<text:p>The pump{entry} runs.</text:p>")
    assert (document.text, document.omissions) == ("The pump runs.", (Omission("index entry", 5),))


def test_notes_on_what_to_enter_stand_in_the_row_of_the_first_cell_that_has_them(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    help_ = '<table:help-message table:display="true"><text:p>Number on the plate</text:p></table:help-message>'
    check = f'<table:content-validations><table:content-validation table:name="v1">{help_}</table:content-validation>'
    cells = '<table:table-row><table:table-cell table:content-validation-name="v1" office:value-type="string">'
    cells += "<text:p>{}</text:p></table:table-cell></table:table-row>"
    table = f'<table:table table:name="Parts">{cells.format("bolt")}{cells.format("nut")}</table:table>'
    sheet = content(f"{check}</table:content-validations>{table}", "spreadsheet")
    zipped(tmp_path / "a.ods", {"mimetype": SPREADSHEET, "META-INF/manifest.xml": MANIFEST, "content.xml": sheet})
    assert one(tmp_path / "a.ods").text == "bolt | [Number on the plate]\nnut"


def test_a_hidden_text_that_is_only_an_attribute_is_named(tmp_path: Path) -> None:
    document = read(tmp_path / "a.odt", '<text:p>The pump<text:hidden-text text:string-value="okapi"/> runs.</text:p>')
    assert (document.text, document.omissions) == ("The pump runs.", (Omission("hidden text", 5),))


def test_defaults_options_and_hints_of_fields_are_named(tmp_path: Path) -> None:
    form = '<form:form><form:text form:current-value="Anna" form:value="Your name"/></form:form>'
    choice = '<text:drop-down><text:label text:value="Amber"/><text:label text:value="Green" '
    choice += 'text:current-selected="true"/>Green</text:drop-down>'
    hint = '<text:placeholder text:description="Click here">date</text:placeholder>'
    found = read(tmp_path / "a.odt", f"<office:forms>{form}</office:forms><text:p>{choice} {hint}</text:p>")
    assert found.text == "Anna\n\nGreen date"
    assert set(found.omissions) == {
        Omission("default of a field", len("Yourname")),
        Omission("option of a field", len("Amber")),
        Omission("tooltip", len("Clickhere")),
    }
