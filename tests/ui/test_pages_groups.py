"""Groups: copies with what to keep, clusters with their documents, and both follow the index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.pages import again, at_home, ended, opened, until
from streamlit.testing.v1 import AppTest

from semsearch import Document, Index

charts = pytest.importorskip("semsearch_ui.shared.charts")

TEXTS = {
    "engine": "diesel engine fuel pump",
    "engine again": "diesel engine fuel pump",
    "motor": "fuel of a diesel engine",
    "bread": "yeast dough and flour",
    "loaf": "flour and dough with yeast",
}


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    with at_home(tmp_path, tmp_path, monkeypatch), Index.create("notes", encoder="hashing") as index:
        index.add([Document(name, text, {"made": f"202{at}"}) for at, (name, text) in enumerate(TEXTS.items())])
        yield index


def shown(**url: str) -> AppTest:
    page = opened("map" if "view" in url else "library", **({} if "view" in url else {"shelf": "copies"}), **url)
    until(lambda: not any(each.icon == ":material/hourglass_top:" for each in again(page).info))
    return page


def test_copies_stand_side_by_side_with_why_and_one_of_them_is_kept(notes: Index) -> None:
    page = shown()
    assert any("exact · 100% of the words in common" in each.value for each in page.caption)
    assert [each.value for each in page.markdown if each.value.startswith("**e")] == [
        "**engine** :small[ stays: its path is the shortest]",
        "**engine again** :small[ is removed with all]",
    ]
    assert next(each for each in page.button if each.key == "all copies").disabled  # until one is sure
    notes.close()  # a job writes
    [right] = [each for each in page.button if each.key.startswith("keep 0 engine again")]
    right.click()
    again(page)
    assert ended() == "done"
    with Index.open("notes") as index:
        assert [each["id"] for each in index.documents()] == ["bread", "engine again", "loaf", "motor"]
    assert not any(each.label.startswith("Keep") for each in shown().button)


def test_all_copies_are_removed_at_once_where_one_is_sure(notes: Index) -> None:
    notes.close()
    page = shown()
    next(each for each in page.checkbox if each.key == "sure copies").set_value(True)
    again(page)
    next(each for each in page.button if each.key == "all copies").click()
    again(page)
    assert ended() == "done"
    with Index.open("notes") as index:
        assert "engine again" not in [each["id"] for each in index.documents()]


def test_clusters_have_names_sizes_and_examples(notes: Index) -> None:
    page = shown(view="clusters", k="2")
    (table,) = page.dataframe
    assert table.value["documents"].tolist() == [3, 2]
    first, second = table.value["cluster"].tolist()
    assert "diesel" in first and "yeast" in second
    assert table.value["example"].tolist()[1] in (TEXTS["bread"], TEXTS["loaf"])


def test_an_empty_index_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with at_home(tmp_path, tmp_path, monkeypatch):
        Index.create("empty", encoder="hashing").close()
        page = shown(n="empty", view="clusters")
        assert "no document yet" in page.info[0].value
        assert [each.proto.label for each in page.get("page_link")] == ["Add documents"]


def press(page: AppTest, key: str) -> None:
    [button] = [each for each in page.button if each.key == key]
    button.click()
    again(page)


def choose(page: AppTest, label: str, *documents: str, texts: str = "") -> AppTest:
    """The page, after these were added as examples of a label."""
    page.text_input(key="label.label").set_value(label)
    page.multiselect(key="label.documents").set_value(list(documents))
    page.text_area(key="label.texts").set_value(texts)
    again(page)
    press(page, "label.add")
    until(lambda: not any(each.icon == ":material/hourglass_top:" for each in again(page).info))
    return page


def test_documents_are_labelled_as_in_examples_chosen_or_typed(notes: Index) -> None:
    page = shown(view="labels", reject="0")
    assert any("two labels" in each.value for each in page.caption)
    choose(page, "machines", "engine")
    choose(page, "", texts="yeast and flour\tkitchen\nmotor fuel pump\tmachines")
    examples, found = (each.value for each in page.dataframe)
    assert examples["label"].tolist() == ["machines", "kitchen", "machines"]
    labels = dict(found[["document", "label"]].to_numpy().tolist())
    assert labels == {
        "engine": "machines",
        "engine again": "machines",
        "motor": "machines",
        "bread": "kitchen",
        "loaf": "kitchen",
    }
    assert any("examples right" in each.value for each in page.caption)
    assert not any("label" in each["metadata"] for each in notes.documents())
    notes.close()  # a job writes
    press(page, "label.go")
    assert ended() == "done"
    with Index.open("notes") as index:
        assert index.count("label = 'machines'") == 3


def test_an_example_without_a_label_is_refused_and_one_is_listed_once(notes: Index) -> None:
    page = shown(view="labels")
    page.multiselect(key="label.documents").set_value(["engine"])
    press(page, "label.add")
    assert "no label" in page.error[0].value and not page.dataframe
    choose(page, "machines", "engine")
    [table] = choose(page, "machines", "engine").dataframe
    assert table.value["example"].tolist() == ["engine"]
    [remove] = [each for each in page.button if each.key == "label.remove"]
    assert remove.disabled  # until one is ticked
