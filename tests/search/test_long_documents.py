"""A document with thousands of passages hides no other document, and costs no search of all of its passages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from semsearch import Document, Index
from semsearch.chunking.splitter import Splitter
from semsearch.search.searcher import DEEPEST
from semsearch.types import Mode

PASSAGES = 4 * DEEPEST
SHORT = {f"short{at}": f"A note on roof {at}." for at in range(5)}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    book = "\n\n".join(f"The boiler has valve {at}." for at in range(PASSAGES))
    folder = tmp_path_factory.mktemp("long") / "house"
    with Index.create(folder, encoder="hashing", splitter=Splitter(size=5)) as index:
        index.add([Document("book", book), *(Document(name, text) for name, text in SHORT.items())])
        yield index


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_documents_beside_one_that_has_all_of_the_best_candidates_are_hits_too(index: Index, mode: Mode) -> None:
    results = index.search("the boiler has a valve", k=10, mode=mode)
    documents = [hit.document for hit in results]
    assert documents[0] == "book" and sorted(documents[1:]) == sorted(SHORT)
    assert [hit.rank for hit in results] == [1, 2, 3, 4, 5, 6]
    scores = [hit.score for hit in results]
    assert scores == sorted(scores, reverse=True)
    assert results.plan["depth"] < PASSAGES
    second = index.search("the boiler has a valve", k=3, offset=3, mode=mode)
    assert [hit.document for hit in second] == [hit.document for hit in results[3:6]]


def test_passages_beside_those_of_an_example_are_hits(index: Index) -> None:
    results = index.search("", like="book", k=3, group="passage")
    assert len(results) == 3 and {hit.document for hit in results} <= SHORT.keys()


def test_copies_in_their_thousands_are_one_hit_and_hide_no_other_document(tmp_path: Path) -> None:
    with Index.create(tmp_path / "copies", encoder="hashing") as index:
        index.add([Document(f"copy{at}", "The boiler has a valve.") for at in range(2 * DEEPEST)])
        index.add([Document(name, text) for name, text in SHORT.items()])
        hits = index.search("the boiler has a valve", k=10, mode="semantic")
        assert [hit.document.startswith("copy") for hit in hits] == [True, *[False] * 5]
        strong = index.search("the boiler has a valve", k=10, mode="semantic", min_strength=0.5)
        assert strong.plan["depth"] <= 4 * DEEPEST and all((hit.strength or 0) >= 0.5 for hit in strong)
