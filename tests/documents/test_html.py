"""What of a page is content, and what is left out and counted."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from helpers.filemaking import one, written

from semsearch.documents import loaders
from semsearch.documents.parsing.html_page import Content, text_of, tree
from semsearch.documents.textless import Textless
from semsearch.types import Document, Mark, Omission

FILLER = "".join(
    f"<p>Paragraph {n} explains a part of the client in plain words for new readers.</p>" for n in range(9)
)
WORDS = ["pagination", "cookies", "sharing", "navigation", "footer", "modal", "menu", "header", "language-menu"]
WORDS += ["subscribe", "site-navigation", "share-a-folder", "adding-a-footer", "header-row", "toc", "sidebar", "banner"]


def page(tmp_path: Path, body: str) -> Document:
    return one(written(tmp_path, "page.html", f"<!DOCTYPE html><html><body>{body}</body></html>"))


def left_out(document: Document) -> dict[str, int]:
    return {each.kind: each.letters for each in document.omissions}


@pytest.mark.parametrize("main", ["main", "article", "div"])
@pytest.mark.parametrize("attribute", ["id", "class"])
@pytest.mark.parametrize("word", WORDS)
def test_a_section_with_a_heading_is_content_whatever_it_is_called(
    tmp_path: Path, word: str, attribute: str, main: str
) -> None:
    section = f'<section {attribute}="{word}"><h2>The {word}</h2><p>It shows the okapi.</p></section>'
    document = page(tmp_path, f"<{main}>{FILLER}{section}</{main}>")
    assert f"The {word}\n\nIt shows the okapi." in document.text
    assert document.omissions == ()


@pytest.mark.parametrize("word", ["footer", "page-footer", "site_footer"])
def test_a_short_box_without_a_heading_stands_last_by_its_id_and_stays(tmp_path: Path, word: str) -> None:
    box = f'<div id="{word}">Text may be copied freely. Last changed by the editors.</div>'
    document = page(tmp_path, f"<div>{FILLER}</div>{box}")
    (last,) = (mark for mark in document.marks if mark.furniture)
    assert document.text[last.start :] == "Text may be copied freely. Last changed by the editors."
    inside = page(tmp_path, f"<main>{FILLER}{box}</main>")
    assert not any(mark.furniture for mark in inside.marks)


@pytest.mark.parametrize("word", WORDS)
def test_ids_say_nothing_and_classes_nothing_within_main_and_article(tmp_path: Path, word: str) -> None:
    assert "okapi" in page(tmp_path, f'{FILLER}<div id="{word}"><p>It shows the okapi.</p></div>').text
    for main in ("<main>", "<article>", '<div role="main">'):
        within = page(tmp_path, f'{main}{FILLER}<div class="{word}"><p>It shows the okapi.</p></div>')
        assert ("okapi" in within.text, within.omissions) == (True, ())


KEPT = [
    '<div class="alert alert-warning" role="alert"><h4>Warning</h4><p>Keep the walrus volume.</p></div>',
    '<div class="alert" role="alert">Keep the walrus volume.</div>',
    '<aside class="admonition note"><p>Keep the walrus volume.</p></aside>',
    '<div class="admonition tip"><p class="title">Tip</p><p>Keep the walrus volume.</p></div>',
    '<aside class="footnote-list"><aside role="doc-footnote"><p>Keep the walrus volume.</p></aside></aside>',
    "<article><header><h2>Review</h2><p>Keep the walrus volume.</p></header></article>",
    "<section><header><p>Keep the walrus volume.</p></header></section>",
    "<blockquote>Quoted <footer>Keep the walrus volume.</footer></blockquote>",
    '<div role="tabpanel" hidden>Keep the walrus volume.</div>',
    '<div class="tab-pane fade" style="display: none">Keep the walrus volume.</div>',
    '<button aria-controls="a">Show</button><div id="a" hidden>Keep the walrus volume.</div>',
    '<div class="mw-collapsible-content" style="display:none">Keep the walrus volume.</div>',
    '<div hidden="until-found">Keep the walrus volume.</div>',
    "<details><summary>More</summary>Keep the walrus volume.</details>",
    '<h3><button aria-expanded="false">Keep the walrus volume.</button></h3>',
    "<form><p>Keep the walrus volume.</p></form>",
]


@pytest.mark.parametrize("box", KEPT)
@pytest.mark.parametrize("main", ["main", "article", "div"])
def test_boxes_of_the_content_stay(tmp_path: Path, box: str, main: str) -> None:
    assert "Keep the walrus volume." in page(tmp_path, f"<{main}>{FILLER}{box}{FILLER}</{main}>").text


DROPPED = [
    ('<script>a("lynx")</script>', "script", 9),
    ('<script type="application/ld+json">{"a":"lynx"}</script>', "structured data", 12),
    ("<style>.lynx {}</style>", "style", 7),
    ("<noscript>The lynx needs a script.</noscript>", "noscript", 20),
    ("<template><p>lynx</p></template>", "template", 4),
    ('<svg><text x="1">lynx</text></svg>', "picture", 4),
    ('<img src="a.png" alt="A lynx">', "picture", 5),
    ("<p hidden>lynx</p>", "hidden text", 4),
    ('<p style="display:none">lynx</p>', "hidden text", 4),
    ("<dialog>lynx</dialog>", "hidden text", 4),
    ("<button>Buy a lynx</button>", "form control", 8),
    ("<select><option>lynx</select>", "form control", 4),
    ('<nav><a href="/">lynx</a> <a href="/b">b</a></nav>', "navigation", 5),
    ('<div role="navigation"><h3>More</h3><a href="/">lynx, ocelot</a></div>', "navigation", 15),
    ('<div role="search"><label>lynx</label></div>', "search form", 4),
]


@pytest.mark.parametrize(("box", "kind", "letters"), DROPPED)
@pytest.mark.parametrize("main", ["main", "div"])
def test_what_no_reader_takes_for_text_is_left_out_and_counted(
    tmp_path: Path, box: str, kind: str, letters: int, main: str
) -> None:
    document = page(tmp_path, f"<{main}>{FILLER}{box}</{main}>")
    assert "lynx" not in document.text
    assert left_out(document) == {kind: letters}


AROUND = [
    ("<header>Site of the lynx</header>", "header"),
    ("<footer>© lynx</footer>", "footer"),
    ('<div class="site-footer">© lynx</div>', "footer"),
    ('<div class="cookie-banner">The lynx uses cookies. OK?</div>', "cookie banner"),
    ('<div class="sidebar"><a href="/">lynx</a> and more</div>', "navigation"),
    ('<p><a href="/">Home</a> &gt; <a href="/l">lynx</a></p>', "navigation"),
]


@pytest.mark.parametrize(("box", "kind"), AROUND)
def test_boxes_around_the_content_are_left_out_and_counted(tmp_path: Path, box: str, kind: str) -> None:
    for body in (f"{box}<main>{FILLER}</main>", f"{box}<div>{FILLER}</div>"):
        document = page(tmp_path, body)
        assert "lynx" not in document.text
        assert list(left_out(document)) == [kind]


def test_a_box_beside_the_main_part_stays_where_it_has_a_heading_and_is_no_list_of_links(tmp_path: Path) -> None:
    heading = "<section><h2>Opening hours</h2><p>The okapi sleeps at noon.</p></section>"
    links = '<section><h2>Links</h2><a href="/a">the lynx of the north</a></section>'
    document = page(tmp_path, f"<main>{FILLER}</main>{heading}{links}<div>lynx</div>")
    assert "Opening hours\n\nThe okapi sleeps at noon." in document.text
    assert left_out(document) == {"text beside the main part": 5 + 17 + 4}


def test_a_short_list_of_links_stays_with_the_text_around_it(tmp_path: Path) -> None:
    document = page(
        tmp_path, f'<main>{FILLER}<ul><li><a href="/a">lynx</a><li><a href="/b">ocelot</a></ul>{FILLER}</main>'
    )
    assert "- lynx\n- ocelot" in document.text and not any(mark.furniture for mark in document.marks)


def test_long_text_around_the_content_is_read_after_it(tmp_path: Path) -> None:
    imprint = "The okapi association is registered in the north and answers letters on Mondays. " * 4
    for box in (f"<footer>{imprint}</footer>", f'<div class="menu">{imprint}</div>'):
        document = page(tmp_path, f"<main>{FILLER}</main>{box}")
        assert document.text.count("okapi") == 4
        assert document.marks[-1].furniture and document.omissions == ()
    beside = page(tmp_path, f"<main>{FILLER}</main><div><p>{imprint}</p></div>")
    assert beside.text.count("okapi") == 4 and not any(mark.furniture for mark in beside.marks)


def test_cards_that_are_links_as_a_whole_are_content(tmp_path: Path) -> None:
    teaser = "It sleeps until noon and then eats leaves of four kinds, which it finds by their smell in the wood."
    cards = "".join(f'<a href="/{n}"><h3>Okapi {n}</h3><p>{teaser}</p></a>' for n in range(3))
    document = page(tmp_path, f"<div>{FILLER}</div><div>{cards}</div>")
    assert "Okapi 2" in document.text and not any(mark.furniture for mark in document.marks)


def test_a_template_that_is_shown_is_content(tmp_path: Path) -> None:
    assert (
        "okapi"
        in page(tmp_path, f'{FILLER}<div><template shadowrootmode="open"><p>The okapi.</p></template></div>').text
    )


def test_a_page_that_consists_of_lists_of_links_keeps_them(tmp_path: Path) -> None:
    sections = "".join(
        f'<div class="section"><h3><a href="/{name}">{name}</a></h3><ul><li><a href="/1">The {name} guide</a></li>'
        f'<li><a href="/2">All about {name}s</a></li></ul></div>'
        for name in ("okapi", "walrus", "heron")
    )
    assert "The heron guide" in page(tmp_path, f"<h1>Site map</h1>{sections}").text


LINKS = '<a href="/a">The lynx of the north</a>{gap}<a href="/b">The lynx of the south</a>'
FURNITURE = [
    f"<ul><li>{LINKS.format(gap='</li><li>')}</li></ul>",
    f"<div>{LINKS.format(gap=' | ')}</div>",
    f"<section><h2>See</h2><p>{LINKS.format(gap='<br>')}</p></section>",
    f"<table><tr><td><ul><li>{LINKS.format(gap='<li>')}</ul></td></tr></table>",
    f"<table><tr><td>{LINKS.format(gap='</td><td>')}</td></tr></table>",
]


@pytest.mark.parametrize("box", FURNITURE)
def test_lists_of_links_within_the_content_are_read_as_furniture(tmp_path: Path, box: str) -> None:
    document = page(tmp_path, f"<main><p>The first walrus.</p>{box}<p>The last walrus.</p></main>")
    marked = [
        document.text[mark.start : after.start]
        for mark, after in pairwise([*document.marks, Mark(len(document.text))])
        if mark.furniture
    ]
    assert document.omissions == ()
    assert document.text.startswith("The first walrus.") and document.text.endswith("The last walrus.")
    assert len(marked) == 1 and marked[0].count("lynx") == 2 and "walrus" not in marked[0]


@pytest.mark.parametrize(
    "box",
    [
        '<p>See <a href="/a">the lynx</a> and <a href="/b">the ocelot</a> for more about cats of the north.</p>',
        '<h2><a href="/a">One lynx</a></h2>',
        '<ul><li><a href="/a">The lynx</a>: lives up north, hunts hares.<li><a href="/b">Ocelot</a>: does not.</ul>',
        '<table><tr><td><p><a href="/a">1</a> <a href="/b">2</a></p></td><td>cells of a row of data</td></tr></table>',
        '<div><h2><a href="/a">One lynx</a></h2><p>It lives up north, in woods.</p></div>',
        '<div><h2><a href="/a">The lynx is back in the Harz mountains</a></h2></div>',
    ],
)
def test_text_with_links_is_no_furniture(tmp_path: Path, box: str) -> None:
    document = page(tmp_path, f"<main><p>The first walrus.</p>{box}<p>The last walrus.</p></main>")
    assert not any(mark.furniture for mark in document.marks)


def test_a_word_with_soft_hyphens_is_one_word(tmp_path: Path) -> None:
    assert page(tmp_path, "<p>Donau&shy;dampf\u00adschiff</p>").text == "Donaudampfschiff"


def test_tabs_beside_each_other_are_words_of_their_own(tmp_path: Path) -> None:
    tabs = "<button role=tab>Windows</button><button role=tab>macOS</button>"
    assert page(tmp_path, f"<main>{FILLER}<div role=tablist>{tabs}</div></main>").text.endswith("Windows macOS")


def test_a_page_of_frames_is_the_text_for_those_who_have_none(tmp_path: Path) -> None:
    frames = (
        '<html><head><title>F</title></head><frameset><frame src="a"><noframes><body><p>Okapi</p></body></noframes>'
    )
    document = one(written(tmp_path, "a.html", f"{frames}</frameset></html>"))
    assert (document.text, document.title, document.omissions) == ("Okapi", "F", ())


@pytest.mark.parametrize(
    ("body", "only"),
    [
        (
            '<noscript>Enable JavaScript.</noscript><div id="root"></div><script>go()</script>',
            "noscript (17 letters), script (4 letters)",
        ),
        ('<img src="a.png"><img src="b.png" alt="">', "picture"),
        ('<script type="application/ld+json">{"a": 1}</script>', "structured data (7 letters)"),
    ],
)
def test_a_page_without_text_says_what_it_has_instead(tmp_path: Path, body: str, only: str) -> None:
    (item,) = loaders.load(written(tmp_path, "app.html", f"<html><body>{body}</body></html>"))
    assert isinstance(item, Textless)
    assert item.reason == f"no text found in it, only {only}"


@pytest.mark.parametrize(
    "head",
    ['<script>go()</script><script src="app.js"></script>', "<script>g(</script><title>App</title><script>o)</script>"],
)
def test_a_page_with_its_script_in_the_head_says_so(tmp_path: Path, head: str) -> None:
    (item,) = loaders.load(written(tmp_path, "app.html", f"<html><head>{head}</head><body><i></i></body></html>"))
    assert isinstance(item, Textless)
    assert item.reason == "no text found in it, only script (4 letters)"


@pytest.mark.parametrize("box", ['role="doc-endnotes"', 'class="footnotes"', 'class="post-endnotes"', 'role="note"'])
def test_notes_below_the_main_part_stay(tmp_path: Path, box: str) -> None:
    document = page(tmp_path, f"<main>{FILLER}</main><section {box}><ol><li>Measured in March.</li></ol></section>")
    assert "Measured in March." in document.text and document.omissions == ()


def test_of_the_httpd_manual_every_letter_is_read_or_named(data: Path) -> None:
    def letters(text: str) -> Counter[str]:
        return Counter("".join(text.split()).replace("\u00ad", ""))

    whole = missing = 0
    for file in sorted((data / "docs_httpd_html").rglob("*.html*"))[::10]:
        root = tree(file.read_text(encoding="utf-8", errors="replace"))
        document = text_of(Content(root)).document("", {})
        present = letters("".join(root.find("body").itertext()))
        named = sum(each.letters for each in document.omissions if each.kind != "picture")
        whole += present.total()
        missing += max(0, (present - letters(document.text)).total() - named)
    assert whole > 100_000
    assert missing < whole / 1000


@pytest.mark.parametrize(
    "box",
    [
        "<footer><p>The okapi house is open from nine to five.</p></footer>",
        '<div class="menu"><p>Okapi soup</p><p>Grilled ocelot</p></div>',
        '<div class="social-security">An okapi may retire at sixty.</div>',
        '<div class="banner"><p>The okapi moves on Monday. <a href="/where">Where to</a></p></div>',
        '<div class="more"><h3>You may also like</h3><p><a href="/archive">The okapi archive</a></p></div>',
    ],
)
def test_a_statement_around_the_content_is_read_and_stands_last(tmp_path: Path, box: str) -> None:
    document = page(tmp_path, f"<div>{FILLER}</div>{box}")
    assert "kapi" in document.text and document.omissions == ()
    assert document.marks[-1].furniture and document.text[document.marks[-1].start :].count("kapi") == 1


@pytest.mark.parametrize("hidden", ["style='display:none'", "aria-hidden='true'", "hidden"])
@pytest.mark.parametrize("element", ["body", "div"])
def test_what_is_most_of_a_page_is_read_though_a_script_has_to_show_it(
    hidden: str, element: str, tmp_path: Path
) -> None:
    content = f"<{element} {hidden}>{FILLER}<p>It shows the okapi.</p></{element}>"
    document = one(written(tmp_path, "a.html", f"<html>{content}<div role='dialog'>Subscribe</div></html>"))
    assert "It shows the okapi." in document.text and "hidden text" not in left_out(document)


@pytest.mark.parametrize(
    ("part", "kind", "letters"),
    [
        ('<iframe srcdoc="<p>okapi</p>"></iframe>', "embedded object", len("<p>okapi</p>")),
        ('<input value="okapi"><input type="hidden" value="x"><input type="checkbox" value="y">', "form control", 7),
        ('<input list="a"><datalist id="a"><option value="okapi"></datalist>', "form control", 5),
        ('<select><optgroup label="okapi"><option>x</option></optgroup></select>', "form control", 6),
        ('<table summary="okapi"><tr><td>x</td></tr></table>', "summary of a table", 5),
        ('<b data-tooltip="okapi" data-theme="dark">x</b>', "text for scripts", 5),
        ('<b data-x="an okapi" aria-hidden="false">x</b>', "text for scripts", 7),
        ('<nav aria-label="okapi"></nav>', "label for screen readers", 5),
        ('<button title="okapi"></button>', "tooltip", 5),
        ('<input type="search" placeholder="an okapi">', "form control", 7),
        ('<math><mi>x</mi><annotation encoding="tex">okapi</annotation></math>', "source of a formula", 5),
    ],
)
def test_what_a_page_has_in_attributes_or_beside_a_formula_is_named(
    part: str, kind: str, letters: int, tmp_path: Path
) -> None:
    document = page(tmp_path, f"{FILLER}<p>Here: {part}</p>")
    assert ("okapi" in document.text, left_out(document)) == (False, {kind: letters})


def test_what_the_head_of_a_page_says_is_metadata_or_named(tmp_path: Path) -> None:
    metas = {"article:tag": "okapi", "citation_author": "Anna", "abstract": "On herons", "generator": "Pelican 4"}
    head = "".join(f'<meta name="{name}" content="{said}">' for name, said in metas.items())
    head += '<meta property="article:tag" content="walrus"><noscript>Switch it on</noscript>'
    head += '<script type="application/ld+json">{"a": 1}</script><script>run()</script>'
    found = one(written(tmp_path, "a.html", f"<html><head>{head}</head><body><p>{FILLER}</p></body></html>"))
    assert found.metadata == {"keywords": "okapi, walrus", "author": "Anna"}
    head += '<meta name="keywords" content="walrus, heron">'
    both = one(written(tmp_path, "b.html", f"<html><head>{head}</head><body><p>{FILLER}</p></body></html>"))
    assert both.metadata["keywords"] == "walrus, heron"
    assert left_out(both)["metadata of the page"] == len("Onherons") + len("okapi")
    assert left_out(found) == {
        "metadata of the page": len("Onherons"),
        "noscript": len("Switchiton"),
        "structured data": len('{"a":1}'),
    }


@pytest.mark.parametrize(
    "note", ['<a href="#n1">1</a>', '<a href="n.html#n1"><sup>1</sup></a>', '<sup><a href="#n">*</a></sup>']
)
def test_the_number_of_a_note_is_no_part_of_the_word_before_it(note: str, tmp_path: Path) -> None:
    assert page(tmp_path, f"<p>The kettle{note} boils.</p>").text.startswith("The kettle ")


def test_what_a_style_in_the_head_adds_to_elements_is_counted(tmp_path: Path) -> None:
    style = """<style>.a::before { content: "Okapi: " } .b:after{content:'\\f101'} .c { color: red }</style>"""
    found = one(written(tmp_path, "a.html", f"<html><head>{style}</head><body><p>{FILLER}</p></body></html>"))
    assert left_out(found) == {"style": len("Okapi:")}


@pytest.mark.parametrize("reading", ["<rt>kan</rt>", "<rp>(</rp><rt>kan</rt><rp>)</rp>"])
def test_the_reading_of_a_word_stands_in_brackets(reading: str, tmp_path: Path) -> None:
    assert page(tmp_path, f"<p>The <ruby>word{reading}</ruby> ends.</p>").text == "The word(kan) ends."


def test_japanese_of_seven_bits_is_read_as_declared_or_not(tmp_path: Path) -> None:
    text = "会議は木曜日です。"
    content = f'<html><head><meta charset="iso-2022-jp"></head><body><p>{text}</p></body></html>'
    assert one(written(tmp_path, "a.html", content.encode("iso2022_jp"))).text == text
    assert one(written(tmp_path, "a.txt", text.encode("iso2022_jp"))).text == text
    assert one(written(tmp_path, "b.txt", "Red: \x1b[31m costs \x1b[0m $B")).text == "Red: \x1b[31m costs \x1b[0m $B"


def test_what_an_abbreviation_stands_for_follows_it_once_and_other_tooltips_are_counted(tmp_path: Path) -> None:
    meant = '<abbr title="World Heron Organization">WHO</abbr>'
    page = (
        f'<p>The {meant}, <acronym title="at work">AW</acronym>. {meant} counts <a title="Opens" href="a">them</a>.</p>'
    )
    found = one(written(tmp_path, "a.html", page))
    assert found.text == "The WHO (World Heron Organization), AW (at work). WHO counts them."
    assert found.omissions == (Omission("tooltip", 5),)


def test_comments_are_counted_wherever_they_stand(tmp_path: Path) -> None:
    page = "<!-- one --><html><body><p>The heron <!-- two -->waits.</p><!-- three --></body></html><!-- four -->"
    found = one(written(tmp_path, "a.html", page))
    assert (found.text, found.omissions) == ("The heron waits.", (Omission("comment", len("onetwothreefour")),))


def test_labels_that_only_a_screen_reader_says_are_counted(tmp_path: Path) -> None:
    found = one(written(tmp_path, "a.html", '<p>The heron <a href="b" aria-label="Next page">waits</a>.</p>'))
    assert (found.text, found.omissions) == ("The heron waits.", (Omission("label for screen readers", 8),))


def test_a_title_for_previews_is_counted_or_is_the_title_of_a_page_without_one(tmp_path: Path) -> None:
    about = '<meta property="og:title" content="Kettles of brass"><meta name="twitter:title" content="Tea">'
    document = one(written(tmp_path, "a.html", f"<head><title>Tea</title>{about}</head><p>Hot.</p>"))
    assert document.title == "Tea" and left_out(document) == {"title for previews": 14}
    assert one(written(tmp_path, "b.html", f"<head>{about}</head><p>Hot.</p>")).title == "Kettles of brass"
