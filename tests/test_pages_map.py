"""The map: an index in two dimensions, its groups and their names, what is chosen there, and what nearly agrees."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import again

pytest.importorskip("streamlit")
pytest.importorskip("semsearch_ui")
import streamlit as st
from streamlit.testing.v1 import AppTest

from semsearch import Document, Index, SemsearchError
from semsearch_ui import clusters, space_chart, space_points

PAGE = """
import streamlit as st
from semsearch_ui import search, space_map
st.navigation([st.Page(search.page, title="Search", url_path="search", default=True)])
space_map.page()
"""
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> **bold** [link](javascript:alert(3)) :red[red] $x$"
TOPICS = {
    "cars": ["diesel engine", "engine fuel", "fuel of a diesel", "petrol engine fuel", "engine and diesel"],
    "bread": ["flour and salt", "salt in bread", "bread flour", "yeast bread salt", "flour yeast"],
    "birds": ["wings of a falcon", "falcon feathers", "feathers and wings", "falcon wings fly", "feathers fly"],
}
DOCUMENTS = [
    Document(f"notes/{topic}/{at}.txt", text, {"topic": topic, "year": 1990 + at})
    for topic, texts in TOPICS.items() for at, text in enumerate(texts)
]  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SEMSEARCH_HOME", str(tmp_path))
    monkeypatch.setenv("SEMSEARCH_EMBEDDING_CACHE_MB", "0")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    st.cache_resource.clear()
    st.cache_data.clear()


@pytest.fixture
def notes(home: Path) -> Path:
    return made(DOCUMENTS)


@pytest.fixture
def charts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The charts that the page draws, the newest last."""
    found: list[Any] = []
    selects(monkeypatch, {}, found)
    return found


def made(documents: list[Document], name: str = "notes") -> Path:
    with Index.create(name, encoder="hashing") as index:
        index.add(documents)
        return index.path


def selects(monkeypatch: pytest.MonkeyPatch, selection: Mapping[str, Any], charts: list[Any] | None = None) -> None:
    """From now on a person has chosen this on the chart."""

    def draw(chart: Any, **_: Any) -> dict[str, Any]:
        if charts is not None:
            charts.append(chart)
        return {"selection": dict(selection)}

    monkeypatch.setattr(st, "altair_chart", draw)


def shown(**url: str) -> AppTest:
    page = AppTest.from_string(PAGE, default_timeout=60)
    for name, value in url.items():
        page.query_params[name] = value
    return again(page)


def waited(page: AppTest) -> AppTest:
    """The page once what is computed beside it is there."""
    for _ in range(100):
        if not any("being" in each.value for each in page.info):
            return page
        time.sleep(0.05)
        again(page)
    raise AssertionError("it was never computed")


def listed(page: AppTest) -> list[str]:
    """The documents of the passages under the map."""
    places = [each.value.replace("\\", "") for each in page.caption]
    return [each.split(" · #")[0] for each in places if " · #" in each]


def html(page: AppTest) -> str:
    return "".join(each.proto.body for each in page.get("html"))


def names(chart: Any) -> set[str]:
    return set(chart.data["told"])


# ---- the page


def test_without_an_index_or_passages_the_page_says_what_to_do(home: Path) -> None:
    assert "no index yet" in shown().info[0].value
    made([])
    assert "Add documents" in shown().info[0].value
    made(DOCUMENTS[:2], "two")
    assert "three passages" in shown(index="two").info[0].value


def test_every_passage_is_a_point_that_tells_its_path_and_its_text(notes: Path, charts: list[Any]) -> None:
    page = shown()
    data = charts[-1].data
    assert len(data) == 15
    row = data[data["path"] == "notes/cars/0.txt"].iloc[0]
    assert row["text"] == "diesel engine"
    assert np.isfinite(data[["x", "y"]].to_numpy()).all()
    assert any("15 passages" in each.value for each in page.caption)


def test_clusters_are_named_by_words_that_the_others_lack(notes: Path, charts: list[Any]) -> None:
    shown(clusters="3")
    words = {word for name in names(charts[-1]) for word in name.split(" · ")}
    assert len(names(charts[-1])) == 3
    assert {"engine", "falcon"} & words
    assert not {"and", "the", "of"} & words


def test_colours_come_from_folders_words_or_numbers_of_the_metadata(notes: Path, charts: list[Any]) -> None:
    page = shown(by="folder")
    assert names(charts[-1]) == {"cars", "bread", "birds"}
    assert not page.slider
    page.selectbox(key="by").set_value("topic (metadata)")
    again(page)
    assert names(charts[-1]) == {"cars", "bread", "birds"}
    page.selectbox(key="by").set_value("year (metadata)")
    again(page)
    assert set(charts[-1].data["number"]) == {1990, 1991, 1992, 1993, 1994}


@pytest.mark.parametrize("url", [{"by": "gone"}, {"layout": "x"}, {"clusters": "-4"}, {"index": "no"}, {"group": "g"}])
def test_a_url_with_values_that_cannot_be_is_no_error(url: dict[str, str], notes: Path, charts: list[Any]) -> None:
    page = shown(**url)
    assert not page.error
    assert charts


def test_a_click_lists_the_passage_with_a_way_to_search_for_it(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.open("notes") as index:
        [passage] = index.passages("notes/bread/1.txt")
    selects(monkeypatch, {"point": [{"id": passage["id"]}]})
    page = shown()
    assert listed(page) == ["notes/bread/1.txt"]
    [link] = page.get("page_link")
    assert link.proto.query_string == f"more=%23{passage['id']}"
    made(DOCUMENTS[:3], "others")
    [link] = again(page).get("page_link")
    assert "n=" in link.proto.query_string


def test_a_box_lists_what_lies_in_it(notes: Path, charts: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    page = shown()
    data = charts[-1].data
    middle = float(data["x"].median())
    low, high = float(data["y"].min()), float(data["y"].max())
    selects(monkeypatch, {"point": [], "box": {"x": [float(data["x"].min()), middle], "y": [high, low]}})
    again(page)
    assert sorted(listed(page)) == sorted(data[data["x"] <= middle]["path"])


def test_the_passages_of_a_group_can_be_read_without_a_pointer(notes: Path, charts: list[Any]) -> None:
    page = shown(by="folder")
    assert not listed(page)
    page.selectbox(key="group").set_value("birds (5)")
    again(page)
    assert len(listed(page)) == 5
    assert all("/birds/" in each for each in listed(page))
    assert listed(shown(by="folder", group="birds (5)")) == listed(page)


def test_near_duplicates_are_pairs_of_different_documents(home: Path, charts: list[Any]) -> None:
    copied = "The kettle is descaled with vinegar, and rinsed twice."
    made([*DOCUMENTS, Document("a.txt", copied), Document("b.txt", copied)])
    page = waited(shown(near="true"))
    [table] = [each.value for each in page.dataframe]
    assert table[["first", "second"]].to_numpy().tolist() == [["a.txt", "b.txt"]]
    assert table["cosine"][0] == pytest.approx(1, abs=1e-3)


def test_what_another_process_adds_is_on_the_next_map(notes: Path, charts: list[Any]) -> None:
    page = shown()
    with Index.open("notes", encoder="hashing") as index:
        index.add([Document("new.txt", "A zeppelin has a frame.")])
    again(page)
    assert "new.txt" in set(charts[-1].data["path"])


def test_of_more_points_than_a_browser_bears_a_fixed_sample_is_drawn_and_it_says_so(
    notes: Path, charts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_points, "MOST", 6)
    page = shown()
    assert any("fixed sample of 6 of 15" in each.value for each in page.caption)
    assert len(charts[-1].data) == 6


def test_nothing_of_a_document_is_markup(home: Path, charts: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [
        Document(
            f"{HOSTILE.replace('/', '')}/{at}", f"{HOSTILE} {at}", {HOSTILE: HOSTILE + at, "image": f"http://{at}"}
        )
        for at in "abc"
    ]
    made([*documents, *DOCUMENTS])
    with Index.open("notes") as index:
        ids = [{"id": passage["id"]} for each in documents for passage in index.passages(each.id)]
    for way in ("cluster", "folder", f"{HOSTILE} (metadata)", "image (metadata)"):
        selects(monkeypatch, {"point": ids}, charts)
        page = waited(shown(by=way, near="true"))
        assert page.selectbox(key="by").value == way
        assert "<script" not in html(page)
        assert "&lt;script&gt;" in html(page)
        for each in (*page.markdown, *page.caption, *page.info):
            assert not each.allow_html
            assert "](javascript" not in each.value
            assert "<script" not in each.value.replace("\\<", "")
        spec = charts[-1].to_dict(format="vega-lite")
        assert {each["field"] for each in spec["encoding"]["tooltip"]} == {"path", "told", "text"}
        assert {each.get("title", each["field"]) for each in spec["encoding"]["tooltip"]} == {"path", "group", "text"}


# ---- UMAP


def test_where_umap_is_missing_the_page_says_so_and_shows_pca(
    notes: Path, charts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_points, "has_umap", lambda: False)
    page = shown(layout="UMAP")
    assert "pip install umap-learn" in page.info[0].value
    assert len(charts[-1].data) == 15


UMAP = """
import numpy
class UMAP:
    def __init__(self, **told):
        self.told = told
    def fit_transform(self, vectors):
        {body}
"""


def with_umap(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> None:
    import sys

    (folder / "stub").mkdir()
    (folder / "stub" / "umap.py").write_text(UMAP.format(body=body), encoding="utf-8")
    monkeypatch.syspath_prepend(folder / "stub")
    monkeypatch.delitem(sys.modules, "umap", raising=False)


def test_umap_is_computed_beside_the_page_and_then_shown(
    notes: Path, home: Path, charts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_umap(monkeypatch, home, "return numpy.full((len(vectors), 2), 7 + self.told['random_state'])")
    waited(shown(layout="UMAP"))
    assert set(charts[-1].data["x"]) == {7}


def test_umap_that_fails_is_a_sentence_over_pca(
    notes: Path, home: Path, charts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_umap(monkeypatch, home, "raise RuntimeError('boom')")
    page = waited(shown(layout="UMAP"))
    assert len(page.error) == 1
    assert "Traceback" not in page.error[0].value
    assert len(set(charts[-1].data["x"])) > 1


# ---- what it computes


def test_a_sample_is_always_the_same_and_changes_little_when_passages_are_added(home: Path) -> None:
    made([Document(f"{at}.txt", f"word{at}") for at in range(60)])
    with Index.open("notes", encoder="hashing") as index:
        first, second = index.sample_vectors(20), index.sample_vectors(20)
        assert first.ids.tolist() == second.ids.tolist()
        assert (len(first), first.total) == (20, 60)
        for at, passage in enumerate(first.ids.tolist()):
            assert index.get(passage)["document"] == first.documents[at]
            assert index.get(passage)["text"] == first.texts[at]
        assert np.allclose(first.vectors, index.encoder.encode(list(first.texts), role="passage"), atol=2e-3)
        index.add([Document("new.txt", "a new one")])
        third = index.sample_vectors(20)
        assert len(set(first.ids.tolist()) & set(third.ids.tolist())) >= 19
        assert {len(each) for each in index.sample_vectors(5, letters=3).texts} == {3}
        with pytest.raises(SemsearchError):
            index.sample_vectors(0)


def groups_of_points() -> clusters.Floats:
    """40 and 20 unit vectors around two directions."""
    random = np.random.default_rng(1)
    rows = np.zeros((60, 8)) + np.where(np.arange(60)[:, None] < 20, np.eye(8)[0], np.eye(8)[3])
    rows += 0.05 * random.normal(size=rows.shape)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def test_clusters_are_those_that_were_put_there_the_largest_first() -> None:
    codes = clusters.clusters(groups_of_points(), 2)
    assert codes.tolist() == [1] * 20 + [0] * 40
    assert clusters.clusters(groups_of_points(), 2).tolist() == codes.tolist()


def test_of_passages_that_are_all_equal_there_is_one_cluster() -> None:
    same = np.tile(np.eye(4, dtype=np.float32)[0], (9, 1))
    assert set(clusters.clusters(same, 5).tolist()) == {0}
    assert clusters.clusters(same[:0], 5).tolist() == []


def test_pca_keeps_the_two_directions_in_which_points_differ_most() -> None:
    plane = np.random.default_rng(0).normal(size=(50, 2)) * [3, 1]
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0][:2]
    placed, share = space_points.principal((plane @ turned).astype(np.float32))
    assert share == pytest.approx(1, abs=1e-5)
    apart = np.linalg.norm(plane[:, None] - plane[None], axis=2)
    assert np.allclose(np.linalg.norm(placed[:, None] - placed[None], axis=2), apart, atol=1e-3)


def test_near_pairs_are_those_of_all_pairs_whatever_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, owners = groups_of_points(), [str(at // 2) for at in range(60)]
    cosines = vectors @ vectors.T
    right = {
        (one, other)
        for one in range(60) for other in range(one + 1, 60)
        if cosines[one, other] > 0.99 and owners[one] != owners[other]
    }  # fmt: skip
    for block in (7, 64):
        monkeypatch.setattr(clusters, "BLOCK", block)
        pairs, more = clusters.near(vectors, owners, 0.99)
        best = sorted(right, key=lambda pair: -cosines[pair])[: clusters.PAIRS]
        assert more == (len(right) > clusters.PAIRS)
        assert [cosine for *_, cosine in pairs] == pytest.approx([cosines[pair] for pair in best], abs=1e-5)
        assert {pair[:2] for pair in pairs} <= right
    monkeypatch.setattr(clusters, "PAIRS", 3)
    assert len(clusters.near(vectors, owners, 0.9)[0]) == 3


def test_rare_groups_are_one_grey_group_and_labels_are_never_alike() -> None:
    found = space_points.grouped("key", [f"{'long ' * 9}{at:02}" for at in range(30)])
    assert len(found.names) == space_points.GROUPS
    assert (found.codes == -1).sum() == 30 - space_points.GROUPS
    labels = space_chart._labels(found)
    assert len(set(labels)) == space_points.GROUPS
    pairs = {(at % len(space_chart.PALETTE), at // len(space_chart.PALETTE)) for at in range(space_points.GROUPS)}
    assert max(shape for _, shape in pairs) < len(space_chart.SHAPES)
