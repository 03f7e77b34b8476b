"""The examples and the operators of docs/filters.md work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from semsearch import Document, Index
from semsearch.search import filter_text

CHECKOUT = Path(__file__).resolve().parents[2]
TEXT = (CHECKOUT / "docs" / "filters.md").read_text(encoding="utf-8")


def test_every_example_finds_the_same_document(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", encoder="hashing") as index:
        index.add(
            [
                Document("new", "A pump needs oil.", metadata={"year": 2024, "lang": "en"}),
                Document("old", "A pump needs oil.", metadata={"year": 1999, "lang": "en"}),
                Document("other", "A pump needs oil.", metadata={"year": 2024, "lang": "fr"}),
            ]
        )
        examples = re.findall(r"^index\.search\(.*$", TEXT, flags=re.MULTILINE)
        assert len(examples) == 3
        for example in examples:
            found = eval(example, {"index": index})  # noqa: S307 - our own page
            assert [hit.document for hit in found] == ["new"], example


@pytest.mark.parametrize("operator", filter_text._OPERATORS)
def test_every_operator_is_described(operator: str) -> None:
    assert f"`{operator}`" in TEXT
