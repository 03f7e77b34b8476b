"""Each file type: its text, headings and metadata, and the reason why a bad file is refused."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest
from helpers.filemaking import all_of, docx, headings, odt, one, paragraph, pdf, refusal, sample, written
from helpers.hostile import FILES, nested_docx_tables, nested_odt_tables

from semsearch.documents import loaders
from semsearch.documents.loaders import Fields
from semsearch.documents.textless import Textless
from semsearch.errors import UnknownName, Unreadable, install_command
from semsearch.types import Document

# ---- which loader


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("page.html.en.utf8", "words", "html"),
        ("notes.md.bak", "words", "markdown"),
        ("report.pdf.txt", "words", "text"),
        ("README", "words", "text"),
        ("unknown.xyz", "words", "text"),
        ("page", "<!-- x -->\n<!DOCTYPE html><p>words", "html"),
        ("paper", b"%PDF-1.4 ...", "pdf"),
        ("records.jsonl", "{}", "jsonl"),
        ("base", b"SQLite format 3\0...", "sqlite"),
        ("empty", "", "text"),
    ],
)
def test_the_loader_is_chosen_by_suffix_else_by_content(
    tmp_path: Path, name: str, content: str | bytes, expected: str
) -> None:
    assert loaders.loader_for(written(tmp_path, name, content)) == expected


def test_from_files_reads_record_files_as_text(tmp_path: Path) -> None:
    assert loaders.loader_for(tmp_path / "a.jsonl", "files") == "text"
    assert loaders.loader_for(tmp_path / "a.md", "files") == "markdown"


def test_an_unknown_kind_offers_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'jsonl'"):
        loaders.loader_for(tmp_path / "a", "jsonll")


def test_binary_content_of_unknown_type_is_refused(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, "blob", b"abc\0def")) == "binary file"
    with zipfile.ZipFile(tmp_path / "other", "w") as archive:
        archive.writestr("a.txt", "words")
    assert refusal(tmp_path / "other") == "binary file (archive)"
    for begin, kind in (
        (b"7z\xbc\xaf", "archive"),
        (b"(\xb5/\xfd", "compressed with zstd"),
        (b"\xd0\xcf\x11\xe0", "Office 97"),
    ):
        assert refusal(written(tmp_path, "blob", begin + b"\0\1\2")).startswith(f"binary file ({kind}")


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.epub", "a.eml", "a.mbox", "a.ipynb", "a.xlsx"])
def test_an_empty_file_is_called_empty(tmp_path: Path, name: str) -> None:
    assert refusal(written(tmp_path, name, "")) == "the file is empty"


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    assert refusal(tmp_path / "gone.txt") == "No such file or directory"


# ---- text


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_is_read_exactly_and_newlines_become_one_kind(tmp_path: Path, codec: str) -> None:
    text = "Größe\r\nzwei\rdrei 文字\n"
    document = one(written(tmp_path, "a.txt", text.encode(codec)))
    assert document.text == "Größe\nzwei\ndrei 文字\n"
    assert document.lines and document.id == "" and document.metadata == {}


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("Le café était très agréable, où les élèves mangeaient des crêpes à volonté.", "cp1252"),
        ("It’s “quoted” – naïve text with a lot of plain English around it.", "cp1252"),
        ("Die Bäume blühen schön über der Straße.", "latin-1"),
        ("Это простой русский текст, который нужно распознать. Погода сегодня хорошая.", "cp1251"),
        ("Это простой русский текст, который нужно распознать. Погода сегодня хорошая.", "koi8-r"),
        ("これは日本語の文章です。文字コードを判定します。今日は良い天気ですね。", "shift_jis"),
        ("这是一个中文句子。今天天气很好，我们去公园。", "gb18030"),
    ],
)
def test_other_charsets_are_detected_and_noted(tmp_path: Path, text: str, codec: str) -> None:
    document = one(written(tmp_path, "a.txt", text.encode(codec)))
    assert document.text == text
    assert "charset" in document.metadata and "replaced" not in document.metadata


@pytest.mark.parametrize(
    ("suffix", "declaration", "charset"),
    [
        (".xml", '<?xml version="1.0" encoding="ISO-8859-2"?>\n', "iso8859-2"),
        (".py", "#!/usr/bin/python\n# -*- coding: iso-8859-2 -*-\n", "iso8859-2"),
        (".txt", "% vim: set fileencoding=cp852 :\n", "cp852"),
        (".po", 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=ISO-8859-2\\n"\n', "iso8859-2"),
        (".css", '@charset "windows-1250";\n', "cp1250"),
        (".tex", "\\documentclass{article}\n\\usepackage[latin2]{inputenc}\n", "iso8859-2"),
    ],
)
def test_a_text_is_read_in_the_character_set_that_it_declares(
    tmp_path: Path, suffix: str, declaration: str, charset: str
) -> None:
    text = f"{declaration}Żółw źle śpi.\n"
    document = one(written(tmp_path, f"a{suffix}", text.encode(charset)))
    assert "Żółw źle śpi." in document.text and "charset" not in document.metadata


def test_a_declared_character_set_that_cannot_be_is_not_believed(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="shift_jis"?>\nDie Bäume blühen schön, und der Käse schmeckt süß.\n'
    assert "Bäume blühen" in one(written(tmp_path, "a.xml", text.encode("cp1252"))).text


def test_a_few_invalid_bytes_cost_only_themselves(tmp_path: Path) -> None:
    document = one(
        written(tmp_path, "a.txt", "Größe, Länge, Fläche, Höhe, Breite, für, über ".encode() * 3 + b"\xff end")
    )
    assert document.text.endswith("über \ufffd end")
    assert document.metadata == {"charset": "utf-8", "replaced": 1}


@pytest.mark.parametrize("content", [b"text\0text", b"\xff\xfe\0\0", bytes(range(1, 32)) * 50])
def test_binary_in_a_text_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = written(tmp_path, "a.txt", content)
    if content != b"\xff\xfe\0\0":
        assert refusal(path) == "binary file"
    else:
        assert all_of(path) == [Textless("a.txt", "no text found in it", (), whole=True)]


# ---- Markdown

MARKDOWN = """---
title: My notes
date: 2024-05-01
year: 2024
draft: false
tags: [a, "b c", 3]
authors:
  - Ann
  - Bob
abstract: >
  not plain
quoted: 'x: y'
---
# First *heading* with [link](http://example.org)

Text.

```python
# a comment
```

Second
------
    # code

## `third` ##
"""


def test_markdown_headings_are_marks_and_code_is_none(tmp_path: Path) -> None:
    document = one(written(tmp_path, "a.md", MARKDOWN))
    assert document.text == MARKDOWN and document.lines
    assert headings(document) == [
        ("First heading with link", "# First *heading* with [link](http://example.org)"),
        ("Second", "Second"),
        ("third", "## `third` ##"),
    ]


def test_front_matter_is_metadata(tmp_path: Path) -> None:
    document = one(written(tmp_path, "a.md", MARKDOWN))
    assert document.title == "My notes"
    assert document.metadata == {
        "date": "2024-05-01",
        "year": 2024,
        "draft": False,
        "tags": ["a", "b c", 3],
        "authors": ["Ann", "Bob"],
        "quoted": "x: y",
    }


def test_front_matter_in_toml_is_metadata(tmp_path: Path) -> None:
    front = (
        'title = "Heaps"\ndate = 2024-05-01T10:00:00Z\nweight = 3\nmost = inf\ntags = ["a, b", "c"]\n[extra]\nx = 1\n'
    )
    document = one(written(tmp_path, "a.md", f"+++\n{front}+++\n\n# A heap\n"))
    assert document.title == "Heaps" and [mark.heading for mark in document.marks] == ["A heap"]
    assert document.metadata == {
        "date": "2024-05-01T10:00:00+00:00",
        "weight": 3,
        "most": None,
        "tags": ["a, b", "c"],
    }


def test_front_matter_in_toml_that_is_none_is_text(tmp_path: Path) -> None:
    document = one(written(tmp_path, "a.md", "+++\ntitle = Heaps\n+++\n\n# A heap\n"))
    assert document.title == "A heap" and document.metadata == {}


def test_without_front_matter_the_first_heading_is_the_title(tmp_path: Path) -> None:
    document = one(written(tmp_path, "a.md", "Text\n\n---\n\n# Later\r\n"))
    assert (document.title, document.metadata) == ("Later", {})


# ---- HTML

HTML = """<!DOCTYPE html><html><head><title>A  page &amp; more</title><style>p { color: red }</style></head>
<body class="x"><nav><ul><li><a href="/">Home of menus</a></ul></nav><div id="page-header"><p>Site banner</p></div>
<p><a href="/">Start</a> &gt; <a href="/docs">Docs of crumbs</a></p>
<main><h1>The <em>engine</em> <a class="permalink" href="#x">&para;</a></h1><!-- a <p>comment</p> -->
<p>First   paragraph,<br>next line. <span hidden>Unseen</span></p>
<ul><li>one<li><p>two</p></ul>
<dl><dt>Term<dd>Its meaning</dl>
<table><tr><th>Name<th>Value<tr><td>size<td><p>12</p></table>
<pre>def f():
    return 1 &lt; 2</pre>
<h2>More</h2><p title="a > b">Last words.</p><script>var x = "<p>not text</p>";</script></main>
<footer>Copyright nobody</footer><form><input><button>Search button</button></form></body></html>"""


def test_html_keeps_content_in_reading_order_and_drops_the_rest(tmp_path: Path) -> None:
    document = one(written(tmp_path, "a.html", HTML))
    assert document.text == (
        "The engine\n\nFirst paragraph,\nnext line.\n- one\n- two\n\nTerm\nIts meaning\n\nName | Value\nsize | 12\n\n"
        "def f():\n    return 1 < 2\n\nMore\n\nLast words."
    )
    assert headings(document) == [("The engine", "The engine"), ("More", "More")]
    assert document.title == "A page & more" and not document.lines


@pytest.mark.parametrize(
    ("content", "charset"),
    [
        ('<meta charset="iso-8859-2"><p>Žluťoučký kůň', "iso-8859-2"),
        ('<?xml version="1.0" encoding="windows-1251"?><html><p>Погода</html>', "cp1251"),
        ("<p>Größe für alle", "utf-8"),
    ],
)
def test_html_is_decoded_as_it_declares(tmp_path: Path, content: str, charset: str) -> None:
    document = one(written(tmp_path, "a.htm", content.encode(charset)))
    assert document.text in ("Žluťoučký kůň", "Погода", "Größe für alle") and document.metadata == {}


def test_a_page_that_is_a_form_or_a_menu_as_a_whole_is_kept(tmp_path: Path) -> None:
    assert one(written(tmp_path, "a.html", "<form><p>All the text</p></form>")).text == "All the text"
    assert "Alpha" in one(written(tmp_path, "b.html", "<ul class=menu><li><a href=a>Alpha</a><li>Beta</ul>")).text


HOSTILE = [
    "<",
    "<a ",
    "<!--",
    "<a b='",
    "</",
    "<script>",
    "<div>",
    "<b><p>",
    "<table>",
    "<ul><li>",
    "&amp",
    "<br>",
    "<![CDATA[",
    "<td>x",
    "<li>",
    "<h1>x",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_html_takes_linear_time(tmp_path: Path, unit: str) -> None:
    path = written(tmp_path, "a.html", unit * 30_000)
    begin = time.process_time()
    list(loaders.read("html", path, Fields()))
    assert time.process_time() - begin < 12  # about 1 s; html.parser needs minutes for some


def test_the_httpd_manual_keeps_bodies_code_tables_and_definitions(data: Path) -> None:
    document = one(data / "docs_httpd_html" / "caching.html.en.utf8")
    assert "offers a range of caching features that are designed to improve the performance" in document.text
    assert "Two-state key/value shared object caching\nThe shared object cache API (socache)" in document.text
    assert '\nCacheRoot   "/var/cache/apache/"\n' in document.text  # code as it stands
    names = [m.heading for m in document.marks]
    assert names[:3] == ["Caching Guide", "Introduction", "Three-state RFC2616 HTTP caching"]
    assert not any(word in document.text for word in ("Available Languages", "Sitemap", "comments_shortname", "¶"))


# ---- PDF


def test_pdf_pages_and_outline_are_marks(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    pdf(path, [["Engines", "First page."], ["Second page", "Fuel", "It burns."]], [("Engines", 0), ("Fuel", 1)])
    document = one(path)
    assert document.text == "Engines\nFirst page.\nSecond page\nFuel\nIt burns."
    assert [(m.page, m.heading) for m in document.marks] == [(1, "Engines"), (2, "Engines"), (2, "Fuel")]
    assert headings(document)[2][1] == "Fuel"


@pytest.mark.parametrize(("given", "title"), [("Untitled", ""), ("A Title of the Unknown", "A Title of the Unknown")])
def test_a_placeholder_is_not_the_title_of_a_pdf(given: str, title: str) -> None:
    from types import SimpleNamespace

    from semsearch.documents.loaders.pdf import _title

    assert _title(SimpleNamespace(get_metadata_value=lambda name: given)) == title


def test_words_hyphenated_at_a_line_end_are_joined_with_care(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    lines = ["An exam-", "ple of a well-", "known rule. It is well-known. From A-", "Z and 10-", "20."]
    pdf(path, [lines])
    text = " ".join(one(path).text.split())
    assert "An example of a well-known rule" in text
    assert "A-Z" in text and "10-20" in text


def test_bad_pdfs_are_refused_with_the_reason(tmp_path: Path, data: Path) -> None:
    assert refusal(written(tmp_path, "a.pdf", b"%PDF-1.4 garbage")).startswith("not a readable PDF: ")
    pdf(tmp_path / "scan.pdf", [[""]])
    assert refusal(tmp_path / "scan.pdf").startswith("no text in this PDF (a scan?): `index --ocr eng`")
    samples = data / "docs_pdf_samples"
    locked = samples / "005-libreoffice-writer-password" / "libreoffice-writer-password.pdf"
    assert refusal(locked) == "encrypted PDF: it needs a password"


def test_all_public_samples_are_read_or_refused_with_a_reason(data: Path) -> None:
    read, refused = {}, {}
    for path in sorted((data / "docs_pdf_samples").rglob("*.[po]d[ft]")):
        try:
            read[f"{path.parent.name}/{path.name}"] = one(path)
        except Unreadable as error:
            refused[f"{path.parent.name}/{path.name}"] = error.message
    assert len(read) == 26 and len(refused) == 8
    assert {m.page for m in read["009-pdflatex-geotopo/GeoTopo-komprimiert.pdf"].marks if not m.furniture} == set(
        range(1, 118)
    )
    assert "consetetur sadipscing" in read["002-trivial-libre-office-writer/source.odt"].text
    assert "takimata" in read["001-trivial/minimal-document.pdf"].text  # broken at a line end on the page


# ---- DOCX, ODT


def test_docx_keeps_reading_order_tables_lists_and_headings(tmp_path: Path) -> None:
    table = "<w:tbl><w:tr>" + "".join(f"<w:tc>{paragraph(c)}</w:tc>" for c in ("Name", "Value")) + "</w:tr></w:tbl>"
    deleted = (
        "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins><w:r><w:t>kept</w:t></w:r></w:ins></w:p>"
    )
    listed = "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>item</w:t></w:r></w:p>"
    control = f"<w:sdt><w:sdtContent>{paragraph('In a control.')}</w:sdtContent></w:sdt>"
    docx(
        tmp_path / "a.docx",
        paragraph("Chapter", "berschrift1")
        + paragraph("Text.")
        + table
        + deleted
        + listed
        + control
        + paragraph("Next", "Own"),
    )
    document = one(tmp_path / "a.docx")
    assert document.text == "Chapter\n\nText.\n\nName | Value\n\nkept\n- item\n\nIn a control.\n\nNext"
    assert headings(document) == [("Chapter", "Chapter"), ("Next", "Next")]
    assert document.title == "Chapter"


def test_docx_is_read_as_python_docx_reads_it(tmp_path: Path) -> None:
    made = pytest.importorskip("docx").Document()
    made.add_heading("The title", 0)
    made.add_heading("A heading", 1)
    made.add_paragraph("Plain text with umlauts: Größe.")
    made.add_paragraph("A bullet", style="List Bullet")
    table = made.add_table(2, 2)
    for at, cell in enumerate(c for row in table.rows for c in row.cells):
        cell.text = f"cell {at}"
    made.add_paragraph("The end.")
    made.core_properties.title = "Named"
    made.save(str(tmp_path / "a.docx"))
    document = one(tmp_path / "a.docx")
    assert document.title == "Named"
    assert document.text == (
        "The title\n\nA heading\n\nPlain text with umlauts: Größe.\n- A bullet\n\n"
        "cell 0 | cell 1\ncell 2 | cell 3\n\nThe end."
    )
    assert [m.heading for m in document.marks] == ["The title", "A heading"]


def test_odt_keeps_lists_tables_and_spaces(tmp_path: Path) -> None:
    row = "<table:table-row>" + "".join(
        f"<table:table-cell><text:p>{c}</text:p></table:table-cell>" for c in ("a", "b")
    )
    odt(
        tmp_path / "a.odt",
        "<text:h>Head</text:h><text:p>One<text:s text:c='2'/>two<text:note><text:p>foot</text:p></text:note> three"
        "</text:p><text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>"
        f"<table:table>{row}</table:table-row></table:table>",
    )
    document = one(tmp_path / "a.odt")
    assert document.text == "Head\n\nOne  two three\n\nfoot\n- item\n\na | b"
    assert headings(document) == [("Head", "Head")]


@pytest.mark.parametrize("kind", ["docx", "odt"])
def test_bad_archives_are_refused(tmp_path: Path, kind: str) -> None:
    good = sample(kind, tmp_path)
    assert refusal(written(tmp_path, f"a.{kind}", good.read_bytes()[:-30])).startswith("not a readable ")
    assert refusal(written(tmp_path, f"b.{kind}", "words")).startswith("not a readable ")
    member = {"docx": "word/document.xml", "odt": "content.xml"}[kind]
    with zipfile.ZipFile(tmp_path / f"c.{kind}", "w") as archive:
        archive.writestr(member, '<!DOCTYPE a [<!ENTITY b "ccc">]><a>&b;</a>')
    assert "entities" in refusal(tmp_path / f"c.{kind}")


def test_a_zip_bomb_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "bomb.docx", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("word/document.xml", "w") as member,
    ):
        for _ in range(101):
            member.write(b" " * 2**20)
    assert refusal(tmp_path / "bomb.docx") == "word/document.xml unpacks to more than 100 MB"


def test_a_missing_optional_package_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pypdfium2", None)
    with pytest.raises(Unreadable) as caught:
        list(loaders.read("pdf", sample("pdf", tmp_path), Fields()))
    assert caught.value.message == f"needs pypdfium2: {install_command('docs')}"


# ---- nested tables, long headings


@pytest.mark.parametrize("depth", [2, 200])
def test_the_text_of_nested_tables_is_read_once(tmp_path: Path, depth: int) -> None:
    docx(tmp_path / "a.docx", nested_docx_tables(depth))
    odt(tmp_path / "a.odt", nested_odt_tables(depth))
    words = " ".join(f"word{at}" for at in range(depth))
    assert one(tmp_path / "a.docx").text == one(tmp_path / "a.odt").text == words


def test_a_table_in_a_cell_is_part_of_its_row(tmp_path: Path) -> None:
    def row(*cells: str) -> str:
        return f"<w:tr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr>"

    inner = f"<w:tbl>{row(paragraph('b'), paragraph('c'))}{row(paragraph('d'), paragraph('e'))}</w:tbl>"
    outer = row(paragraph("a"), inner + paragraph("f")) + row(paragraph("g"), paragraph("h"))
    docx(tmp_path / "a.docx", f"<w:tbl>{outer}</w:tbl>")
    assert one(tmp_path / "a.docx").text == "a | b c d e f\ng | h"


def test_a_heading_is_cut_and_its_text_is_not(tmp_path: Path) -> None:
    words = "word " * 200
    document = one(written(tmp_path, "a.html", f"<h1>{words}</h1><p>Text.</p>"))
    assert document.text == f"{words.strip()}\n\nText."
    assert [len(mark.heading or "") for mark in document.marks] == [299]


def test_headings_of_a_large_markdown_file_are_found_by_their_lines(tmp_path: Path) -> None:
    begin = "# First [link](x) ##\n```\n# code\n```\n   ## Second\n~~~~\n~~~\n# code\n~~~~\n#none\n"
    short = one(written(tmp_path, "a.md", begin))
    assert headings(one(written(tmp_path, "b.md", begin + "word\n" * 200_000))) == headings(short)


@pytest.mark.parametrize("content", ["# " + "[" * 400_000, "# " + "[](" * 150_000, "# a" + " " * 400_000 + "b"])
def test_hostile_markdown_takes_linear_time(tmp_path: Path, content: str) -> None:
    path = written(tmp_path, "a.md", content)
    begin = time.process_time()
    one(path)
    assert time.process_time() - begin < 5  # 0.1 s; one pattern took an hour


def test_a_tag_with_more_attributes_than_a_page_needs_loses_them(tmp_path: Path) -> None:
    tag = "<p " + " ".join(f"a{at}=1" for at in range(40_000)) + ">"
    begin = time.process_time()
    (document,) = loaders.read("html", written(tmp_path, "a.html", f"{tag}Text.</p>"), Fields())
    assert isinstance(document, Document) and document.text == "Text."
    assert time.process_time() - begin < 5  # 0.1 s; with the attributes 25 s


def test_the_reason_for_a_pdf_whose_pages_are_a_loop_is_short(tmp_path: Path) -> None:
    FILES["loop.pdf"](tmp_path / "a.pdf")
    assert refusal(tmp_path / "a.pdf") == "not a readable PDF: none of its 100,000 pages can be read"


# ---- texts in other character sets, without a word about which


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Perché è così? La città è più bella, però."),
        ("cp1252", "Temperatur: 20 °C ± 2 µm, § 5"),
        ("cp1252", "Þetta er það, og við förum í göngutúr á æfingu."),
        ("mac_roman", "Grüße aus Köln: „Käse“ für alle"),
        ("mac_roman", "À l’été, les élèves étudient déjà près de la forêt."),
        ("mac_roman", "“Hello,” she said, “don’t go.” It’s the café’s fault."),
        ("cp850", "Smørrebrød på åen, æblegrød og øl."),
        ("cp850", "A situação não é fácil, mas há uma solução."),
        ("cp1254", "Işık hızı çok yüksektir. Şeker için teşekkür ederim, değil mi?"),
        ("cp1250", "Az időjárás gyönyörű, és elmegyünk sétálni a parkba."),
        ("cp1250", "În fiecare zi mergem la şcoală şi învăţăm lucruri frumoase."),
        ("cp1250", "Život je čudan: šuma, kuća, đak i žena."),
        ("iso8859_2", "Żółw śpi w łóżku, a gęś się śmieje; źle zrobił ćwiczenie."),
        ("iso8859_2", "Příliš žluťoučký kůň úpěl ďábelské ódy."),
        ("cp1257", "Šiandien graži diena, mes einame į mišką rinkti uogų."),
        ("cp874", "วิธีทำความสะอาดเครื่องชงกาแฟ ควรล้างหัวชงทุกวันหลังใช้งาน"),
        ("cp866", "Привет, как дела? Сегодня хорошая погода."),
        ("mac_cyrillic", "Насос в подвале. Если он течёт, закройте вентиль. Яков знает."),
        ("mac_cyrillic", "Якщо він тече, зателефонуйте Ганні. Їжа стоїть на столі."),
        ("cp1251", "Насос в подвале. Если он течёт, закройте вентиль. Яков знает."),
        ("hz", "今天天气很好，我们去公园散步，然后喝咖啡。"),
        ("iso2022_kr", "오늘은 날씨가 좋아서 공원에서 산책을 합니다."),
    ],
)
def test_a_text_is_read_in_the_character_set_of_its_language(text: str, encoding: str, tmp_path: Path) -> None:
    assert one(written(tmp_path, "a.txt", text.encode(encoding))).text == text


def test_vietnamese_of_windows_whose_tones_are_letters_of_their_own_is_read(tmp_path: Path) -> None:
    data = b"M\xe1y b\xf5m trong t\xe2\xccng h\xe2\xccm chi\xd2 cha\xf2y; ng\xfd\xf5\xcci qua\xd2n ly\xec."
    assert one(written(tmp_path, "a.txt", data)).text == "Máy bơm trong tầng hầm chỉ chạy; người quản lý."


def test_letters_of_a_neighbouring_set_are_taken_for_no_other_one(tmp_path: Path) -> None:
    for at, text in enumerate(["Köln, München, Olé", "põe na mesa", "café ~{x} ~/bin", "naïve Señor Björk Ångström"]):
        assert one(written(tmp_path, f"{at}.txt", text.encode("cp1252"))).text == text


# ---- texts with NUL


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    ["No mark about a cockatoo", "Größe 12, und mehr davon", "日本語 2024 の文章 です、 はい", "Ночь и день в 5 км\n"],
)
def test_utf16_without_a_mark_is_a_text(text: str, encoding: str, tmp_path: Path) -> None:
    found = one(written(tmp_path, "a.txt", text.encode(encoding)))
    assert (found.text, found.metadata["charset"]) == (text, encoding)


def test_a_log_with_a_run_of_nul_is_a_text_and_its_lines_stay(tmp_path: Path) -> None:
    path = written(tmp_path, "a.log", b"start of log\n" + b"\0" * 4096 + b"after power loss a parakeet error\n")
    found = one(path)
    assert (found.text, found.metadata) == ("start of log\n\ufffdafter power loss a parakeet error\n", {"replaced": 1})


@pytest.mark.parametrize(
    "content",
    [
        b"".join(name.ljust(100, b"\0") + b"0000644\0" * 3 + b"ustar\0" + b"\0" * 250 for name in (b"a.txt", b"b.txt")),
        bytes(number % 7 for number in range(4000)),
        b"".join(number.to_bytes(2, "little") for number in range(3000)),
        b"\0" * 1000,
    ],
)
def test_other_files_with_nul_are_binary(content: bytes, tmp_path: Path) -> None:
    assert refusal(written(tmp_path, "file", content)) == "binary file"
