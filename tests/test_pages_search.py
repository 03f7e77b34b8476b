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

APP = Path(__file__).resolve().parents[1] / "ui" / "app.py"
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
    page = AppTest.from_file(APP, default_timeout=60)
    for name, value in ({"q": query} if query else {}).items() | url.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def titles(page: AppTest) -> list[str]:
    """Of the hits; of the nearest miss with another lead."""
    return [each.value.replace("\\", "") for each in page.markdown if re.match(r"\*\*\d", each.value)]


def html(page: AppTest) -> str:
    """All that is shown as HTML, but for the fixed text that puts the cursor into the box."""
    from semsearch_ui.search import KEYS

    return "".join(each.proto.body for each in page.get("html") if each.proto.body.strip() != KEYS.strip())


def chosen(page: AppTest, label: str, at: int = 0) -> Any:
    return [each for each in page.button if each.label == label][at]


def test_without_an_index_the_page_says_how_to_make_one(home: Path) -> None:
    page = shown()
    assert "no index yet" in page.info[0].value
    assert "semsearch index" in page.code[0].value


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


@pytest.mark.parametrize(
    "url", [{"mode": "nonsense"}, {"k": "-3"}, {"k": "many"}, {"f.year": "x"}, {"min": "7"}, {"n": "gone"}]
)
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
    assert page.info[0].value == "Nothing was found."
    assert any("Without the filters" in each.value for each in page.markdown)


@pytest.mark.parametrize("where", ["year >", "nosuch = 3", "year > 'x"])
def test_a_filter_that_does_not_parse_is_a_sentence_and_no_traceback(where: str, notes: Path) -> None:
    page = shown("engine", where=where)
    assert len(page.error) == 1
    assert "Traceback" not in page.error[0].value


def test_a_hit_opens_in_its_document_and_closes_again(notes: Path) -> None:
    page = shown("diesel engine")
    pieces = len(page.get("html"))
    chosen(page, "Open").click().run()
    assert len(page.get("html")) == pieces + 1
    chosen(page, "Close").click().run()
    assert len(page.get("html")) == pieces


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
    assert any(r"\=cmd\.txt" in each.value for each in page.markdown)


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


def test_a_download_runs_in_no_spreadsheet() -> None:
    from semsearch_ui.foot import COLUMNS, table

    row = dict.fromkeys(COLUMNS, None) | {"path": "=cmd|' /C calc'!A0", "text": '-1+1,"\nx', "score": -0.5}
    (_, cells) = csv.reader(io.StringIO(table([row])))
    found = dict(zip(COLUMNS, cells, strict=True))
    assert found["path"].startswith("'=")
    assert found["text"] == "'-1+1,\"\nx"
    assert found["score"] == "-0.5"
