"""EPUB, RTF, subtitles and notebooks: their text, their headings, and the reason why a bad file is refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from helpers.filemaking import (
    all_of,
    epub,
    escaped,
    headings,
    notebook,
    one,
    refusal,
    rtf,
    written,
    zipped,
)

from semsearch import Index
from semsearch.documents import loaders
from semsearch.types import Document, Omission, Skipped

# ---- EPUB

NCX = """<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "x.dtd"><ncx><navMap><navPoint>
<navLabel><text>The boiler</text></navLabel><content src="two%20b.xhtml#top"/></navPoint></navMap></ncx>"""


def test_a_book_is_its_chapters_in_reading_order(tmp_path: Path) -> None:
    named = {"title": "Engines", "creator": "Anna", "date": "2019", "language": "en"}
    told = "".join(f"<dc:{name}>{value}</dc:{name}>" for name, value in named.items())
    chapters = {"one.xhtml": "<h1>Diesel</h1><p>No <b>spark</b> plug.</p>", "two b.xhtml": "<p>It heats Größe.</p>"}
    epub(tmp_path / "a.epub", chapters, told, **{"OPS/toc.ncx": NCX})
    book = one(tmp_path / "a.epub")
    assert (book.title, book.metadata) == ("Engines", {"author": "Anna", "date": "2019", "language": "en"})
    assert book.text == "Diesel\n\nNo spark plug.\n\nThe boiler\n\nIt heats Größe."
    assert headings(book) == [("Diesel", "Diesel"), ("The boiler", "The boiler")]


def test_the_list_of_chapters_is_no_chapter(tmp_path: Path) -> None:
    listed = '<nav><h1>Engines</h1><ol><li><a href="one.xhtml">Diesel</a></li></ol></nav>'
    epub(tmp_path / "a.epub", {"nav.xhtml": listed, "one.xhtml": "<p>No spark plug.</p>"}, nav="nav.xhtml")
    assert one(tmp_path / "a.epub").text == "Diesel\n\nNo spark plug."


def test_a_book_has_its_subtitle_and_names_titles_of_pages(tmp_path: Path) -> None:
    told = "<dc:title>Engines</dc:title><dc:title>A history</dc:title><dc:identifier>978-3-16</dc:identifier>"
    epub(tmp_path / "a.epub", {"one.xhtml": "<p>No spark plug.</p>"}, told)
    with zipfile.ZipFile(tmp_path / "a.epub") as archive:
        members = {
            name: archive.read(name).decode().replace("<title/>", "<title>Diesel</title>")
            for name in archive.namelist()
        }
    zipped(tmp_path / "a.epub", members)
    book = one(tmp_path / "a.epub")
    assert (book.title, book.metadata["properties"]) == ("Engines: A history", {"Identifier": "978-3-16"})
    assert dict(book.omissions) == {"title of a page": len("Diesel")}


def test_both_lists_of_chapters_of_a_book_are_counted(tmp_path: Path) -> None:
    listed = '<nav><a href="one.xhtml">Diesel</a></nav>'
    chapters = {"nav.xhtml": listed, "one.xhtml": "<h1>Diesel</h1><p>No spark plug.</p>"}
    epub(tmp_path / "a.epub", chapters, nav="nav.xhtml", **{"OPS/toc.ncx": NCX})
    assert dict(one(tmp_path / "a.epub").omissions) == {"table of contents": len("Diesel") + len("Theboiler")}


def test_a_protected_or_damaged_book_is_refused(tmp_path: Path) -> None:
    cipher = '<CipherReference xmlns="http://www.w3.org/2001/04/xmlenc#" URI="OPS/{}"/>'
    lock = "<encryption>" + cipher + "</encryption>"
    epub(tmp_path / "font.epub", {"a.xhtml": "<p>words</p>"}, **{"META-INF/encryption.xml": lock.format("f.otf")})
    assert one(tmp_path / "font.epub").text == "words"
    epub(tmp_path / "drm.epub", {"a.xhtml": "<p>words</p>"}, **{"META-INF/encryption.xml": lock.format("a.xhtml")})
    assert refusal(tmp_path / "drm.epub") == "encrypted EPUB: the book is protected"
    zipped(tmp_path / "bare.epub", {"META-INF/container.xml": "<container/>"})
    assert "names no package" in refusal(tmp_path / "bare.epub")


# ---- RTF


def test_rtf_has_headings_tables_and_properties(tmp_path: Path) -> None:
    when = r"{\revtim\yr2024\mo5\dy1\hr10\min5}{\*\company Firm}"
    head = rf"{{\info{{\title {escaped('Die Größe')}}}{{\author Anna}}{{\creatim\yr2020\mo1\dy1}}{when}}}"
    table = r"\trowd a\cell b\cell\row \trowd c\cell\cell\row\pard"
    body = (
        r"{\header Page 1}\pard\s1 Engines\par\pard No \b spark\b0  plug.\line Next{\v hidden}.\par"
        rf"\pard\s2 Kinds\par\pard {table}{{\footnote Small.}}{{\pict 0102}}\bullet  One\par"
    )
    found = one(written(tmp_path, "a.rtf", rtf(body, head)))
    about = {"author": "Anna", "date": "2024-05-01T10:05:00", "properties": {"Company": "Firm"}}
    assert (found.title, found.metadata) == ("Die Größe", about)
    body = "Engines\n\nNo spark plug.\nNext.\n\nKinds\n\na | b\nc\n\n• One\n\nSmall.\n\nPage 1"
    assert found.text == f"{body}\n\nCompany: Firm"
    assert headings(found)[:3] == [("Engines", "Engines"), ("Kinds", "Kinds"), (None, "Page 1")]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"\'e4\'d6", "äÖ"),
        (r"{\f1 \'cf\'f0\'e8}\'e4", "Приä"),
        (r"\u1055?\u1088?", "Пр"),
        (r"\u-10179?\u-8704?", "😀"),
        (r"\uc2\u228\'c3\'a4b", "äb"),
        (r"{\uc0\u228 b}\u246?c", "äböc"),
        (r"a\~b\_c\\\{\}", "a\xa0b-c\\{}"),
        (r"{\*\unknown gone{\b too}}stays", "stays"),
        (r"{\upr{Muller}{\*\ud{M\u252?ller}}} says", "Müller says"),
        (r"so {\mmath{\*\moMath{\mf{\mfPr{\mtype bar}}{\mnum{\mr x}}}}{\mr =2}} holds", "so x=2 holds"),
        (r"{\field{\*\fldinst HYPERLINK x}{\fldrslt a link}}", "a link"),
        ("\\bin5 {{{}}kept", "kept"),
        ("{{{unclosed", "unclosed"),
    ],
)
def test_the_characters_of_rtf(body: str, text: str, tmp_path: Path) -> None:
    assert one(written(tmp_path, "a.rtf", rtf(body))).text == text


def test_rtf_is_known_by_its_beginning(tmp_path: Path) -> None:
    assert loaders.loader_for(written(tmp_path, "letter", rtf("words"))) == "rtf"
    assert refusal(written(tmp_path, "a.rtf", "words")) == "not an RTF document"


# ---- subtitles


def cue(start: int, text: str, lasts: int = 2) -> str:
    def clock(second: int) -> str:
        return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02},000"

    return f"1\n{clock(start)} --> {clock(start + lasts)}\n{text}\n\n"


def test_speech_is_in_paragraphs_under_their_times(tmp_path: Path) -> None:
    spoken = [(0, "It was"), (2, "<i>a kettle</i>."), (12, r"{\an8}After a pause."), (3720, "- Who?\n- Me.")]
    found = one(written(tmp_path, "a.srt", "".join(cue(*each) for each in spoken)))
    assert found.text == "0:00:00\nIt was a kettle.\n\n0:00:12\nAfter a pause.\n\n1:02:00\n- Who?\n- Me."
    assert [mark.heading for mark in found.marks] == ["0:00:00", "0:00:12", "1:02:00"]


def test_long_speech_is_cut_where_a_sentence_ends(tmp_path: Path) -> None:
    cues = "".join(cue(at, f"and {at}" if at != 40 else "the end.") for at in range(0, 200, 2))
    found = one(written(tmp_path, "a.srt", cues))
    assert [mark.heading for mark in found.marks] == ["0:00:00", "0:00:42", "0:02:14"]


def test_webvtt_has_speakers_entities_and_notes(tmp_path: Path) -> None:
    text = (
        "WEBVTT\n\nSTYLE\n::cue { color: red }\n\nNOTE not said\n\nintro\n00:01.000 --> 00:04.000 align:start\n"
        "<v Anna>Salt &amp; pepper<00:02.000>\n\n00:03.000 --> 00:05.000\nSalt &amp; pepper\nis all.\n"
    )
    assert one(written(tmp_path, "a.vtt", text)).text == "0:00:01\nAnna: Salt & pepper Salt & pepper is all."


def test_lines_that_captions_repeat_are_read_once(tmp_path: Path) -> None:
    rolling = cue(0, "one two") + cue(2, "one two\nthree four") + cue(4, "three four\nfive")
    assert one(written(tmp_path, "a.srt", rolling)).text == "0:00:00\none two three four five"


def test_a_hit_names_the_time(tmp_path: Path) -> None:
    written(
        tmp_path, "a.srt", cue(0, "Hello there. " * 40) + cue(100, "A kettle boils water. " * 30) + cue(5000, "Bye.")
    )
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.sync([tmp_path / "a.srt"])
        assert index.search("kettle", k=1)[0].heading == "0:01:40"


def test_no_times_no_subtitles(tmp_path: Path) -> None:
    assert "no subtitles" in refusal(written(tmp_path, "a.srt", "words\n"))


# ---- notebooks


def test_cells_are_pages_and_headings_go_on(tmp_path: Path) -> None:
    output = [
        {"output_type": "stream", "text": ["10 rows\n"]},
        {"output_type": "execute_result", "data": {"text/plain": "x" * 5000, "image/png": "AAAA"}},
        {"output_type": "error", "traceback": ["…"]},
    ]
    made = json.loads(
        notebook(
            ("markdown", "Intro\n# The **kettle** #\ntext\n```\n# no heading\n```"),
            ("code", "boil()\n"),
            ("markdown", "## [Pump](x)"),
            ("raw", "raw"),
            kernelspec={"language": "python"},
            authors=[{"name": "Anna"}, {"name": "Bo"}],
        )
    )
    made["cells"][1]["outputs"] = output
    found = one(written(tmp_path, "a.ipynb", json.dumps(made)))
    assert (found.title, found.metadata) == ("The kettle", {"author": "Anna, Bo", "language": "python"})
    code = "boil()\n\n10 rows\n\n" + "x" * 1000
    assert found.text == f"Intro\n\nThe kettle\n\ntext\n```\n# no heading\n```\n\n{code}\n\nPump\n\nraw"
    assert [(mark.page, mark.heading) for mark in found.marks] == [
        (1, None),
        (1, "The kettle"),
        (2, "The kettle"),
        (3, "Pump"),
        (4, "Pump"),
    ]


def test_notebooks_of_format_3_are_read(tmp_path: Path) -> None:
    cells = [{"cell_type": "heading", "source": "Old", "level": 1}, {"cell_type": "code", "input": ["a = 1"]}]
    found = one(written(tmp_path, "a.ipynb", json.dumps({"worksheets": [{"cells": cells}]})))
    assert (found.title, found.text) == ("Old", "Old\n\na = 1")


@pytest.mark.parametrize("content", ["{}", "[1]", "{", '{"cells": 7', "[" * 5000])
def test_what_is_no_notebook_is_refused(content: str, tmp_path: Path) -> None:
    assert "notebook" in refusal(written(tmp_path, "a.ipynb", content))


def test_cells_of_any_shape_cost_nothing_else(tmp_path: Path) -> None:
    cells = [None, {}, {"source": 7}, {"source": [1, "a"], "outputs": [None, {"data": []}, {"text": 3}]}]
    (found,) = all_of(written(tmp_path, "a.ipynb", json.dumps({"cells": cells})))
    assert isinstance(found, Document) and found.text == "a"


# ---- what costs a part costs no more, and is named


def broken_book(folder: Path, *, spine: str, items: str, **members: str) -> Path:
    namespace = 'xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    doctype = members.pop("doctype", "")
    opf = f"<?xml version='1.0'?>{doctype}<package {namespace}><metadata><dc:title>Book</dc:title></metadata>"
    opf += f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    container = members.pop(
        "container", "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles>"
    )
    if container:
        container += "<rootfile full-path='OEBPS/content.opf'/></rootfiles></container>"
    path = folder / "book.epub"
    with zipfile.ZipFile(path, "w") as archive:
        if container:
            archive.writestr("META-INF/container.xml", container)
        archive.writestr("OEBPS/content.opf", opf)
        for name, text in members.items():
            archive.writestr(f"OEBPS/{name.replace('_', '.')}", f"<html><body><p>{text}</p></body></html>")
    return path


def item(name: str, href: str, kind: str = "application/xhtml+xml") -> str:
    return f'<item id="{name}" href="{href}" media-type="{kind}"/>'


AB = '<itemref idref="a"/><itemref idref="b"/>'


def test_a_chapter_that_is_missing_costs_itself_and_is_named(tmp_path: Path) -> None:
    path = broken_book(tmp_path, spine=AB, items=item("a", "a.xhtml") + item("b", "b.xhtml"), a_xhtml="The heron.")
    missing, book = all_of(path)
    assert isinstance(missing, Skipped) and missing.path == "book.epub#OEBPS/b.xhtml"
    assert missing.reason == "a chapter cannot be read: not a readable EPUB: it has no OEBPS/b.xhtml"
    assert isinstance(book, Document) and (book.title, book.text) == ("Book", "The heron.")


def test_a_chapter_that_is_no_page_or_is_not_listed_is_named(tmp_path: Path) -> None:
    items = item("a", "a.xhtml") + item("b", "map.svg", "image/svg+xml")
    spine = f'{AB}<itemref idref="epilogue"/>'
    path = broken_book(tmp_path, spine=spine, items=items, a_xhtml="The heron.", map_svg="Of the marsh")
    *named, book = all_of(path)
    assert isinstance(book, Document) and book.text == "The heron."
    assert [(each.path, each.reason) for each in named if isinstance(each, Skipped)] == [
        ("book.epub#epilogue", "a chapter cannot be read: the book lists no such file"),
        ("book.epub#OEBPS/map.svg", "a chapter cannot be read: its type is image/svg+xml"),
    ]


@pytest.mark.parametrize(
    ("spine", "items"),
    [
        (AB, item("a", "A.XHTML") + item("b", "b.xhtml")),
        (AB, item("a", "a.xhtml", "text/xml") + item("b", "b.xhtml", "")),
        (AB, item("a", "a.xhtml#top") + item("b", "./b%2Exhtml")),
        ("", item("a", "a.xhtml") + item("b", "b.xhtml")),
        ('<itemref idref="gone"/>', item("a", "a.xhtml") + item("b", "b.xhtml") + item("c", "c.png", "image/png")),
    ],
)
def test_a_chapter_is_found_whatever_its_case_type_and_place(spine: str, items: str, tmp_path: Path) -> None:
    path = broken_book(tmp_path, spine=spine, items=items, a_xhtml="The heron.", b_xhtml="The stork.")
    assert one(path).text == "The heron.\n\nThe stork."


def test_a_book_may_name_its_type_and_lack_its_container(tmp_path: Path) -> None:
    doctype = '<!DOCTYPE package PUBLIC "+//ISBN 0-9673008-1-9//DTD OEB 1.2 Package//EN" "http://example.org/x.dtd">'
    items = item("a", "a.xhtml")
    spine = '<itemref idref="a"/>'
    path = broken_book(tmp_path, spine=spine, items=items, a_xhtml="The heron.", doctype=doctype, container="")
    assert one(path).text == "The heron."
    bomb = '<!DOCTYPE package [<!ENTITY a "aaaa">]>'
    assert "entities" in refusal(broken_book(tmp_path, spine=AB, items=items, a_xhtml="x", doctype=bomb))


def test_an_error_of_a_cell_is_read_without_its_colours(tmp_path: Path) -> None:
    trace = ["\x1b[0;31mTraceback\x1b[0m", "\x1b[0;31mNameError\x1b[0m: name 'heron' is not defined"]
    error = {"output_type": "error", "ename": "NameError", "evalue": "name 'heron' is not defined", "traceback": trace}
    shown = {"output_type": "display_data", "data": {"text/plain": "<IPython.core.display.Markdown object>",
             "text/markdown": "A **stork**"}}  # fmt: skip
    table = {"output_type": "display_data", "data": {"text/html": "<table>"}}
    long = {"output_type": "stream", "text": "x" * 1500}
    cell = {"cell_type": "code", "source": "heron", "outputs": [error, shown, table, long]}
    found = one(written(tmp_path, "a.ipynb", json.dumps({"cells": [cell]})))
    assert found.text == f"heron\n\nTraceback\nNameError: name 'heron' is not defined\n\nA **stork**\n\n{'x' * 1000}"
    assert found.omissions == (Omission("HTML result", 7), Omission("long result", 500))


def test_comments_in_markdown_are_counted_and_lines_stay(tmp_path: Path) -> None:
    code = "```html\n<!-- code -->\n```\n\n`<!-- span -->`\n"
    text = f"# Notes\n<!-- a\nsecret\n-->\nThe heron <!-- inline --> wades.\n\n{code}"
    found = one(written(tmp_path, "a.md", text))
    shown = f"# Notes\n\n\n\nThe heron  wades.\n\n{code}"
    assert (found.text, found.omissions) == (shown, (Omission("comment", 14 + 13),))


def test_a_result_that_has_only_html_is_the_text_of_that(tmp_path: Path) -> None:
    html = "<table><tr><td>heron</td><td>2</td></tr></table><script>draw()</script>"
    named = {"text/plain": "<birds.Table at 0x7f00>", "text/html": html, "application/json": "{}"}
    drawn = {"text/plain": "<Figure>", "image/png": "iVBOR", "application/x-plot": "data"}
    cell = {"cell_type": "code", "source": "show()", "outputs": [{"data": named}, {"data": drawn}]}
    found = one(written(tmp_path, "a.ipynb", json.dumps({"cells": [cell]})))
    assert found.text == "show()\n\nheron | 2\n\n<Figure>"
    assert found.omissions == (Omission("script", 6), Omission("picture", 0), Omission("data of a result", 4))


def test_other_forms_of_a_result_are_counted(tmp_path: Path) -> None:
    told = {"text/plain": "heron 2", "text/html": "<td>heron</td><td>two</td>"}
    cell = {"cell_type": "code", "source": "show()", "outputs": [{"data": told}]}
    found = one(written(tmp_path, "a.ipynb", json.dumps({"cells": [cell]})))
    assert (found.text, found.omissions) == ("show()\n\nheron 2", (Omission("alternative text", 8),))


def test_a_long_way_to_an_error_and_data_of_results_are_counted(tmp_path: Path) -> None:
    failed = {"output_type": "error", "ename": "KeyError", "evalue": "'heron'", "traceback": ["far", "away"]}
    drawn = {"data": {"text/plain": "<Figure>", "application/json": {"title": "Herons"}}}
    cell = {"cell_type": "code", "source": "show()", "outputs": [failed, drawn]}
    found = one(written(tmp_path, "a.ipynb", json.dumps({"cells": [cell]})))
    assert found.text == "show()\n\nKeyError: 'heron'\n\n<Figure>"
    assert found.omissions == (Omission("traceback", 7), Omission("data of a result", len('{"title":"Herons"}')))


def test_the_head_of_a_page_of_the_manual_is_metadata_and_its_macros_are_counted(tmp_path: Path) -> None:
    head = '.TH ODD 1 2024-05-01 "Odd tools 2" "User commands"\n.de XX\nsecret\n..\n'
    found = one(written(tmp_path, "odd.1", f"{head}.SH NAME\nodd \\- counts herons\n"))
    assert (found.title, found.text) == ("ODD(1)", "NAME\n\nodd - counts herons")
    assert found.metadata == {"date": "2024-05-01", "source": "Odd tools 2", "manual": "User commands"}
    assert found.omissions == (Omission("macro", 6),)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ('.IX Header "NAME"\ncounts herons\n.Sp\nand storks', "counts herons\n\nand storks"),
        (".Vb 2\n\\&  heron\n\\&    stork\n.Ve", "  heron\n    stork"),
        (".INDENT 0.0\nherons\n.UNINDENT\nstorks", "herons\n\nstorks"),
        (".de QS\n.in +2n\n..\n.QS\nherons\n.QS and storks", "herons and storks"),
    ],
    ids=["pod", "verbatim of pod", "docutils", "of the page"],
)
def test_names_of_macros_that_programs_write_into_a_page_of_the_manual_are_no_text(
    lines: str, text: str, tmp_path: Path
) -> None:
    assert one(written(tmp_path, "odd.1", f".TH ODD 1\n{lines}\n")).text == text


def test_comments_of_a_page_of_the_manual_and_what_printers_show_are_counted(tmp_path: Path) -> None:
    page = '.\\" an egret\n.TH ODD 1\n.SH NAME\nodd \\- counts herons \\" and storks\n.ie t a quill\n.el a screen\n'
    found = one(written(tmp_path, "odd.1", page + ".if t \\{\\\nin ink\n.\\}\n"))
    assert found.text == "NAME\n\nodd - counts herons a screen"
    assert dict(found.omissions) == {"comment": 7 + 9, "text for other devices": 6 + 5 + 3}


def test_a_page_of_an_archive_that_its_book_does_not_list_is_counted(tmp_path: Path) -> None:
    path = broken_book(tmp_path, spine=AB, items=item("a", "a.xhtml"), a_xhtml="The heron.", b_xhtml="A stork.")
    *_, book = all_of(path)
    assert isinstance(book, Document) and dict(book.omissions)["page that is no part of the book"] >= len("Astork.")


def test_all_authors_of_a_book_and_its_publisher_are_metadata(tmp_path: Path) -> None:
    named = "".join(f"<dc:creator>{name}</dc:creator>" for name in ("Anna", "Bo", "Anna"))
    named += "<dc:publisher>Heron House</dc:publisher><dc:contributor>Cy</dc:contributor>"
    epub(tmp_path / "a.epub", {"a.xhtml": "<p>The heron wades.</p>"}, named)
    about = one(tmp_path / "a.epub").metadata
    assert about == {"author": "Anna, Bo", "publisher": "Heron House", "contributor": "Cy"}


def test_what_stands_between_subtitles_is_counted(tmp_path: Path) -> None:
    said = cue(0, "The heron wades.") + cue(3, "The heron wades.") + "a stray line\n\n"
    found = one(written(tmp_path, "a.srt", said + "2\n0:00:09 --> 0:00:11\nIt is grey.\n\nAt last."))
    assert found.text == "0:00:00\nThe heron wades.\n\n0:00:09\nIt is grey."
    assert found.omissions == (Omission("repeated line", 14), Omission("text between the subtitles", 10 + 7))


def test_the_table_of_contents_is_counted_and_a_page_that_only_links_lead_to_is_read_last(tmp_path: Path) -> None:
    nav = "<nav><ol><li><a href='a.xhtml'>One</a></li></ol></nav>"
    pages = {"notes.xhtml": "<p>The heron is grey.</p>", "a.xhtml": "<p>The heron wades.</p>", "nav.xhtml": nav}
    epub(tmp_path / "a.epub", pages, nav="nav.xhtml")
    with zipfile.ZipFile(tmp_path / "a.epub") as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
    members["OPS/book.opf"] = members["OPS/book.opf"].replace('<itemref idref="notes.xhtml"/>', "")
    zipped(tmp_path / "a.epub", members)
    found = one(tmp_path / "a.epub")
    assert found.text.endswith("The heron wades.\n\nThe heron is grey.")
    assert found.omissions == (Omission("table of contents", 3),)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_rtf_of_two_bytes_a_letter_is_read(encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.rtf", rtf(r"The Größe of a 🎉 is 12.\par").encode(encoding))
    assert one(path).text == "The Größe of a 🎉 is 12."


def test_index_entries_and_parts_for_other_programs_are_named(tmp_path: Path) -> None:
    hidden = r"{\xe okapi}{\tc walrus}{\*\oddpart lynx {\b cat}}{\*\blipuid 00ff12}"
    document = one(written(tmp_path, "a.rtf", rtf(rf"The pump{hidden} runs.\par")))
    assert document.text == "The pump runs."
    assert document.omissions == (
        Omission("index entry", len("okapiwalrus")),
        Omission("part for other programs", len("lynxcat")),
    )


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        (
            "a.ics",
            "SUMMARY:About the oka\r\n pi in\r\n\t the cellar\r\nUID:1\r\n",
            "SUMMARY:About the okapi in the cellar\n\n\nUID:1\n",
        ),
        ("a.vcf", "FN:Anna Oka\n pi\n", "FN:Anna Okapi\n\n"),
        ("a.txt", "Anna Oka\n pi\n", "Anna Oka\n pi\n"),
        (
            "a.json",
            r'{"a": "Gr\u00f6\u00dfe \ud83c\udf89 \u000a \u0022 \\u00f6 \ud83c"}',
            r'{"a": "Größe 🎉 \u000a \u0022 \\u00f6 \ud83c"}',
        ),
        ("a.properties", r"name=Gr\u00f6\u00dfe", "name=Größe"),
        ("a.py", r'a = "Gr\u00f6"', r'a = "Gr\u00f6"'),
    ],
)
def test_words_that_a_format_has_folded_or_escaped_are_whole_and_lines_stay(
    name: str, content: str, text: str, tmp_path: Path
) -> None:
    assert one(written(tmp_path, name, content)).text == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Größe 12\n".encode() + "Kühlraum\n".encode("cp1252"), "Größe 12\nKühlraum\n"),
        ("Größe 12\nGröße 13\n".encode() + "Größ".encode()[:-1] + b"\n", "Größe 12\nGröße 13\nGrö\ufffd\n"),
        ("Kühl 12\n".encode("cp1252") * 3 + "é\n".encode(), "Kühl 12\n" * 3 + "é\n"),
        (b"The pump runs.\x1a", "The pump runs.\x1a"),
    ],
)
def test_lines_in_two_character_sets_are_both_read(content: bytes, text: str, tmp_path: Path) -> None:
    assert one(written(tmp_path, "a.log", content)).text == text


def test_a_text_with_a_byte_of_zero_is_not_taken_for_one_of_two_bytes_a_letter(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, "a.txt", b"a\0b okapi " * 3)) == "binary file"
