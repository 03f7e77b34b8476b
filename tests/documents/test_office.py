"""PowerPoint and spreadsheets: slides as pages, sheets as documents, rows as lines."""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path

import pytest
from helpers.filemaking import (
    PML,
    SML,
    all_of,
    headings,
    one,
    pptx,
    refusal,
    relations,
    row,
    shape,
    written,
    xlsx,
    zipped,
)

from semsearch import Index
from semsearch.documents import loaders
from semsearch.documents.loaders import Fields
from semsearch.errors import Unreadable
from semsearch.types import Document, Omission

CHART = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
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


def test_a_slide_has_its_chart_notes_comments_and_what_its_layout_shows(tmp_path: Path) -> None:
    title = "<c:title><c:tx><c:rich><a:p><a:r><a:t>Sales by year</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    drawn = f'<p:graphicFrame><c:chart {CHART} r:id="r2"/></p:graphicFrame>'
    series = "<c:ser><c:tx><c:v>Pumps</c:v></c:tx></c:ser>"
    chart = f"<c:chartSpace {PML} {CHART}>{title}{series}</c:chartSpace>"
    slogan = "<p:sp><p:txBody><a:p><a:r><a:t>Acme for ever</a:t></a:r></a:p></p:txBody></p:sp>"
    modern = 'xmlns:n="http://schemas.microsoft.com/office/powerpoint/2018/8/main"'
    pptx(
        tmp_path / "a.pptx",
        [drawn + shape("Acme 2024", "ftr") + shape("1", "sldNum")],
        **{
            "ppt/slides/_rels/slide1.xml.rels": relations(
                ("notesSlide", "../notesSlides/n.xml"), ("chart", "../charts/c.xml"), ("comments", "../comments/m.xml"),
                ("comments", "/ppt/comments/new.xml"), ("slideLayout", "../slideLayouts/l.xml"),
            ),
            "ppt/notesSlides/n.xml": f"<p:notes {PML}>{shape('What to say.')}{shape('Acme 2024', 'ftr')}</p:notes>",
            "ppt/charts/c.xml": chart,
            "ppt/comments/m.xml": f'<p:cmLst {PML}><p:cm authorId="0"><p:text>Too small</p:text></p:cm></p:cmLst>',
            "ppt/comments/new.xml": f'<n:cmLst {modern} {PML}><n:cm><n:txBody><a:p><a:r><a:t>Really</a:t></a:r></a:p>'
            "</n:txBody></n:cm></n:cmLst>",
            "ppt/slideLayouts/l.xml": f"<p:sldLayout {PML}>{slogan}{shape('Click to edit', 'title')}</p:sldLayout>",
        },
    )  # fmt: skip
    found = one(tmp_path / "a.pptx")
    assert found.text == "Sales by year\nPumps\n\nWhat to say.\n\n[Too small]\n\n[Really]\n\nAcme 2024\n\nAcme for ever"
    assert found.omissions == (Omission("slide number", 1),)
    assert [mark.page for mark in found.marks] == [1, None]


def test_a_strict_presentation_and_workbook_are_read_as_any_other(tmp_path: Path) -> None:
    pptx(tmp_path / "a.pptx", [shape("Engines", "title")], shape("What to say."))
    xlsx(tmp_path / "a.xlsx", {"Parts": row(1, "part", "count")})
    for path in (tmp_path / "a.pptx", tmp_path / "a.xlsx"):
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name).decode() for name in archive.namelist()}
        other = re.compile(r"http://schemas\.openxmlformats\.org/(\w+)/2006/(?!relationships\")")
        zipped(path, {name: other.sub(r"http://purl.oclc.org/ooxml/\1/", text) for name, text in members.items()})
    assert one(tmp_path / "a.pptx").text == "Engines\n\nWhat to say."
    assert one(tmp_path / "a.xlsx").text == "part | count"


def test_a_damaged_slide_costs_that_slide(tmp_path: Path) -> None:
    pptx(tmp_path / "a.pptx", [shape("One"), shape("Two")], **{"ppt/slides/slide1.xml": "<p:sld"})
    found = one(tmp_path / "a.pptx")
    assert (found.text, found.omissions) == ("Two", (Omission("damaged part", 0),))


def test_comments_boxes_and_charts_stand_in_the_line_of_their_row(tmp_path: Path) -> None:
    sheet = f"<worksheet {SML}><sheetData>{row(1, 'part', 0.15)}{row(2, 'bolt', 0.5)}</sheetData><headerFooter>"
    sheet += (
        '<oddHeader>&amp;C&amp;"Arial,Bold"Draft &amp; secret&amp;RPage &amp;P</oddHeader></headerFooter></worksheet>'
    )
    box = "<d:sp><a:p><a:r><a:t>A note</a:t></a:r></a:p></d:sp>"
    anchor = f"<d:oneCellAnchor><d:from><d:row>3</d:row></d:from>{box}<d:pic/></d:oneCellAnchor>"
    drawn = 'xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing"'
    runs = "<r><t>Bo:</t></r><r><t>\nout of stock</t></r>"
    comment = f'<commentList><comment ref="A2" authorId="0"><text>{runs}</text></comment>'
    xlsx(
        tmp_path / "a.xlsx",
        {"Parts": ""},
        **{
            "xl/worksheets/sheet1.xml": sheet.replace('r="B1"', 'r="B1" s="1"'),
            "xl/worksheets/_rels/sheet1.xml.rels": relations(("comments", "../c.xml"), ("drawing", "../d.xml")),
            "xl/styles.xml": f'<styleSheet {SML}><cellXfs><xf numFmtId="0"/><xf numFmtId="9"/></cellXfs></styleSheet>',
            "xl/c.xml": f"<comments {SML}><authors><author>Bo</author></authors>{comment}</commentList></comments>",
            "xl/d.xml": f"<d:wsDr {drawn} {PML}>{anchor}</d:wsDr>",
        },
    )
    found = one(tmp_path / "a.xlsx")
    assert found.text == "part | 15%\nbolt | 0.5 | [Bo: out of stock]\n\nA note\nDraft & secret Page"
    assert found.omissions == (Omission("picture", 0),)


def test_notes_on_what_to_enter_are_read_in_their_row(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    rows = row(1, "bolt") + row(2, "nut")
    check = '<dataValidation sqref="A2:A9" promptTitle="Serial number" prompt="On the plate_x000a_behind &quot;S&quot;"'
    sheet = f"<worksheet {SML}><sheetData>{rows}</sheetData>{check} error='Too long'/></worksheet>"
    xlsx(tmp_path / "a.xlsx", {"Parts": ""}, **{"xl/worksheets/sheet1.xml": sheet})
    assert one(tmp_path / "a.xlsx").text.split("\n") == [
        "bolt",
        'nut | [Serial number On the plate behind "S"] | [Too long]',
    ]


def test_what_may_be_chosen_for_a_cell_is_named(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    check = '<dataValidation type="list" sqref="A2"><formula1>"Amber,Green"</formula1></dataValidation>'
    sheet = f"<worksheet {SML}><sheetData>{row(1, 'bolt')}</sheetData>{check}</worksheet>"
    xlsx(tmp_path / "a.xlsx", {"Parts": ""}, **{"xl/worksheets/sheet1.xml": sheet})
    assert one(tmp_path / "a.xlsx").omissions == (Omission("option of a field", len("Amber,Green")),)


def test_a_tooltip_of_a_link_is_read_in_its_row(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    links = '<hyperlinks><hyperlink ref="A2" tooltip="Stocked in &quot;B&quot;" location="X!A1"/><hyperlink ref="A1"/>'
    sheet = f"<worksheet {SML}><sheetData>{row(1, 'bolt') + row(2, 'nut')}</sheetData>{links}</hyperlinks></worksheet>"
    xlsx(tmp_path / "a.xlsx", {"Parts": ""}, **{"xl/worksheets/sheet1.xml": sheet})
    assert one(tmp_path / "a.xlsx").text == 'bolt\nnut | [Stocked in "B"]'


def test_names_of_sections_and_addresses_in_notes_of_slides_are_named(tmp_path: Path) -> None:
    section = '<x:section xmlns:x="http://schemas.microsoft.com/office/powerpoint/2010/main" name="Part one"/>'
    presentation = f'<p:presentation {PML}><p:sldIdLst><p:sldId r:id="r1"/></p:sldIdLst>{section}</p:presentation>'
    link = '<Relationship Id="a" Type="x/hyperlink" Target="https://okapi.org" TargetMode="External"/>'
    notes = {"ppt/notesSlides/_rels/notesSlide1.xml.rels": relations().replace("</Rel", link + "</Rel", 1)}
    pptx(tmp_path / "a.pptx", [shape("Next")], shape("Say"), **{"ppt/presentation.xml": presentation, **notes})
    found = one(tmp_path / "a.pptx")
    assert (found.text, dict(found.omissions)) == (
        "Next\n\nSay",
        {"name of a section": len("Partone"), "address of a link": len("https://okapi.org")},
    )


def test_alternative_texts_and_tooltips_of_slides_are_named(tmp_path: Path) -> None:
    link = '<a:rPr><a:hlinkClick tooltip="Opens the plan"/></a:rPr>'
    box = (
        '<p:sp><p:nvSpPr><p:cNvPr descr="An arrow" title="Flow"/></p:nvSpPr><p:txBody><a:p><a:r>{}<a:t>Next</a:t></a:r>'
    )
    group = '<p:grpSp><p:nvGrpSpPr><p:cNvPr descr="Three pumps"/></p:nvGrpSpPr>{}</p:grpSp>'
    picture = '<p:pic><p:nvPicPr><p:cNvPr descr="A valve"/></p:nvPicPr></p:pic>'
    pptx(tmp_path / "a.pptx", [group.format(box.format(link) + "</a:p></p:txBody></p:sp>") + picture])
    found = one(tmp_path / "a.pptx")
    assert found.text == "Next"
    assert set(found.omissions) == {
        Omission("description", len("AnarrowFlow" + "Threepumps")),
        Omission("picture", len("Avalve")),
        Omission("tooltip", len("Openstheplan")),
    }


def test_a_formula_that_was_never_computed_is_named(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    cells = "<c r='A1'><f>A2+1</f></c><c r='B1'><f>A2</f><v/></c><c r='C1'><f>A2</f><v>7</v></c>"
    xlsx(tmp_path / "a.xlsx", {"Parts": f"<row r='1'>{cells}</row>"})
    document = one(tmp_path / "a.xlsx")
    assert document.text == "7" and document.omissions == (Omission("formula without its value", len("A2+1A2")),)


def test_texts_in_formulas_and_captions_of_buttons_are_named(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    cells = "<c r='A1' t='str'><f>IF(B1&gt;2,\"Okapi\",&quot;Heron&quot;)</f><v>Okapi</v></c>"
    caption = '<xml><v:shape><v:textbox style="x"><div><font>Press<br></font></div></v:textbox></v:shape></xml>'
    xlsx(
        tmp_path / "a.xlsx",
        {"Parts": f"<row r='1'>{cells}</row>"},
        **{"xl/worksheets/_rels/sheet1.xml.rels": relations(("vmlDrawing", "../v.vml")), "xl/v.vml": caption},
    )
    document = one(tmp_path / "a.xlsx")
    assert document.text == "Okapi"
    assert dict(document.omissions) == {"text in a formula": len("OkapiHeron"), "form control": len("Press")}


def test_what_begins_thousands_of_times_and_does_not_end_costs_no_sheet(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    formula = f"<c r='A1'><v>7</v></c><c r='B1'><f>{'&quot;' * 300_000}</f></c>"
    xlsx(
        tmp_path / "a.xlsx",
        {"Parts": f"<row r='1'>{formula}</row>"},
        **{"xl/worksheets/_rels/sheet1.xml.rels": relations(("vmlDrawing", "../v.vml"))},
        **{"xl/v.vml": "<v:textbox>" * 300_000},
    )
    assert one(tmp_path / "a.xlsx").text == "7"
    cell = "<table:table-cell office:value-type='float' office:value='7'/>"
    sheet = f"<table:table table:name='S'><table:table-row>{cell}</table:table-row></table:table>"
    body = f"<office:body><office:spreadsheet>{sheet}</office:spreadsheet></office:body>"
    named = " ".join(f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'" for name in ("office", "table"))
    members = {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": "<m:manifest xmlns:m='urn:oasis:names:tc:opendocument:xmlns:manifest:1.0'/>",
        "content.xml": f"<a {named}><!--{'<table:table ' * 300_000}-->{body}</a>",
        "styles.xml": f"<a xmlns:number='n'><number:text>{'a' * 300_000}<b/></number:text></a>",
    }
    zipped(tmp_path / "a.ods", members)
    assert one(tmp_path / "a.ods").text == "7"


def test_the_title_of_a_workbook_is_that_of_its_only_sheet_or_found_with_the_first(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    properties = {"docProps/core.xml": f"<p {DC}><dc:title>Stock of okapis</dc:title></p>"}
    xlsx(tmp_path / "a.xlsx", {"S": row(1, "tea")}, **properties)
    assert one(tmp_path / "a.xlsx").title == "Stock of okapis"
    xlsx(tmp_path / "b.xlsx", {"S": row(1, "tea"), "T": row(1, "cup")}, **properties)
    first, second = (each for each in all_of(tmp_path / "b.xlsx") if isinstance(each, Document))
    assert (first.title, first.text, second.text) == ("S", "tea\n\nStock of okapis", "cup")


@pytest.mark.parametrize(
    ("content", "text"),
    [("<html><body><table><tr><td>bolt<td>12</table></body></html>", "bolt | 12"), ("part\tcount\nbolt\t12\n", None)],
)
def test_a_text_that_is_called_a_spreadsheet_is_read_as_what_it_is(
    content: str, text: str | None, tmp_path: Path
) -> None:
    assert one(written(tmp_path, "report.XLS", content)).text == (text or content)


def test_defined_names_formats_of_numbers_and_addresses_of_links_are_counted(tmp_path: Path) -> None:
    styles = f'<styleSheet {SML}><numFmts><numFmt numFmtId="170" formatCode="0.0&quot; kilograms&quot;"/></numFmts>'
    names = '<definedNames><definedName name="Rate">0.19</definedName><definedName name="A">S!B2</definedName>'
    target = '<Relationship Id="a" Type="x/hyperlink" Target="https://okapi.org" TargetMode="External"/>'
    xlsx(
        tmp_path / "a.xlsx",
        {"S": row(1, "tea"), "T": row(1, "cup")},
        **{
            "xl/styles.xml": styles + "</styleSheet>",
            "xl/worksheets/_rels/sheet2.xml.rels": relations().replace("</Relationships>", target + "</Relationships>"),
        },
    )
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
    members["xl/workbook.xml"] = members["xl/workbook.xml"].replace("</workbook>", f"{names}</definedNames></workbook>")
    zipped(tmp_path / "b.xlsx", members)
    first, second = (dict(each.omissions) for each in all_of(tmp_path / "b.xlsx") if isinstance(each, Document))
    assert first == {"defined name": len("Rate0.19"), "number format": len("kilograms")}
    assert second == {"address of a link": len("https://okapi.org")}
