"""Promises of the Python API beyond search by text: own vectors, pages, filters, updates, asynchronous calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semsearch import BadFilter, Document, Encoder, Index, NotFound, UsageError, sts


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """Thirty documents on two subjects, with metadata; the embedding cache is empty."""
    monkeypatch.setenv("SEMSEARCH_CACHE", str(tmp_path / "cache.db"))
    with Index.create(tmp_path / "index", encoder="hashing") as made:
        made.add(
            Document(
                f"d{n:02}",
                f"Diesel engine number {n}." if n % 2 else f"Bread number {n} needs salt.",
                metadata={"year": 2000 + n, "lang": "de" if n % 3 else "en"},
            )
            for n in range(30)
        )
        yield made


def test_text_bound_values_and_structure_let_the_same_documents_through(index: Index) -> None:
    ways = [
        index.search("diesel", k=30, where="year > 2020 and lang = 'en'"),
        index.search("diesel", k=30, where="year > :year and lang = :lang", values={"year": 2020, "lang": "en"}),
        index.search("diesel", k=30, where={"year": {"$gt": 2020}, "lang": "en"}),
    ]
    names = [[hit.document for hit in hits] for hits in ways]
    assert names[0] == names[1] == names[2] and set(names[0]) == {"d21", "d24", "d27"}
    assert index.count({"lang": "en"}) == 10 and index.count() == len(index) == 30


def test_pages_of_hits_follow_each_other(index: Index) -> None:
    whole = index.search("diesel engine", k=9)
    pages = [index.search("diesel engine", k=3, offset=offset) for offset in (0, 3, 6)]
    assert [(hit.rank, hit.document) for page in pages for hit in page] == [(h.rank, h.document) for h in whole]
    with pytest.raises(UsageError, match="offset"):
        index.search("diesel", offset=-1)


def test_own_vectors_are_stored_searched_for_and_read_again(index: Index) -> None:
    rows = np.eye(2, index.encoder.dim, dtype=np.float32) * [[3.0], [7.0]]
    report = index.add([Document("x", "first"), Document("y", "second")], vectors=rows)
    assert (report.added, report.embedded) == (2, 0)
    (hit,) = index.search(vector=rows[1], k=1)
    assert hit.document == "y" and hit.scores["cosine"] == pytest.approx(1, abs=1e-3)
    assert index.vectors([hit.id, hit.id]) == pytest.approx(np.stack([rows[1] / 7] * 2), abs=1e-3)
    index.add([Document("y", "second")], vectors=rows[:1])  # the same text with another vector
    assert index.search(vector=rows[0], k=2).hits[1].scores["cosine"] == pytest.approx(1, abs=1e-3)
    assert index.verify() == []


def test_vectors_that_do_not_fit_are_refused_and_nothing_is_stored(index: Index) -> None:
    dim = index.encoder.dim
    for vectors in (np.ones((2, dim)), np.ones((1, dim + 1)), np.full((1, dim), np.nan), np.zeros((1, dim))):
        with pytest.raises(UsageError):
            index.add([Document("x", "text")], vectors=vectors)
    with pytest.raises(UsageError, match="no text"):
        index.add([Document("x", " ")], vectors=np.ones((1, dim)))
    for vector in (np.ones(dim - 1), np.full(dim, np.inf), np.zeros(dim)):
        with pytest.raises(UsageError):
            index.search(vector=vector)
    with pytest.raises(UsageError, match="one query"):
        index.search(["a", "b"], vector=np.ones(dim))  # type: ignore[call-overload]
    with pytest.raises(NotFound):
        index.vectors([10**6])
    assert len(index) == 30


def test_new_metadata_embeds_nothing_and_a_new_text_is_found(index: Index) -> None:
    report = index.update(["d01", "d02"], metadata={"year": None, "checked": True})
    assert (report.changed, report.embedded) == (2, 0)
    assert index.get("d01")["metadata"] == {"lang": "de", "checked": True}
    assert index.count({"checked": True}) == 2 and index.count({"year": 2001}) == 0
    assert index.update("d01", text="A heron stands in the water.").embedded == 1
    assert index.search("heron", k=1)[0].document == "d01" and index.get("d01")["metadata"]["checked"] is True
    with pytest.raises(NotFound):
        index.update("nothing", metadata={"a": 1})
    with pytest.raises(UsageError, match="one document"):
        index.update(["d01", "d02"], text="both")


def test_documents_are_read_in_pages_and_deleted_by_a_filter(index: Index) -> None:
    english = index.get(where={"lang": "en"})
    assert [one["document"] for one in english] == [f"d{n:02}" for n in range(0, 30, 3)]
    assert index.get(where={"lang": "en"}, limit=3, offset=8) == english[8:]
    assert [one["document"] for one in index.get(ids=["d03", "d04", "nothing"])] == ["d03", "d04"]
    assert index.delete(where="year < :year", values={"year": 2010}) == 10 and len(index) == 20
    for wrong in ({}, {"ids": ["d11"], "where": "year > 1"}):
        with pytest.raises(UsageError, match="either"):
            index.delete(**wrong)  # type: ignore[arg-type]
    with pytest.raises(BadFilter):
        index.delete(where={"year": {"$more": 1}})
    assert len(index) == 20


def test_searches_of_one_event_loop_run_side_by_side(index: Index) -> None:
    async def both() -> list[str]:
        await index.aadd([Document("new", "A kettle whistles.")])
        found = await asyncio.gather(index.asearch("kettle", k=1), index.asearch("diesel", k=1, where={"year": 2005}))
        return [hits[0].document for hits in found]

    assert asyncio.run(both()) == ["new", "d05"]


def test_a_string_is_not_taken_as_several_ids(index: Index) -> None:
    calls: list[Callable[[Any], object]] = [
        index.delete,
        index.states,
        index.vectors,
        lambda ids: index.documents(ids=ids),
        lambda ids: index.get(ids=ids),
        lambda words: index.matching(words=words),
    ]
    for call in calls:
        for wrong in ("d01", 5):
            with pytest.raises(UsageError, match=r"takes several .*\['?(d01|5)'?\]"):
                call(wrong)
    assert len(index) == 30
    assert index.delete(["d01"]) == 1


def test_a_value_of_another_type_is_a_usage_error(index: Index) -> None:
    calls: list[Callable[[], object]] = [
        lambda: index.search(5),  # type: ignore[call-overload]
        lambda: index.search(None),  # type: ignore[call-overload]
        lambda: index.search([5]),  # type: ignore[list-item]
        lambda: Encoder.load(5),  # type: ignore[arg-type]
        lambda: Index.open(5),  # type: ignore[arg-type]
        lambda: sts("a", encoder="hashing"),  # type: ignore[arg-type]
        lambda: sts([("a", "b", "c")], encoder="hashing"),  # type: ignore[list-item]
        lambda: sts(5, encoder="hashing"),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(UsageError, match="For example"):
            call()
