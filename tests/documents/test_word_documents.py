"""Word and RTF: whatever a document shows is found, in words that are whole, and what is left out is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.filemaking import OFFICE_RELATIONS, W, all_of, docx, one, paragraph, relations, rtf, written, zipped

from semsearch.documents.textless import Textless
from semsearch.types import Document, Omission

DRAWN = " ".join(
    f'xmlns:{name}="{uri}"'
    for name, uri in {
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
        "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "r": OFFICE_RELATIONS,
        "v": "urn:schemas-microsoft-com:vml",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    }.items()
)
BOX = "<w:txbxContent>{}</w:txbxContent>".format(paragraph("three litres") + paragraph("per weekday"))
DRAWING = f"<w:drawing><wp:anchor><a:graphic>{BOX}</a:graphic></wp:anchor></w:drawing>"
PICT = f"<w:pict><v:shape><v:textbox>{BOX}</v:textbox></v:shape></w:pict>"
BOTH = (
    f'<mc:AlternateContent><mc:Choice Requires="wps">{DRAWING}</mc:Choice>'
    f"<mc:Fallback>{PICT}</mc:Fallback></mc:AlternateContent>"
)


def document(body: str) -> str:
    return f"<w:document {W} {DRAWN}><w:body>{body}</w:body></w:document>"


def part(kind: str, content: str) -> str:
    return f"<w:{kind} {W} {DRAWN}>{content}</w:{kind}>"


def test_a_strict_document_is_read_as_any_other(tmp_path: Path) -> None:
    ours = document(
        paragraph("Chapter", "h") + paragraph("A sentence about otters.") + "<w:p><w:r>" + BOTH + "</w:r></w:p>"
    )
    strict = ours.replace("schemas.openxmlformats.org/wordprocessingml/2006/", "purl.oclc.org/ooxml/wordprocessingml/")
    styles = '<w:style w:type="paragraph" w:styleId="h"><w:name w:val="heading 1"/></w:style>'
    zipped(
        tmp_path / "a.docx",
        {
            "_rels/.rels": relations(("officeDocument", "word/document.xml"), strict=True),
            "word/_rels/document.xml.rels": relations(("styles", "styles.xml"), strict=True),
            "word/document.xml": strict,
            "word/styles.xml": part("styles", styles),
        },
    )
    found = one(tmp_path / "a.docx")
    assert found.text == "Chapter\n\nA sentence about otters.\n\nthree litres\n\nper weekday"
    assert found.title == "Chapter"


@pytest.mark.parametrize(
    ("target", "member"),
    [
        ("word/document2.xml", "word/document2.xml"),
        ("/word/document.xml", "word/document.xml"),
        ("word/document.xml", r"word\document.xml"),
        (r"word\document.xml", "word/document.xml"),
        ("Word/Document.xml", "word/document.xml"),
        ("a%20folder/main.xml", "a folder/main.xml"),
    ],
)
def test_the_main_part_is_found_under_any_name(target: str, member: str, tmp_path: Path) -> None:
    zipped(
        tmp_path / "a.docx",
        {"_rels/.rels": relations(("officeDocument", target)), member: document(paragraph("About badgers."))},
    )
    assert one(tmp_path / "a.docx").text == "About badgers."


@pytest.mark.parametrize("box", [BOTH, DRAWING, PICT], ids=["both", "drawing", "vml"])
def test_a_text_box_is_blocks_of_its_own_and_read_once(box: str, tmp_path: Path) -> None:
    around = f"<w:p><w:r><w:t>Pump manual</w:t></w:r><w:r>{box}</w:r></w:p>{paragraph('At night.')}"
    zipped(tmp_path / "a.docx", {"word/document.xml": document(around)})
    assert one(tmp_path / "a.docx").text == "Pump manual\n\nthree litres\n\nper weekday\n\nAt night."


def test_notes_and_comments_follow_the_paragraph_that_refers_to_them(tmp_path: Path) -> None:
    body = (
        '<w:p><w:r><w:t>The gasket</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:t> must be dry.</w:t>'
        '</w:r><w:r><w:commentReference w:id="0"/></w:r></w:p>' + paragraph("More.")
    )
    note = '<w:{0} w:id="{1}">' + "{2}</w:{0}>"
    docx(
        tmp_path / "a.docx",
        body,
        **{
            "word/footnotes.xml": part("footnotes", note.format("footnote", 2, paragraph("Moist ones corrode."))),
            "word/endnotes.xml": part("endnotes", note.format("endnote", 2, paragraph("See the handbook."))),
            "word/comments.xml": part(
                "comments", f'<w:comment w:id="0" w:author="Bo">{paragraph("Clause missing")}</w:comment>'
            ),
        },
    )
    assert one(tmp_path / "a.docx").text == (
        "The gasket must be dry.\n\nMoist ones corrode.\n\n[Bo: Clause missing]\n\nMore.\n\nSee the handbook."
    )


def test_headers_and_footers_are_read_once_under_no_heading(tmp_path: Path) -> None:
    docx(
        tmp_path / "a.docx",
        paragraph("Chapter", "berschrift1") + paragraph("Text."),
        **{
            "word/header1.xml": part("hdr", paragraph("Confidential, page 1")),
            "word/header2.xml": part("hdr", paragraph("Confidential, page 12")),
            "word/header3.xml": part("hdr", '<w:p><w:r><w:pict><v:textpath string="DRAFT"/></w:pict></w:r></w:p>'),
            "word/footer1.xml": part("ftr", paragraph("7")),
        },
    )
    found = one(tmp_path / "a.docx")
    assert found.text == "Chapter\n\nText.\n\nConfidential, page 12\n\nDRAFT"
    assert [(found.text[mark.start :][:4], mark.heading) for mark in found.marks] == [
        ("Chap", "Chapter"),
        ("Conf", None),
    ]


def test_formulas_charts_and_diagrams_are_text(tmp_path: Path) -> None:
    fraction = "<m:f><m:num><m:r><m:t>ab</m:t></m:r></m:num><m:den><m:r><m:t>c</m:t></m:r></m:den></m:f>"
    body = (
        f'<w:p><w:r><w:t>It is </w:t></w:r><m:oMath>{fraction}</m:oMath></w:p><w:p><w:r><w:drawing><c:chart r:id="r1"/>'
    )
    body += '</w:drawing></w:r><w:r><w:drawing><dgm:relIds r:dm="r2"/></w:drawing></w:r></w:p>'
    title = "<c:title><c:tx><c:rich><a:p><a:r><a:t>Sales by year</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    points = "<c:pt><c:v>north</c:v></c:pt><c:pt><c:v>south</c:v></c:pt>"
    labels = f"<c:cat><c:strRef><c:strCache>{points}</c:strCache></c:strRef></c:cat>"
    numbers = "<c:val><c:numRef><c:numCache><c:pt><c:v>12.5</c:v></c:pt></c:numCache></c:numRef></c:val>"
    points = "".join(
        f"<dgm:pt><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>" for text in ("Plan", "Do")
    )
    zipped(
        tmp_path / "a.docx",
        {
            "word/document.xml": document(body),
            "word/_rels/document.xml.rels": relations(("chart", "charts/c.xml"), ("diagramData", "diagrams/d.xml")),
            "word/charts/c.xml": f"<c:chartSpace {DRAWN}>{title}<c:ser>{labels}{numbers}</c:ser></c:chartSpace>",
            "word/diagrams/d.xml": f"<dgm:dataModel {DRAWN}>{points}</dgm:dataModel>",
        },
    )
    found = one(tmp_path / "a.docx")
    assert found.text == "It is ab/c\n\nSales by year\nnorth\nsouth\n\nPlan\nDo"
    assert found.omissions == (Omission("chart number", 4),)


def test_what_is_drawn_on_a_chart_and_labels_of_several_levels_are_read_and_its_table_is_named(tmp_path: Path) -> None:
    levels = "".join(f"<c:lvl><c:pt><c:v>{name}</c:v></c:pt></c:lvl>" for name in ("north", "Europe"))
    cache = f"<c:multiLvlStrCache>{levels}</c:multiLvlStrCache><c:strLit><c:pt><c:v>tea</c:v></c:pt></c:strLit>"
    drawn = "<a:p><a:r><a:t>Best year</a:t></a:r></a:p>"
    members = {
        "word/document.xml": document('<w:p><w:r><w:drawing><c:chart r:id="r1"/></w:drawing></w:r></w:p>'),
        "word/_rels/document.xml.rels": relations(("chart", "charts/chart1.xml")),
        "word/charts/chart1.xml": f"<c:chartSpace {DRAWN}>{cache}</c:chartSpace>",
        "word/charts/_rels/chart1.xml.rels": relations(("chartUserShapes", "d.xml"), ("package", "table.xlsx")),
        "word/charts/d.xml": f"<c:userShapes {DRAWN}>{drawn}</c:userShapes>",
    }
    zipped(tmp_path / "a.docx", members)
    found = one(tmp_path / "a.docx")
    assert (found.text, found.omissions) == ("tea\nnorth\nEurope\nBest year", (Omission("embedded object", 0),))


def test_labels_of_lists_codes_of_fields_and_addresses_of_notes_and_headers_are_named(tmp_path: Path) -> None:
    link = '<Relationship Id="a" Type="x/hyperlink" Target="https://okapi.org/{}" TargetMode="External"/>'
    codes = 'IF 1 = 1 "Okapi" "Heron" \\* MERGEFORMAT', 'DATE \\@ "d MMMM"', 'HYPERLINK "https://okapi.org" \\o "Opens"'
    fields = "".join(f"<w:r><w:instrText>{code}</w:instrText></w:r>" for code in codes)
    members = {
        "word/document.xml": document(f"<w:p>{fields}<w:r><w:t>a</w:t><w:ptab/><w:t>b</w:t></w:r></w:p>"),
        "word/_rels/document.xml.rels": relations(
            ("footnotes", "footnotes.xml"), ("header", "header1.xml"), ("numbering", "numbering.xml")
        ),
        "word/footnotes.xml": part("footnotes", ""),
        "word/_rels/footnotes.xml.rels": relations().replace("</Rel", link.format("note") + "</Rel", 1),
        "word/header1.xml": part("hdr", ""),
        "word/_rels/header1.xml.rels": relations().replace("</Rel", link.format("head") + "</Rel", 1),
        "word/numbering.xml": part("numbering", '<w:lvlText w:val="%1."/><w:lvlText w:val="Article %1"/>'),
    }
    zipped(tmp_path / "a.docx", members)
    found = one(tmp_path / "a.docx")
    assert found.text == "a\tb"
    assert dict(found.omissions) == {
        "address of a link": len("https://okapi.org/note" + "https://okapi.org/head" + "https://okapi.org"),
        "label of a list": len("Article%1"),
        "text in a field": len("OkapiHeron" + "Opens"),
    }


def test_a_formula_on_a_line_of_its_own_and_symbols_are_text(tmp_path: Path) -> None:
    body = "<m:oMathPara><m:oMath><m:r><m:t>a+b</m:t></m:r></m:oMath></m:oMathPara>"
    symbols = '<w:sym w:font="Symbol" w:char="F061"/><w:t>-helix</w:t><w:sym w:font="Wingdings" w:char="F04A"/>'
    body += f"<w:p><w:r>{symbols}</w:r></w:p>"
    zipped(tmp_path / "a.docx", {"word/document.xml": document(body)})
    found = one(tmp_path / "a.docx")
    assert (found.text, found.omissions) == ("a+b\n\nα-helix", (Omission("symbol", 0),))


def test_what_word_does_not_show_is_left_out_and_named(tmp_path: Path) -> None:
    run = "<w:r><w:rPr>{}</w:rPr><w:t>{}</w:t></w:r>"
    body = "<w:p>" + run.format("<w:vanish/>", "secret") + run.format('<w:vanish w:val="0"/>', "Seen")
    body += "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
    body += '<w:r><w:drawing><wp:docPr descr="A pump"/></w:drawing></w:r></w:p>'
    body += "<w:moveFrom><w:p><w:r><w:t>elsewhere</w:t></w:r></w:p></w:moveFrom>"
    zipped(tmp_path / "a.docx", {"word/document.xml": document(body)})
    found = one(tmp_path / "a.docx")
    assert found.text == "Seen"
    assert set(found.omissions) == {
        Omission("hidden text", 6),
        Omission("deleted text", len("gone" + "elsewhere")),
        Omission("picture", 5),
    }


def test_alternative_texts_of_shapes_and_tooltips_are_named(tmp_path: Path) -> None:
    shapes = "http://schemas.microsoft.com/office/word/2010/wordprocessingShape"
    body = '<w:p><w:hyperlink w:tooltip="Opens the plan"><w:r><w:t>Plan</w:t></w:r></w:hyperlink>'
    body += f'<w:r><w:drawing><s:wsp xmlns:s="{shapes}"><s:cNvPr descr="An arrow"/></s:wsp></w:drawing></w:r>'
    body += '<w:r><w:pict><v:oval xmlns:v="urn:schemas-microsoft-com:vml" alt="A tank"/></w:pict></w:r></w:p>'
    zipped(tmp_path / "a.docx", {"word/document.xml": document(body)})
    found = one(tmp_path / "a.docx")
    assert found.text == "Plan"
    assert set(found.omissions) == {Omission("description", 7 + 5), Omission("tooltip", 12)}


def test_what_a_table_and_a_form_say_to_who_asks_is_named(tmp_path: Path) -> None:
    said = '<w:tblPr><w:tblCaption w:val="Stock"/><w:tblDescription w:val="by day"/></w:tblPr>'
    field = '<w:ffData><w:helpText w:val="Press F1"/><w:statusText w:val="a name"/></w:ffData>'
    cell = f"<w:p><w:r><w:fldChar>{field}</w:fldChar></w:r><w:r><w:t>bolt</w:t></w:r></w:p>"
    body = f"<w:tbl>{said}<w:tr><w:tc>{cell}</w:tc></w:tr></w:tbl>"
    block = "<w:docParts><w:p><w:r><w:t>Type here</w:t></w:r></w:p></w:docParts>"
    blocks = f"<w:glossaryDocument {W}>{block}</w:glossaryDocument>"
    members = {"word/glossary/document.xml": blocks}
    members["word/_rels/document.xml.rels"] = relations(("glossaryDocument", "glossary/document.xml"))
    zipped(tmp_path / "a.docx", {"word/document.xml": document(body), **members})
    found = one(tmp_path / "a.docx")
    assert found.text == "bolt"
    assert set(found.omissions) == {
        Omission("description", len("Stockbyday")),
        Omission("tooltip", len("PressF1aname")),
        Omission("building block", len("Typehere")),
    }


def test_what_content_controls_and_form_fields_have_beside_what_they_show_is_named(tmp_path: Path) -> None:
    options = '<w:listItem w:displayText="Amber" w:value="1"/><w:listItem w:value="Green"/>'
    about = f'<w:sdtPr><w:alias w:val="Lamp colour"/><w:dropDownList>{options}</w:dropDownList></w:sdtPr>'
    control = f"<w:sdt>{about}<w:sdtContent>{paragraph('Amber')}</w:sdtContent></w:sdt>"
    field = '<w:ffData><w:textInput><w:default w:val="Your name"/></w:textInput></w:ffData>'
    body = f"{control}<w:p><w:r><w:fldChar>{field}</w:fldChar></w:r><w:r><w:t>Anna</w:t></w:r></w:p>"
    data = {"customXml/item1.xml": "<order><lamp>Amber lamp</lamp></order>"}
    data["word/_rels/document.xml.rels"] = relations(("customXml", "../customXml/item1.xml"))
    zipped(tmp_path / "a.docx", {"word/document.xml": document(body), **data})
    found = one(tmp_path / "a.docx")
    assert found.text == "Amber\n\nAnna"
    assert set(found.omissions) == {
        Omission("title of a field", len("Lampcolour")),
        Omission("option of a field", len("AmberGreen")),
        Omission("default of a field", len("Yourname")),
        Omission("custom XML data", len("Amberlamp")),
    }


def test_what_a_form_field_of_rtf_has_beside_what_it_shows_is_named(tmp_path: Path) -> None:
    field = r"{\*\formfield{\*\ffname n}{\*\ffdeftext Your name}{\*\ffhelptext Press F1}{\*\ffl Amber}}"
    found = one(written(tmp_path, "a.rtf", rtf(rf"{{{field}}}Anna\par")))
    assert found.text == "Anna"
    assert set(found.omissions) == {
        Omission("default of a field", len("Yourname")),
        Omission("tooltip", len("PressF1")),
        Omission("option of a field", len("Amber")),
    }


def test_files_within_a_document_are_read_by_their_loaders(tmp_path: Path) -> None:
    zipped(
        tmp_path / "a.docx",
        {
            "word/document.xml": document('<w:altChunk r:id="r1"/>'),
            "word/_rels/document.xml.rels": relations(("aFChunk", "chunk.html"), ("oleObject", "embeddings/x.bin")),
            "word/chunk.html": "<p>A chunk of another format.</p>",
            "word/embeddings/x.bin": "",
        },
    )
    whole, chunk = all_of(tmp_path / "a.docx")
    assert isinstance(whole, Textless) and whole.omissions == (Omission("embedded object", 0),)
    assert isinstance(chunk, Document)
    assert (chunk.id, chunk.text) == ("#chunk.html", "A chunk of another format.")


def test_a_damaged_part_costs_that_part(tmp_path: Path) -> None:
    docx(tmp_path / "a.docx", paragraph("Text."), **{"word/footnotes.xml": "<w:footnotes"})
    found = one(tmp_path / "a.docx")
    assert (found.text, found.omissions) == ("Text.", (Omission("damaged part", 0),))


def test_addresses_of_links_in_fields_are_counted_beyond_the_file(tmp_path: Path) -> None:
    away, within = 'HYPERLINK "https://a.example"', r'HYPERLINK \l "_Toc1"'
    fields = [rf"{{\field{{\*\fldinst {each}}}{{\fldrslt Anna }}}}" for each in (away, within.replace("\\", "\\\\"))]
    old = one(written(tmp_path, "a.rtf", rtf("".join(fields) + r"\par")))
    shown = "".join(
        f"<w:r><w:instrText>{each}</w:instrText></w:r><w:r><w:t>Anna </w:t></w:r>" for each in (away, within)
    )
    docx(tmp_path / "a.docx", f"<w:p>{shown}</w:p>")
    for found in (old, one(tmp_path / "a.docx")):
        assert (found.text, dict(found.omissions)) == ("Anna Anna", {"address of a link": len("https://a.example")})


def test_rtf_has_boxes_notes_comments_and_headers(tmp_path: Path) -> None:
    box = r"{\shp{\*\shpinst\shpleft0{\sp{\sn x}{\sv 1}}{\shptxt three litres\par per weekday\par}}"
    box += r"{\shprslt{\*\do{\dptxbxtext three litres\par}}}}"
    note, remark = (
        r"{\footnote Moist ones {\b corrode}.}",
        r"{\*\atnid B}{\*\atnauthor Bo}{\*\annotation Clause missing}",
    )
    hidden, deleted, picture = r"{\v secret}", r"{\deleted gone}", r"{\*\shppict{\pict 89504e47}}"
    body = (
        rf"{{\header Confidential}}{{\headerf Confidential}}Pump{box} manual{note}{remark}{hidden}{deleted}{picture}."
    )
    found = one(written(tmp_path, "a.rtf", rtf(body + r"\par More.\par")))
    assert found.text == (
        "Pump manual.\n\nthree litres\nper weekday\n\nMoist ones corrode.\n\n[Bo: Clause missing]\n\n"
        "More.\n\nConfidential"
    )
    assert set(found.omissions) == {
        Omission("hidden text", 6),
        Omission("deleted text", 4),
        Omission("picture", 0),
    }


def test_a_form_shows_the_entry_that_is_chosen(tmp_path: Path) -> None:
    entries = '<w:listEntry w:val="red"/><w:listEntry w:val="blue"/>'
    for chosen, shown in (('<w:result w:val="1"/>', "blue"), ("", "red"), ('<w:default w:val="7"/>', "")):
        form = f"<w:p><w:r><w:t>Colour </w:t><w:fldChar><w:ffData><w:ddList>{chosen}{entries}</w:ddList></w:ffData>"
        docx(tmp_path / "a.docx", f"{form}</w:fldChar></w:r></w:p>")
        assert one(tmp_path / "a.docx").text == f"Colour {shown}".strip()


def test_text_that_was_moved_is_read_where_it_is_and_counted_where_it_was(tmp_path: Path) -> None:
    moved = [f"<w:{kind}><w:r><w:t>otters</w:t></w:r></w:{kind}>" for kind in ("moveTo", "moveFrom")]
    docx(tmp_path / "a.docx", f"<w:p>{moved[0]}</w:p><w:p>{moved[1]}</w:p>")
    found = one(tmp_path / "a.docx")
    assert (found.text, found.omissions) == ("otters", (Omission("deleted text", 6),))


def test_a_character_without_a_number_costs_itself_alone(tmp_path: Path) -> None:
    docx(tmp_path / "a.docx", '<w:p><w:r><w:sym w:font="Arial" w:char="none"/><w:t>done</w:t></w:r></w:p>')
    found = one(tmp_path / "a.docx")
    assert (found.text, found.omissions) == ("done", (Omission("symbol", 0),))


def test_of_alternatives_the_one_with_a_text_is_read(tmp_path: Path) -> None:
    both = f'<mc:AlternateContent><mc:Choice Requires="x"/><mc:Fallback>{PICT}</mc:Fallback></mc:AlternateContent>'
    zipped(tmp_path / "a.docx", {"word/document.xml": document(f"<w:p><w:r>{both}</w:r></w:p>")})
    assert one(tmp_path / "a.docx").text == "three litres\n\nper weekday"


def test_index_entries_are_named_and_other_fields_are_read_as_they_show(tmp_path: Path) -> None:
    begin, end = ('<w:r><w:fldChar w:fldCharType="begin"/></w:r>', '<w:r><w:fldChar w:fldCharType="end"/></w:r>')
    code = "<w:r><w:instrText>{}</w:instrText></w:r>"
    body = "<w:p><w:r><w:t>The pump</w:t></w:r>" + begin + code.format(' XE "okapi" \\b ') + end
    body += begin + code.format(" DATE ") + end + "<w:r><w:t> runs.</w:t></w:r></w:p>"
    docx(tmp_path / "a.docx", body)
    document = one(tmp_path / "a.docx")
    assert (document.text, document.omissions) == ("The pump runs.", (Omission("index entry", 5),))
