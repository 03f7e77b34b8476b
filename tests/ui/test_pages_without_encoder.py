"""Every page meets an index without an encoder: it shows what there is, or says what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.pages import at_home, opened, titles

from semsearch import Document, Index


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with at_home(tmp_path, tmp_path, monkeypatch):
        with Index.create("own", encoder=None, dimensions=8) as index:
            index.add([Document(f"d{n}", f"Diesel number {n}.") for n in range(12)], vectors=np.eye(12, 8) + 0.1)
        yield


@pytest.mark.parametrize("page", ["library", "map", "evaluate", "models"])
def test_a_page_shows_an_index_without_an_encoder(page: str) -> None:
    found = opened(f"from semsearch_ui.{page} import page\npage.page()", n="own")
    assert not found.exception


def test_a_search_by_words_answers_and_one_by_meaning_says_what_is_missing() -> None:
    program = "from semsearch_ui.search import page\npage.page()"
    by_words = opened(program, n="own", q="diesel", mode="keyword")
    assert "1. d1" in titles(by_words) or "1. d0" in titles(by_words)
    by_meaning = opened(program, n="own", q="diesel")
    assert any("no encoder" in each.value for each in by_meaning.error)
