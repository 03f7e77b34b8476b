"""What an index offers as filters: of each key what its values allow to ask, and nothing that tells nothing apart."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from semsearch import Document, Index
from semsearch.types import Facet


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def of(index: Path, *metadata: dict[str, Any]) -> dict[str, Facet]:
    """The facets of documents with this metadata, by key."""
    with Index.create(index, encoder="hashing") as made:
        made.add([Document(f"d{n}", f"Text number {n}.", each) for n, each in enumerate(metadata)])
        return {each.key: each for each in made.analysis.facets()}


def test_each_key_is_of_the_kind_of_its_values(index: Path) -> None:
    found = of(
        index,
        {"year": 1990, "price": 1, "lang": "en", "due": "2024-01-31", "draft": True, "tags": ["a", "b"]},
        {"year": 2000, "price": 2.5, "lang": "de", "due": "2024-03-01T12:00", "draft": False, "tags": ["b"]},
        {"lang": "en", "none": None},
    )
    assert found == {
        "lang": Facet("lang", "words", 3, values=(("en", 2), ("de", 1))),
        "draft": Facet("draft", "flag", 2),
        "due": Facet("due", "date", 2, low="2024-01-31", high="2024-03-01"),
        "price": Facet("price", "number", 2, low=1, high=2.5, whole=False),
        "tags": Facet("tags", "list", 2, values=(("b", 2), ("a", 1))),
        "year": Facet("year", "number", 2, low=1990, high=2000),
    }


def test_what_all_share_and_what_is_of_several_types_is_left_out(index: Path) -> None:
    assert of(index, {"same": "x", "one": 1, "mixed": 1, "yes": True}, {"same": "x", "one": 1, "mixed": "a"}) == {}


def test_a_key_with_many_values_is_asked_for_by_its_text(index: Path) -> None:
    found = of(index, *({"author": f"Author {n}", "tags": [f"tag {n}"]} for n in range(41)))
    assert (found["author"].kind, found["tags"].kind) == ("text", "text")


def test_days_that_there_are_not_are_no_dates(index: Path) -> None:
    assert "due" not in of(index, {"due": "2024-02-31"}, {"due": "2024-03-01"})


def test_files_differ_in_kind_and_date_and_an_own_date_comes_first(index: Path, tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for name, day in (("a.txt", 1_600_000_000), ("b.md", 1_700_000_000)):
        (files / name).write_text("Some words.")
        os.utime(files / name, (day, day))
    with Index.create(index, encoder="hashing") as made:
        made.sync(files)
        loader, date = made.analysis.facets()
        assert (loader.key, loader.builtin, dict(loader.values)) == ("loader", True, {"text": 1, "markdown": 1})
        assert (date.key, date.builtin, date.low[:4], date.high[:4]) == ("date", True, "2020", "2023")
        made.add([Document("old", "An old text.", {"date": "1990-05-01"})])
        assert made.analysis.facets()[1].low == "1990-05-01"
