"""The map: an index in two dimensions, its groups and their names, what is chosen there, and what nearly agrees."""

from __future__ import annotations

import json
import threading
import zlib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest
from helpers.pages import HOSTILE, PATIENCE, again, ended, opened, until
from streamlit.testing.v1 import AppTest

from semsearch import Document, Index, MissingExtra, Query, SemsearchError
from semsearch.analysis import layout, umap_process
from semsearch.errors import install_command
from semsearch_ui.map import actions, layouts, selection, topics
from semsearch_ui.map import canvas as space_canvas
from semsearch_ui.map import points as space_points
from semsearch_ui.shared import last_search
from semsearch_ui.shared.work import background, jobs

PAGE = """
import streamlit as st
from semsearch_ui.map import page as space_map
from semsearch_ui.search import page as search
st.navigation([st.Page(search.page, title="Search", url_path="search", default=True)])
space_map.page()
"""
TOPICS = {
    "cars": ["diesel engine", "engine fuel", "fuel of a diesel", "petrol engine fuel", "engine and diesel"],
    "bread": ["flour and salt", "salt in bread", "bread flour", "yeast bread salt", "flour yeast"],
    "birds": ["wings of a falcon", "falcon feathers", "feathers and wings", "falcon wings fly", "feathers fly"],
}
DOCUMENTS = [
    Document(f"notes/{topic}/{at}.txt", text, {"topic": topic, "year": 1990 + at})
    for topic, texts in TOPICS.items() for at, text in enumerate(texts)
]  # fmt: skip


@pytest.fixture(autouse=True)
def without_umap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only tests of UMAP have it: it would be computed on every map."""
    monkeypatch.setattr(layouts, "missing", lambda: MissingExtra("UMAP", "map", "umap-learn").fix)


@dataclass(frozen=True)
class Drawn:
    """What the browser is given to draw."""

    head: dict[str, Any]
    places: np.ndarray[Any, Any]
    levels: np.ndarray[Any, Any]
    days: np.ndarray[Any, Any]
    told: list[tuple[str, str]]

    @staticmethod
    def of(data: bytes) -> Drawn:
        size = int.from_bytes(data[:4], "little")
        head = json.loads(data[4 : 4 + size])
        count, rest = head["count"], data[4 + size :]
        assert size % 4 == 0  # the browser reads numbers behind it
        end = 12 * count + (4 * count if head["times"] else 0)
        lines = zlib.decompress(rest[end:]).decode().split("\n")
        path_and_text = [(line.split("\t")[0], line.split("\t")[1]) for line in lines]
        places = np.frombuffer(rest[: 8 * count], "<f4").reshape(count, 2)
        levels, days = (np.frombuffer(part, "<f4") for part in (rest[8 * count : 12 * count], rest[12 * count : end]))
        return Drawn(head, places, levels, days, path_and_text)


@pytest.fixture
def charts(monkeypatch: pytest.MonkeyPatch) -> list[Drawn]:
    """The maps that the page draws, the newest last."""
    found: list[Drawn] = []
    monkeypatch.setattr(space_canvas, "_show", lambda data, **_: found.append(Drawn.of(data)))
    return found


def made(documents: list[Document], name: str = "notes") -> Path:
    with Index.create(name, encoder="hashing") as index:
        index.add(documents)
        return index.path


def shown(**url: str) -> AppTest:
    """The page, opened at a URL."""
    return opened(PAGE, **url)


def waited(page: AppTest) -> AppTest:
    """The page once what is computed beside it is there."""
    until(lambda: not any(each.icon == ":material/hourglass_top:" for each in again(page).info))
    return page


def listed(page: AppTest) -> list[str]:
    """The documents of the passages under the map."""
    places = [each.value.replace("\\", "") for each in page.caption]
    return [each.split(" · #")[0] for each in places if " · #" in each]


def like(page: AppTest) -> Any:
    """The link that searches for more like a passage."""
    [link] = [each for each in page.get("page_link") if each.proto.label == "Search for more like this"]
    return link


def html(page: AppTest) -> str:
    return "".join(each.proto.body for each in page.get("html"))


def names(chart: Drawn) -> set[str]:
    return set(chart.head["groups"])


def passage_of(document: str, name: str = "notes") -> int:
    with Index.open(name) as index:
        [passage] = index.passages(document)
        return int(passage["id"])


# ---- the page


def test_without_an_index_or_passages_the_page_says_what_to_do(home: Path) -> None:
    assert "no index yet" in shown().info[0].value
    made([])
    page = shown()
    assert "no passage yet" in page.info[0].value
    assert [each.proto.label for each in page.get("page_link")] == ["Add documents"]
    made(DOCUMENTS[:2], "two")
    assert "three passages" in shown(n="two").info[0].value


def test_every_passage_is_a_point_that_tells_its_path_and_its_text(notes: Path, charts: list[Drawn]) -> None:
    page = shown()
    assert len(charts[-1].places) == 15
    assert ("notes/cars/0.txt", "diesel engine") in charts[-1].told
    assert np.isfinite(charts[-1].places).all()
    assert any("15 passages" in each.value for each in page.caption)


def test_the_component_that_ships_takes_what_the_page_gives_it(notes: Path) -> None:
    [canvas] = shown().get("bidi_component")
    assert Drawn.of(canvas.proto.bytes).head["count"] == 15
    assert "export default function" in canvas.proto.js_content


def test_clusters_are_named_by_words_that_the_others_lack(notes: Path, charts: list[Drawn]) -> None:
    waited(shown(clusters="3"))
    words = {word for name in names(charts[-1]) for word in name.split(" · ")}
    assert len(names(charts[-1])) == 3
    assert {"engine", "falcon"} & words
    assert not {"and", "the", "of"} & words


def test_while_clusters_are_being_found_the_points_are_there_in_grey(
    notes: Path, charts: list[Drawn], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, go = topics.nested_topics, threading.Event()
    monkeypatch.setattr(topics, "nested_topics", lambda *points, **how: (go.wait(PATIENCE), found(*points, **how))[1])
    monkeypatch.setattr(background, "PATIENCE", 0.01)
    page = shown(clusters="3")
    assert set(charts[-1].levels) == {-1}
    assert "Finding topics" in page.info[0].value
    go.set()
    waited(page)
    assert set(charts[-1].levels) == {0, 1, 2}


def test_colours_come_from_folders_words_or_numbers_of_the_metadata(notes: Path, charts: list[Drawn]) -> None:
    page = shown(by="folder")
    assert names(charts[-1]) == {"cars", "bread", "birds"}
    assert not page.slider
    page.selectbox(key="by").set_value("topic (metadata)")
    again(page)
    assert names(charts[-1]) == {"cars", "bread", "birds"}
    page.selectbox(key="by").set_value("year (metadata)")
    again(page)
    assert set(charts[-1].levels) == {1990, 1991, 1992, 1993, 1994}
    assert charts[-1].head["ends"] == ["1990", "1994"]


def test_a_point_without_the_coloured_number_has_none_and_the_legend_counts_it(home: Path, charts: list[Drawn]) -> None:
    made([*DOCUMENTS, Document("a.txt", "no year"), Document("b.txt", "no year either")])
    shown(by="year (metadata)")
    assert int(np.isnan(charts[-1].levels).sum()) == 2
    assert charts[-1].head["missing"] == ["not given", 2]
    assert (charts[-1].head["low"], charts[-1].head["high"]) == (1990, 1994)


def test_dates_are_years_with_a_fraction(home: Path, charts: list[Drawn]) -> None:
    made([Document(f"{at}.txt", f"word{at}", {"day": f"202{at}-07-02"}) for at in range(4)])
    shown(by="day (metadata)")
    assert not charts[-1].head["times"]  # a date under another key, of no file
    assert charts[-1].levels.tolist() == pytest.approx([2020.5, 2021.5, 2022.5, 2023.5], abs=0.01)


@pytest.mark.parametrize(
    "url",
    [{"by": "gone"}, {"layout": "x"}, {"clusters": "-4"}, {"group": "g"}, {"area": "1,2_x,3_nan,0"},
     {"points": "4,x,-1,99999999999999999999999999"}],
)  # fmt: skip
def test_a_url_with_values_that_cannot_be_is_no_error(url: dict[str, str], notes: Path, charts: list[Drawn]) -> None:
    page = shown(**url)
    assert not page.error
    assert charts


def test_an_index_that_is_not_there_is_never_replaced_by_another(notes: Path, charts: list[Drawn]) -> None:
    page = shown(n="no")
    assert "There is no index no any more" in page.warning[0].value and not charts


def test_a_chosen_point_is_listed_with_a_way_to_search_for_it(notes: Path, charts: list[Drawn]) -> None:
    passage = passage_of("notes/bread/1.txt")
    page = shown(points=str(passage), by="folder")
    assert listed(page) == ["notes/bread/1.txt"]
    link = like(page)
    assert link.proto.query_string == f"more=%23{passage}&n=notes"
    assert not link.proto.external  # the same tab
    [row] = charts[-1].head["chosen"]["rows"]
    assert charts[-1].told[row][0] == "notes/bread/1.txt"
    made(DOCUMENTS[:3], "others")
    assert "n=" in like(again(page)).proto.query_string


def test_a_passage_of_markdown_is_listed_without_its_signs(home: Path, charts: list[Drawn]) -> None:
    made([Document("notes/bread.md", "## Proofing\n\nLet the **dough** rise."), *DOCUMENTS])
    page = shown(points=str(passage_of("notes/bread.md")), by="folder")
    assert "Proofing" in html(page) and "Let the dough rise." in html(page) and "##" not in html(page)


def test_an_area_lists_what_lies_in_it_and_the_words_of_it(notes: Path, charts: list[Drawn]) -> None:
    shown(by="folder")
    places = charts[-1].places
    cars = np.array([path.startswith("notes/cars/") for path, _ in charts[-1].told])
    low, high = places[cars].min(axis=0) - 1e-3, places[cars].max(axis=0) + 1e-3
    corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
    page = shown(by="folder", area="_".join(f"{x},{y}" for x, y in corners))
    inside = ((places >= low) & (places <= high)).all(axis=1)
    assert sorted(listed(page)) == sorted(path for (path, _), here in zip(charts[-1].told, inside, strict=True) if here)
    assert any("engine" in each.value for each in page.caption)
    links = [link.proto.query_string for link in page.get("page_link")]
    assert links[0].count("more=") == 3


def test_the_group_of_a_url_is_listed_and_stays_in_it(notes: Path, charts: list[Drawn]) -> None:
    page = again(shown(by="folder", group="birds"))
    assert len(listed(page)) == 5
    assert all("/birds/" in each for each in listed(page))
    assert page.query_params["group"] == "birds"
    assert charts[-1].head["chosen"] == {"group": charts[-1].head["groups"].index("birds")}
    page.selectbox(key="by").set_value("topic (metadata)")
    assert "group" not in again(page).query_params  # of another colouring


def test_the_same_map_is_the_same_bytes_whatever_is_chosen_on_it(notes: Path, charts: list[Drawn]) -> None:
    page = shown(by="folder")
    page.query_params["points"] = str(passage_of("notes/bread/1.txt"))
    again(page)
    assert listed(page) == ["notes/bread/1.txt"]
    assert charts[-1].head == charts[-2].head


def test_what_the_browser_says_is_chosen_is_looked_at_before_it_is_believed(notes: Path) -> None:
    with Index.open("notes", encoder="hashing") as index:
        given = space_points.sample(index, 100)
    colours = space_points.grouped("folder", space_points.folders(given.sample.documents))

    def told(state: Any) -> dict[str, str]:
        return selection.from_browser(state, given, colours).params()

    assert told({"rows": [2]}) == {"points": str(given.sample.ids[2])}
    assert told({"group": 1}) == {"group": colours.names[1]}
    assert told({"area": [[0, 0], [1, 0], [1, 1]]}) == {"area": "0,0_1,0_1,1"}
    for odd in (None, 7, {"rows": [-1, 999, "x"]}, {"group": 99}, {"group": "x"}, {"area": [[0, 0], [1, 1]]},
                {"area": [["a", 0], [None], 3, 4]}):  # fmt: skip
        assert told(odd) == {}


def test_an_area_holds_a_point_by_the_even_odd_rule() -> None:
    horseshoe = ((0, 0), (4, 0), (4, 4), (3, 4), (3, 1), (1, 1), (1, 4), (0, 4))
    points = np.array([[0.5, 2], [2, 2], [3.5, 3.9], [2, 0.5], [5, 5], [-1, 0.5]], np.float32)
    assert selection.within(horseshoe, points).tolist() == [True, False, True, True, False, False]


def test_what_another_process_adds_is_on_the_next_map(notes: Path, charts: list[Drawn]) -> None:
    page = shown()
    with Index.open("notes", encoder="hashing") as index:
        index.add([Document("new.txt", "A zeppelin has a frame.")])
    again(page)
    assert ("new.txt", "A zeppelin has a frame.") in charts[-1].told


def test_of_more_points_than_a_browser_bears_a_fixed_sample_is_drawn_and_it_says_so(
    notes: Path, charts: list[Drawn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_points, "MOST", 6)
    page = shown()
    assert any("fixed sample of 6 of the 15" in each.value for each in page.caption)
    assert len(charts[-1].places) == 6


def test_nothing_of_a_document_is_markup(home: Path, charts: list[Drawn]) -> None:
    documents = [
        Document(
            f"{HOSTILE.replace('/', '')}/{at}",
            f"{HOSTILE} {at}\t\n{at}",
            {HOSTILE: HOSTILE + at, "image": f"http://{at}"},
        )
        for at in "abc"
    ]
    made([*documents, *DOCUMENTS])
    points = ",".join(str(passage_of(each.id)) for each in documents)
    for way in ("topic", "folder", f"{HOSTILE} (metadata)", "image (metadata)"):
        page = waited(shown(by=way, points=points))
        assert page.selectbox(key="by").value == way
        assert "<script" not in html(page)
        assert "&lt;script&gt;" in html(page)
        group = charts[-1].head["groups"][0]
        for drawn in (page, waited(shown(by=way, group=group))):
            for each in (*drawn.markdown, *drawn.caption, *drawn.info, *drawn.header):
                assert not getattr(each, "allow_html", False)
                assert "](javascript" not in each.value
                assert "<script" not in each.value.replace("\\<", "")
        assert len(charts[-1].told) == 18  # no line break or tab of a text makes a line or a part of its own


# ---- what stands on the map


def test_topics_are_labels_where_their_passages_are_finer_ones_inside(home: Path, charts: list[Drawn]) -> None:
    made(
        [
            Document(f"{topic}/{at}.txt", f"{texts[at % 5]} {at % 3}")
            for topic, texts in TOPICS.items()
            for at in range(40)
        ]
    )
    waited(shown(clusters="3"))
    labels, low, high = charts[-1].head["labels"], charts[-1].places.min(axis=0), charts[-1].places.max(axis=0)
    coarse = [each for each in labels if each["level"] == 0]
    assert [each["name"] for each in coarse] == charts[-1].head["groups"]
    assert sum(each["size"] for each in coarse) == 120
    assert {each["level"] for each in labels} >= {0, 1}
    for each in labels:
        assert (low - 1e-4 <= each["at"]).all() and (high + 1e-4 >= each["at"]).all()
        assert each["low"][0] <= each["high"][0] and each["low"][1] <= each["high"][1]


def test_the_hits_of_the_last_search_are_ringed_with_their_ranks(notes: Path, charts: list[Drawn]) -> None:
    page = shown(by="folder", q="falcon wings")
    marks = charts[-1].head["marks"]
    assert [mark["rank"] for mark in marks] == list(range(1, len(marks) + 1))
    assert charts[-1].told[marks[0]["row"]][1] == "falcon wings fly"
    assert any("ringed" in each.value for each in page.caption)
    before = charts[-1].head["key"]
    page.text_input(key="q").set_value("yeast")
    again(page)
    assert "yeast" in charts[-1].told[charts[-1].head["marks"][0]["row"]][1]
    assert charts[-1].head["key"] == before  # the view stays


def test_a_search_on_the_map_has_the_filters_of_the_same_search() -> None:
    kept = Query("yeast", where="year > 1991", k=3)
    assert last_search.matching(kept, "yeast", 50).where == "year > 1991"
    assert (last_search.matching(kept, "falcon", 50).where, last_search.matching(None, "yeast", 50).k) == (None, 50)


def test_days_of_documents_are_a_slider_and_choose_points_in_the_url(home: Path, charts: list[Drawn]) -> None:
    made(
        [
            *(Document(f"{at}.txt", f"word{at}", {"date": f"202{at}-07-02"}) for at in range(4)),
            Document("none.txt", "no"),
        ]
    )
    page = shown(by="folder", **{"from": "2021-01-01", "until": "2022-12-31"})
    first, last = charts[-1].head["times"]
    assert (date.fromordinal(first), date.fromordinal(last)) == (date(2020, 7, 2), date(2023, 7, 2))
    assert np.isnan(charts[-1].days).sum() == 1
    assert sorted(listed(page)) == ["1.txt", "2.txt"]
    [link] = [each.proto for each in page.get("page_link") if "Search in" in each.proto.label]
    assert "where=date+between+2021-01-01+and+2022-12-31" in link.query_string


def test_chosen_passages_become_a_filter_of_the_search(notes: Path, charts: list[Drawn]) -> None:
    page = shown(by="folder", group="birds")
    [link] = [each.proto for each in page.get("page_link") if "Search in" in each.proto.label]
    assert link.label == "Search in these 5 documents"
    where = parse_qs(link.query_string)["where"][0]
    with Index.open("notes") as index:
        assert len(index.matching(where=where)) == 5


def test_too_many_documents_for_an_address_can_be_tagged_instead(
    notes: Path, charts: list[Drawn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "LONGEST", 20)
    page = shown(by="folder", group="birds")
    assert any("too many for a filter" in each.value for each in page.caption)
    assert not [each for each in page.get("page_link") if "Search in" in each.proto.label]


def test_a_tag_is_written_by_its_button_alone(notes: Path, charts: list[Drawn]) -> None:
    page = shown(by="folder", group="birds")
    page.text_input(key="map.value").set_value("to read")
    again(page)
    with Index.open("notes") as index:
        assert not any("tag" in each["metadata"] for each in index.documents())
    [button] = [each for each in page.button if each.key == "map.go"]
    button.click()
    again(page)
    assert ended() == "done"
    with Index.open("notes") as index:
        assert index.count("tag = 'to read'") == 5


# ---- UMAP


def test_where_umap_is_missing_the_page_says_so_and_shows_pca(notes: Path, charts: list[Drawn]) -> None:
    page = shown(layout="UMAP")
    assert install_command("map") in page.info[0].value.replace("\\", "")
    assert len(charts[-1].places) == 15


UMAP = """
import numpy
class UMAP:
    def __init__(self, **told):
        self.told = told
    def fit_transform(self, vectors):
        {body}
"""


def with_umap(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> None:
    (folder / "stub").mkdir()
    (folder / "stub" / "umap.py").write_text(UMAP.format(body=body), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder / "stub"))  # where it runs
    monkeypatch.setattr(umap_process, "require", lambda: None)
    monkeypatch.setattr(layouts, "missing", str)


def test_umap_is_the_layout_once_it_is_computed_and_is_kept_beside_the_index(
    notes: Path, home: Path, charts: list[Drawn], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_umap(monkeypatch, home, "print('hello'); return numpy.full((len(vectors), 2), 7 + self.told['random_state'])")
    page = shown()
    assert len({*charts[-1].places[:, 0].tolist()}) > 1  # PCA meanwhile
    waited(page)
    assert {*charts[-1].places[:, 0].tolist()} == {7}
    assert (notes / "layout-umap.cache").exists()
    monkeypatch.setattr(umap_process, "places", lambda *_: pytest.fail("it is kept"))
    jobs.dismiss(("Map", str(notes)))
    waited(shown())
    assert {*charts[-1].places[:, 0].tolist()} == {7}


def test_umap_that_is_stopped_waits_for_a_click(
    notes: Path, home: Path, charts: list[Drawn], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_umap(monkeypatch, home, "import time; time.sleep(600)")
    page = shown()
    [job] = [each for each in jobs.every_last() if each.name == "Map"]
    job.stop.set()
    assert ended(job.key) == "stopped"
    again(page)
    again(page)
    assert [each.key for each in page.button if each.key == "map.umap"]
    assert len([each for each in jobs.every_last() if each.name == "Map" and each.state == "running"]) == 0


def test_umap_that_fails_is_a_sentence_over_pca(
    notes: Path, home: Path, charts: list[Drawn], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_umap(monkeypatch, home, "raise RuntimeError('boom')")
    page = waited(shown(layout="UMAP"))
    assert len(page.error) == 1
    assert "Traceback" not in page.error[0].value
    assert "boom" in page.error[0].value
    assert len({*charts[-1].places[:, 0].tolist()}) > 1


# ---- what it computes


def test_a_sample_is_always_the_same_and_changes_little_when_passages_are_added(home: Path) -> None:
    made([Document(f"{at}.txt", f"word{at}") for at in range(60)])
    with Index.open("notes", encoder="hashing") as index:
        first, second = index.analysis.sample_vectors(20), index.analysis.sample_vectors(20)
        assert first.ids.tolist() == second.ids.tolist()
        assert (len(first), first.total) == (20, 60)
        for at, passage in enumerate(first.ids.tolist()):
            assert index.get(passage)["document"] == first.documents[at]
            assert index.get(passage)["text"] == first.texts[at]
        assert np.allclose(first.vectors, index.encoder.encode(list(first.texts), role="passage"), atol=2e-3)
        index.add([Document("new.txt", "a new one")])
        third = index.analysis.sample_vectors(20)
        assert len(set(first.ids.tolist()) & set(third.ids.tolist())) >= 19
        assert {len(each) for each in index.analysis.sample_vectors(5, letters=3).texts} == {3}
        with pytest.raises(SemsearchError):
            index.analysis.sample_vectors(0)


def groups_of_points() -> space_points.Floats:
    """40 and 20 unit vectors around two directions."""
    random = np.random.default_rng(1)
    rows = np.zeros((60, 8)) + np.where(np.arange(60)[:, None] < 20, np.eye(8)[0], np.eye(8)[3])
    rows += 0.05 * random.normal(size=rows.shape)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def test_pca_keeps_the_two_directions_in_which_points_differ_most() -> None:
    plane = np.random.default_rng(0).normal(size=(50, 2)) * [3, 1]
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0][:2]
    placed, share = layout.principal((plane @ turned).astype(np.float32))
    assert share == pytest.approx(1, abs=1e-5)
    apart = np.linalg.norm(plane[:, None] - plane[None], axis=2)
    assert np.allclose(np.linalg.norm(placed[:, None] - placed[None], axis=2), apart, atol=1e-3)


def test_rare_groups_are_one_grey_group_and_labels_are_never_alike() -> None:
    found = space_points.grouped("key", [f"{'long ' * 9}{at:02}" for at in range(30)])
    assert len(found.names) == space_points.GROUPS
    assert (found.codes == -1).sum() == 30 - space_points.GROUPS
    labels = space_canvas._labels(found)
    assert len(set(labels)) == space_points.GROUPS
    assert 2 * len(space_canvas.PALETTE) >= space_points.GROUPS  # a disc and a square of each colour
