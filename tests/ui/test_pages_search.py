"""The search page: what a person sees for what they do, and that nothing of a document is ever markup."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("streamlit")
pytest.importorskip("semsearch_ui")
from streamlit.testing.v1 import AppTest

from semsearch import Document, Index

APP = Path(__file__).resolve().parents[2] / "ui" / "app.py"
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> **bold** [link](javascript:alert(3)) :red[red] $x$"
DOCUMENTS = [
    Document("cars/diesel.txt", "A diesel engine ignites fuel by compression.", {"year": 1990, "lang": "en"}),
    Document("cars/petrol.txt", "A petrol engine ignites fuel with a spark plug.", {"year": 2000, "lang": "en"}),
    Document("brot.txt", "Brot braucht Salz und Zeit, und einen heißen Ofen.", {"year": 2010, "lang": "de"}),
    Document("=cmd.txt", f"{HOSTILE} carburettor", {"year": 2020, "lang": "en"}, title=HOSTILE),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    import streamlit as st

    monkeypatch.setenv("SEMSEARCH_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    st.cache_resource.clear()
    st.cache_data.clear()


@pytest.fixture
def notes(home: Path) -> Path:
    with Index.create("notes", encoder="hashing") as index:
        index.add(DOCUMENTS)
    return home / "notes"


def shown(query: str = "", **url: Any) -> AppTest:
    """The page, opened at a URL."""
    page = AppTest.from_file(APP, default_timeout=120)
    for name, value in ({"q": query} if query else {}).items() | url.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def titles(page: AppTest) -> list[str]:
    """Of the hits; of the nearest miss with another lead."""
    return [each.value.replace("\\", "") for each in page.markdown if re.match(r"\*\*\d", each.value)]


def html(page: AppTest) -> str:
    """All that is shown as HTML, but for the scripts, which hold no data."""
    from semsearch_ui.shared.scripts import INLINE

    return "".join(each.proto.body for each in page.get("html") if each.proto.body not in INLINE)


def chosen(page: AppTest, label: str, at: int = 0) -> Any:
    return [each for each in page.button if each.label == label][at]


def test_without_an_index_the_page_says_how_to_make_one(home: Path) -> None:
    assert "no index yet" in shown().info[0].value


def test_an_empty_index_is_no_reason_to_try_other_words(home: Path) -> None:
    Index.create("notes", encoder="hashing").close()
    page = shown("fuel")
    said = [each.value.replace("\\", "") for each in page.info]
    assert said == ["There is no document in here yet. Add some on the page Documents."]


def test_a_question_shows_its_hits_with_place_strength_and_marked_words(notes: Path) -> None:
    page = shown("diesel engine")
    assert titles(page)[0] == "**1. diesel.txt**"
    assert "<mark>diesel</mark>" in html(page)
    assert any("cosine" in each.value and "BM25" in each.value for each in page.caption)
    assert any("encoded in" in each.value and "cpu" in each.value for each in page.caption)


def test_a_search_comes_back_from_its_url(notes: Path) -> None:
    page = shown("engine", mode="keyword", k="1", **{"f.lang": "en"}, path="cars/*", more="fuel ^0.5")
    assert len(titles(page)) == 1
    assert page.segmented_control(key="mode").value == "keyword"
    assert page.multiselect(key="f.lang").value == ["en"]
    assert page.multiselect(key="more").value == ["fuel ^0.5"]


@pytest.mark.parametrize("url", [{"mode": "nonsense"}, {"k": "-3"}, {"k": "many"}, {"f.year": "x"}, {"min": "7"}])
def test_a_url_with_values_that_cannot_be_is_no_error(url: dict[str, str], notes: Path) -> None:
    page = shown("engine", **url)
    assert not page.error
    assert titles(page)


def test_filters_come_from_the_metadata_and_leave_only_what_fits(notes: Path) -> None:
    page = shown("engine")
    page.multiselect(key="f.lang").set_value(["de"]).run()
    assert titles(page) == ["**1. brot.txt**"]
    page.multiselect(key="f.lang").set_value([]).run()
    page.slider(key="f.year").set_value((1995, 2005)).run()
    assert titles(page) == ["**1. petrol.txt**"]


def test_more_like_this_adds_a_chip_with_a_weight_and_changes_the_ranking(notes: Path) -> None:
    page = shown("engine", mode="semantic")
    before = titles(page)
    page.multiselect(key="less").set_value(["diesel compression ^2"]).run()
    assert not page.exception
    assert titles(page) != before
    chosen(page, "More like this").click().run()
    assert page.session_state["more"][0].startswith("#")


def test_what_has_to_be_loosened_is_said_with_the_nearest_miss(notes: Path) -> None:
    page = shown("engine", where="year > 3000")
    assert page.info[0].value == "Nothing was found\\."
    assert any("Without the filters" in each.value for each in page.markdown)


@pytest.mark.parametrize("where", ["year >", "nosuch = 3", "year > 'x"])
def test_a_filter_that_does_not_parse_is_a_sentence_and_no_traceback(where: str, notes: Path) -> None:
    page = shown("engine", where=where)
    assert len(page.error) == 1
    assert "Traceback" not in page.error[0].value


def test_a_hit_opens_in_its_document_and_closes_again(notes: Path) -> None:
    page = shown("diesel engine")
    assert html(page).count('class="passage whole"') == 0
    chosen(page, "Open").click().run()
    assert html(page).count('class="passage whole"') == 1
    chosen(page, "Close").click().run()
    assert html(page).count('class="passage whole"') == 0


def test_nothing_of_a_document_is_markup(notes: Path) -> None:
    page = shown("carburettor")
    chosen(page, "Open").click().run()
    assert "<script" not in html(page)
    assert "<img" not in html(page)
    assert "&lt;script&gt;" in html(page)
    for each in (*page.markdown, *page.caption):
        assert not each.allow_html
        assert "](javascript" not in each.value
        assert "<script" not in each.value.replace("\\<", "")
    assert any(r"\<script\>" in each.value for each in page.markdown)  # its title
    assert any(r"\=cmd\.txt" in each.value for each in page.caption)


def test_an_index_that_was_made_anew_is_the_one_that_is_searched(notes: Path) -> None:
    import shutil

    page = shown("diesel engine")
    shutil.rmtree(notes)
    with Index.create("notes", encoder="hashing") as index:
        index.add([Document("new.txt", "Another diesel engine.")])
    page.run()
    assert titles(page) == ["**1. new.txt**"]
    shutil.rmtree(notes)
    page.run()
    assert not page.exception


def test_what_another_process_adds_is_found_at_the_next_search(notes: Path) -> None:
    page = shown("zeppelin", mode="keyword")
    assert not titles(page)
    with Index.open("notes", encoder="hashing") as index:
        index.add([Document("air.txt", "A zeppelin has a frame.")])
    page.run()
    assert titles(page) == ["**1. air.txt**"]


def test_several_indexes_are_searched_together(notes: Path) -> None:
    with Index.create("others", encoder="hashing") as index:
        index.add([Document("o.txt", "A diesel engine in another index."), Document("p.txt", "Bread.")])
    page = shown("diesel engine")
    assert {"**1. diesel.txt**", "**2. o.txt**"} <= set(titles(page)) or "**1. o.txt**" in titles(page)
    chosen(page, "More like this").click().run()
    assert not page.error
    assert "/" in page.session_state["more"][0]  # both indexes have a passage of this number
    page.multiselect(key="more").set_value([]).run()
    page.multiselect(key="n").set_value(["others"]).run()
    assert titles(page)[0] == "**1. o.txt**"
    assert "**2. diesel.txt**" not in titles(page)


def test_a_wrong_index_in_the_url_is_named_and_no_other_is_searched(notes: Path) -> None:
    page = shown("engine", n="gone")
    assert "There is no index gone" in page.warning[0].value and not titles(page)
    chosen(page, "Search all indexes").click().run()
    assert titles(page) and not page.warning


def test_every_page_has_the_same_current_index(notes: Path) -> None:
    Index.create("empty", encoder="hashing").close()
    with Index.create("others", encoder="hashing") as index:
        index.add([Document("o.txt", "A diesel engine in another index."), Document("p.txt", "Bread.")])
    page = shown("engine", n="others")
    assert all("n=others" in link.proto.query_string for link in page.get("page_link"))
    page.query_params = {}  # as by a link without it
    for name in ("documents", "map", "indexes", "evaluate"):
        opened_at(page, name)
        chooser = page.multiselect(key="n").value[0] if name == "evaluate" else page.selectbox(key="n").value
        assert chooser == "others", name
    opened_at(page, "documents").selectbox(key="n").select("notes").run()
    assert page.query_params["n"] == "notes"
    page.query_params = {}
    assert opened_at(page, "").multiselect(key="n").value == ["notes"]


def opened_at(page: AppTest, name: str) -> AppTest:
    """Another page of the app, in the same session."""
    [page._page_hash] = [at for at, info in page._registered_pages.items() if info.get("url_pathname") == name]
    page.run()
    assert not page.exception
    return page


def test_a_card_is_compact_and_a_weak_hit_looks_weak(notes: Path) -> None:
    page = shown("diesel engine")
    assert any(each.value == "**semsearch**" for each in page.sidebar.markdown)
    assert page.text_input(key="path").placeholder.startswith("e.g. ")
    badges = [each.value for each in page.markdown if "strength" in each.value]
    assert len(badges) == 4
    assert all(("gray" in each) == ("weak" in each or "no match" in each) for each in badges)


def test_a_download_runs_in_no_spreadsheet() -> None:
    from semsearch_ui.search.footer import COLUMNS
    from semsearch_ui.shared.tables import to_csv

    row = dict.fromkeys(COLUMNS, None) | {"path": "=cmd|' /C calc'!A0", "text": '-1+1,"\nx', "score": -0.5}
    (_, cells) = csv.reader(io.StringIO(to_csv([row], COLUMNS)))
    found = dict(zip(COLUMNS, cells, strict=True))
    assert found["path"].startswith("'=")
    assert found["text"] == "'-1+1,\"\nx"
    assert found["score"] == "-0.5"


class Counting:
    """What went through the encoders of the pages: the queries, one by one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from semsearch.encoders.encoder import Encoder

        self.queries: list[str] = []
        whole = Encoder.encode

        def encode(encoder: Encoder, sentences: Any, *arguments: Any, **options: Any) -> Any:
            self.queries += list(sentences) if options.get("role") == "query" else []
            return whole(encoder, sentences, *arguments, **options)

        monkeypatch.setattr(Encoder, "encode", encode)


def foot(page: AppTest) -> str:
    [told] = [each.value for each in page.caption if "encoded in" in each.value]
    return str(told)


def test_another_mode_weight_filter_or_number_of_hits_encodes_nothing_again(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = Counting(monkeypatch)
    page = shown("diesel engine", weigh="true")
    assert counting.queries == ["diesel engine"]
    assert "query encoded in" in foot(page)
    assert " ms · searched" in foot(page)
    for change in (
        lambda: page.slider(key="alpha").set_value(0.1),
        lambda: page.number_input(key="k").set_value(3),
        lambda: page.segmented_control(key="mode").set_value("semantic"),
        lambda: page.multiselect(key="f.lang").set_value(["en"]),
    ):
        change().run()
        assert not page.exception
        assert "earlier search, not again" in foot(page)
    assert counting.queries == ["diesel engine"]
    page.multiselect(key="more").set_value(["fuel ^0.5"]).run()
    assert counting.queries == ["diesel engine", "fuel"]


def test_to_open_a_hit_searches_nothing_again(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = shown("diesel engine")
    asked = []
    monkeypatch.setattr(Index, "search", lambda *_, **__: asked.append(1))
    chosen(page, "Open").click().run()
    assert not page.exception
    assert not asked
    assert len(titles(page)) == 4


def test_a_hit_says_what_meaning_and_what_words_gave_to_its_score(notes: Path) -> None:
    page = shown("diesel engine")
    shares = re.findall(r"meaning (\d+)%, words (\d+)%", html(page))
    assert len(shares) >= 2
    assert all(99 <= int(one) + int(other) <= 101 for one, other in shares)
    assert int(shares[0][1]) > 0 == int(shares[-1][1])  # only the first has the words
    assert "meaning" not in html(shown("diesel engine", mode="semantic"))


def test_what_an_index_tells_of_kinds_dates_lists_and_flags_can_be_chosen(home: Path, tmp_path: Path) -> None:
    import os
    from datetime import date

    files = tmp_path / "files"
    files.mkdir()
    for name, day in (("old.txt", 1_600_000_000), ("new.md", 1_700_000_000)):
        (files / name).write_text("About a diesel engine.")
        os.utime(files / name, (day, day))
    with Index.create("notes", encoder="hashing") as index:
        index.sync(files)
        index.add([Document("a", "One diesel engine.", {"tags": ["x", "y"], "draft": True, "due": "2024-01-31"})])
        index.add([Document("b", "Two of a diesel engine.", {"tags": ["z"], "draft": False, "due": "2024-03-01"})])
        index.add([Document(f"m{n}", f"Bread {n}", {"author": f"Author {n}"}) for n in range(41)])
    chosen_now: dict[str, tuple[str, Any]] = {
        "b.loader": ("multiselect", ["markdown"]),
        "f.tags": ("multiselect", ["y", "q"]),
        "f.draft": ("segmented_control", "no"),
        "f.due": ("date_input", (date(2024, 2, 1), date(2024, 3, 1))),
        "f.author": ("text_input", "author 17"),
    }
    found = {"b.loader": "new", "f.tags": "a", "f.draft": "b", "f.due": "b", "f.author": "m17"}
    for key, (kind, value) in chosen_now.items():
        page = shown("diesel engine")
        value = [one for one in value if one != "q"] if key == "f.tags" else value
        getattr(page, kind)(key=key).set_value(value).run()
        assert titles(page) == [f"**1. {found[key]}**"], key
    page = shown("diesel engine")
    page.date_input(key="b.date").set_value((date.fromtimestamp(1_600_000_000), date(2021, 1, 1))).run()
    assert titles(page) == ["**1. old**"]


def test_that_one_index_has_no_good_match_is_said_only_where_none_has() -> None:
    from semsearch_ui.search import hits, results

    class Said(list[str]):
        warnings: tuple[str, ...] = ()

    good, poor = Said(["hit"]), Said(["hit"])
    poor.warnings = ("no good match: the best strength is 0.10, and a likely match has 0.9 or more.", "a scan was slow")
    both = results.Answer((), {"notes": good, "others": poor}, {})
    assert hits._warnings(both) == ["others: a scan was slow"]
    assert len(hits._warnings(results.Answer((), {"others": poor}, {}))) == 2


def test_a_field_that_one_of_two_indexes_has_keeps_the_other_from_nothing(notes: Path) -> None:
    with Index.create("others", encoder="hashing") as index:
        index.add([Document("o.txt", "A diesel engine in another index.")])
    page = shown("diesel engine", **{"f.lang": "en"})
    assert "**1. diesel.txt**" in titles(page)
    assert any("others was not searched" in each.value for each in page.warning)
    assert not page.error


COPIES = [Document(f"{name}.txt", "Press the red button to stop the engine at once, then wait.") for name in "abc"]


def test_near_copies_unfold_and_each_opens(home: Path) -> None:
    with Index.create("notes", encoder="hashing") as index:
        index.add([*COPIES, Document("d.txt", "Bread needs salt.")])
    page = shown("red button engine")
    assert titles(page)[0] == "**1. a.txt**"
    assert not any("c.txt" in each.value.replace("\\", "") for each in page.caption)
    chosen(page, "2 near copies").click().run()
    assert all(any(name in each.value.replace("\\", "") for each in page.caption) for name in ("b.txt", "c.txt"))
    chosen(page, "Open", 2).click().run()
    assert not page.exception
    assert html(page).count('class="passage whole"') == 1
    chosen(page, "2 near copies").click().run()
    assert not any("c.txt" in each.value.replace("\\", "") for each in page.caption)


def test_the_other_passages_of_a_document_are_a_click_away(home: Path) -> None:
    with Index.create("notes", encoder="hashing") as index:
        parts = [f"Part {n} tells of a diesel engine. " + f"It has the mark {n}. " * 60 for n in range(3)]
        index.add([Document("long.txt", "\n\n".join(parts)), Document("d.txt", "Bread needs salt.")])
    page = shown("diesel engine")
    [more] = [each for each in page.button if each.label.endswith("more in this document")]
    count = int(more.label.split()[0])
    before = html(page).count('class="passage"')
    more.click().run()
    assert html(page).count('class="passage"') == before + count


def test_the_nearest_miss_is_shown_and_a_click_loosens(notes: Path) -> None:
    page = shown("diesel engine", where="year > 3000", **{"f.lang": "de"})
    assert any(each.value.startswith("**Best: diesel") for each in page.markdown)
    chosen(page, "Search without the filters").click().run()
    assert titles(page)[0] == "**1. diesel.txt**"
    assert page.text_input(key="where").value == ""
    assert page.multiselect(key="f.lang").value == []


def test_least_strength_is_loosened_alone_where_that_is_enough(notes: Path) -> None:
    page = shown("diesel engine", min="1", path="cars")
    chosen(page, "Search without the minimum strength").click().run()
    assert titles(page)[0] == "**1. diesel.txt**"
    assert page.text_input(key="path").value == "cars"


@pytest.fixture
def papers(home: Path, tmp_path: Path) -> Path:
    from helpers import filemaking

    pytest.importorskip("pypdfium2")
    folder = tmp_path / "papers"
    folder.mkdir()
    told = ("Bread needs salt and time.", "A diesel engine ignites fuel.", "A knot holds a rope.")
    filemaking.pdf(folder / "paper.pdf", [[one] * 45 for one in told])
    with Index.create("notes", encoder="hashing") as index:
        index.sync(folder)
    return folder


def test_a_pdf_opens_at_its_page_and_can_be_leafed_through(papers: Path) -> None:
    page = shown("diesel engine ignites", group="passage")
    chosen(page, "Open").click().run()
    assert len(page.get("image")) == 1
    assert any(each.value == "page 2 of 3" for each in page.caption)
    chosen(page, "Next page").click().run()
    assert any(each.value == "page 3 of 3 · the passage is on page 2" for each in page.caption)
    assert chosen(page, "Next page").disabled


def test_a_pdf_that_has_changed_shows_its_text_and_says_why_not_its_page(papers: Path) -> None:
    (papers / "paper.pdf").write_bytes(b"something else")
    page = shown("diesel engine ignites", group="passage")
    chosen(page, "Open").click().run()
    assert not page.get("image")
    assert any("has changed since" in each.value for each in page.info)
    assert 'class="passage whole"' in html(page)


def test_a_hit_is_told_by_its_documents_title_and_which_record_of_a_file_it_is(notes: Path, tmp_path: Path) -> None:
    file = tmp_path / "papers.csv"
    file.write_text("id,title,abstract\n7,Of carburettors,How air and fuel are mixed.\n8,Of brakes,How a car stops.\n")
    with Index.create("papers", encoder="hashing") as index:
        index.sync(file)
    page = shown("fuel", n="papers", mode="keyword")
    assert titles(page) == ["**1. Of carburettors**"]
    assert any("papers.csv · 7" in each.value.replace("\\", "") for each in page.caption)


def test_a_passage_is_read_from_its_own_side(notes: Path) -> None:
    assert "unicode-bidi: plaintext" in html(shown("diesel engine"))
