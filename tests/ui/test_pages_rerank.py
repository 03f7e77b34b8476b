"""The switch on the search page: hits of the search at once, and in their new order when the reranker has answered."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers import rerankers
from helpers.pages import at_home, hits, opened
from streamlit.testing.v1 import AppTest

from semsearch import Document, Index

shown = partial(opened, "search")
LABEL = "Read the first hits again"
DOCUMENTS = [
    Document("diesel.txt", "A diesel engine ignites fuel by compression."),
    Document("petrol.txt", "A petrol engine ignites fuel with a spark plug. The petrol engine is fast."),
    Document("kettle.txt", "Vinegar is for the scale in the kettle."),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("SEMSEARCH_RERANKER", raising=False)
    with at_home(tmp_path / "indexes", tmp_path, monkeypatch):
        with Index.create("notes", encoder="hashing") as index:
            index.add(DOCUMENTS)
        yield tmp_path


def switch(page: AppTest) -> Any:
    [found] = [each for each in page.toggle if each.label == LABEL]
    return found


def titles(page: AppTest) -> list[str]:
    return [hit["title"] for hit in hits(page)["hits"]]


def foot(page: AppTest) -> str:
    return str(hits(page)["foot"])


def test_without_a_reranker_the_switch_says_how_to_get_one(home: Path) -> None:
    page = shown(q="petrol engine")
    assert switch(page).disabled
    assert "semsearch models pull" in switch(page).help
    assert titles(page)[0] == "petrol.txt"


def test_hits_are_read_again_and_stand_in_their_new_order(home: Path) -> None:
    rerankers.saved(home / "models" / "words")  # where exports go: the page finds it there
    page = shown(q="petrol engine")
    before = titles(page)
    assert "read again" not in foot(page)
    switch(page).set_value(True)
    page.run()
    assert not page.exception
    assert (before[0], titles(page)[0]) == ("petrol.txt", "petrol.txt")  # at this weight both judgements count
    page.slider(key="reweigh").set_value(1.0).run()
    assert titles(page)[0] == "diesel.txt"
    assert "3 hits read again in" in foot(page)
    assert [hit["again"] for hit in hits(page)["hits"]].count("read again · 0.98") == 1
    assert shown(q="petrol engine", rerank="true").query_params["rerank"] == "true"


def test_the_second_reading_is_made_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from semsearch.encoders.rerankers.reranker import Reranker

    rerankers.saved(home / "models" / "words")
    asked: list[str] = []
    plain = Reranker.score

    def counted(self: Reranker, query: str, passages: Any, /) -> Any:
        asked.append(query)
        return plain(self, query, passages)

    monkeypatch.setattr(Reranker, "score", counted)
    page = shown(q="petrol engine", rerank="true", reweigh="1.0")
    assert (titles(page)[0], asked) == ("diesel.txt", ["petrol engine"])
    page.run()
    assert asked == ["petrol engine"]
    page.text_input(key="q").set_value("kettle scale").run()
    assert asked == ["petrol engine", "kettle scale"]


def test_a_reranker_that_fails_leaves_the_hits_with_a_warning(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from semsearch.encoders.rerankers.reranker import Reranker

    rerankers.saved(home / "models" / "words")
    monkeypatch.setattr(Reranker, "score", lambda *_: 1 / 0)
    page = shown(q="petrol engine", rerank="true")
    assert titles(page)[0] == "petrol.txt"
    assert any("the reranker words failed" in each.value.replace("\\", "") for each in page.warning)


def test_a_damaged_reranker_is_an_error_beside_the_hits(home: Path) -> None:
    (rerankers.saved(home / "models" / "words") / "model.onnx").write_bytes(b"other")
    page = shown(q="petrol engine", rerank="true")
    assert titles(page)[0] == "petrol.txt"
    assert any("are not what was written" in each.value.replace("\\", "") for each in page.error)


def test_the_hits_of_several_indexes_are_read_again_together(home: Path) -> None:
    rerankers.saved(home / "models" / "words")
    with Index.create("other", encoder="hashing") as index:
        index.add([Document("engine.txt", "Compression is for the petrol engine.")])
    page = shown(q="petrol engine", rerank="true", reweigh="1.0")
    assert set(titles(page)[:2]) == {"diesel.txt", "engine.txt"}
    assert "4 hits read again in" in foot(page)
