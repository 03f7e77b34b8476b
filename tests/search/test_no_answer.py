"""What is no answer however near it is: where a number is in no passage, and where a query says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from semsearch import Document, Index

NOTES = """Invoice 20418 of the roofer: new tiles for the south side, to be paid by the end of March.
Invoice 20511 of the plumber: a tap in the kitchen and a valve in the cellar.
The printer shows error E-4413 when the toner is empty; open the flap and shake the cartridge.
Minutes of the meeting in 2019: the fence is painted, the hedge is cut twice a year.
Tomatoes need sun, and water at the root in the evening.
The chain of the bicycle gets oil every 300 kilometres and after rain.
The boiler is serviced in October; the pressure should be 1.5 bar.""".splitlines()


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "notes", encoder="default") as index:
        index.add([Document(f"note {n}", text) for n, text in enumerate(NOTES)])
        yield index


@pytest.mark.parametrize("query", ["invoice 20977", "error E-9121", "meeting 2031", "Rechnung 20977", "4b6f1c90"])
def test_what_is_named_by_a_number_that_no_passage_has_has_no_good_match(notes: Index, query: str) -> None:
    results = notes.search(query, abstain=0.5)
    assert not results.good_match
    (number,) = [word for word in query.replace("-", " ").split() if any(map(str.isdigit, word))]
    assert any(f"no passage has {number}" in warning for warning in results.warnings)


@pytest.mark.parametrize(
    ("query", "document"), [("invoice 20511", "note 1"), ("error E-4413", "note 2"), ("meeting 2019", "note 3")]
)
def test_a_number_that_a_passage_has_finds_it(notes: Index, query: str, document: str) -> None:
    results = notes.search(query)
    assert results.good_match and results[0].document == document and not results.warnings


@pytest.mark.parametrize(
    "query",
    [
        *("oil the chain of my bicycle every 250 km", "servicing the boiler: 2.1 bar in October"),
        *("bicycle chain 250km", "cartridge of the printer, 750ml"),  # quantities
    ],
)
def test_a_number_beside_what_a_question_is_about_changes_nothing(notes: Index, query: str) -> None:
    results = notes.search(query)
    assert results.good_match and not results.warnings


@pytest.mark.parametrize(
    "query", ["the of and to in", "is it not", "a", "no", "the the the", "wie ist das und was war der"]
)
def test_function_words_alone_have_no_good_match(notes: Index, query: str) -> None:
    assert not notes.search(query).good_match
