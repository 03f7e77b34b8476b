"""Promises of the Python API beyond search by text: own vectors, pages, filters, updates, asynchronous calls."""

from __future__ import annotations

import asyncio
import itertools
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch import (
    AsyncIndex,
    BadFilter,
    Document,
    Encoder,
    Index,
    Locked,
    NotFound,
    SemsearchError,
    TooLarge,
    Unreadable,
    UsageError,
    admin,
    sts,
)
from semsearch.encoders.hashing import HashingEncoder
from semsearch.utils import globs


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
    assert index.analysis.verify() == []


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


def test_a_list_by_path_reads_on_where_the_page_before_ended(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    matches = globs.matches_document
    monkeypatch.setattr(globs, "matches_document", lambda *place: looked.append(place[1]) or matches(*place))
    listed: list[str] = []
    while page := index.documents(path="d[01]*", after=listed[-1] if listed else "", limit=4):
        listed += [one["id"] for one in page]
    assert listed == [f"d{n:02}" for n in range(20)] and len(looked) < 50


def test_no_more_hits_are_read_than_the_reader_of_an_index_allows(index: Index) -> None:
    index.add(Document(f"long {at}", "A pump.", {"log": "x" * 1000}) for at in range(6))
    with Index.open(index.path, most_characters=3000) as bounded:
        assert len(bounded.search("pump", mode="keyword", group="passage", k=3)) == 3
        with pytest.raises(TooLarge, match="fewer"):
            bounded.search("pump", mode="keyword", group="passage", k=5)


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
        await AsyncIndex(index).add([Document("new", "A kettle whistles.")])
        found = await asyncio.gather(index.asearch("kettle", k=1), index.asearch("diesel", k=1, where={"year": 2005}))
        return [hits[0].document for hits in found]

    assert asyncio.run(both()) == ["new", "d05"]


def test_a_string_is_not_taken_as_several_ids(index: Index) -> None:
    calls: list[Callable[[Any], object]] = [
        index.delete,
        index.analysis.states,
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


WRONG_FIELDS: list[dict[str, Any]] = [
    {"k": 0}, {"k": "abc"}, {"k": True}, {"offset": "x"}, {"mode": "fuzzy"}, {"group": "x"}, {"path": 5}, {"where": 5},
    {"alpha": 3}, {"alpha": "x"}, {"min_strength": "x"}, {"min_strength": float("nan")}, {"exact": "x"}, {"must": 5},
    {"must": [5]}, {"more": 5}, {"more": [("a",)]}, {"more": [("a", "b")]}, {"more": [("a", -1)]}, {"more": [(" ", 1)]},
    {"less": " "}, {"less": [("a", float("inf"))]}, {"like": 1.5}, {"like": [None]}, {"vector": "x"}, {"kk": 3},
    {"vector": [["a"]]},
]  # fmt: skip


@pytest.mark.parametrize("fields", WRONG_FIELDS, ids=str)
def test_a_field_of_a_query_of_another_type_is_a_usage_error(index: Index, fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        index.search("diesel", **fields)
    assert not re.search(r"--\w| -k ", str(caught.value))


def test_a_value_of_another_type_is_a_usage_error(index: Index, tmp_path: Path) -> None:
    wrong: Any = 5
    calls: list[Callable[[], object]] = [
        lambda: index.search(wrong),
        lambda: index.search([wrong]),
        lambda: Encoder.load(wrong),
        lambda: Encoder.load("hashing").encode(wrong),
        lambda: Index.open(wrong),
        lambda: Index.create(tmp_path / "new", encoder=wrong),
        lambda: Index.create(tmp_path / "new", encoder="hashing", backend="nothing"),
        lambda: Index.create(tmp_path / "new", encoder="hashing", splitter=wrong),
        lambda: sts("a", encoder="hashing"),  # type: ignore[arg-type]
        lambda: sts([("a", "b", "c")], encoder="hashing"),  # type: ignore[list-item]
        lambda: sts(wrong, encoder="hashing"),
        lambda: index.add(wrong),
        lambda: index.add([wrong]),
        lambda: index.add(wrong, vectors=[[1.0]]),
        lambda: index.add([Document("x", "y", marks=wrong)]),
        lambda: index.get(limit=wrong - 6),
        lambda: index.get(offset="x"),  # type: ignore[call-overload]
        lambda: index.documents(limit=-2),
        lambda: index.update(wrong),
        lambda: index.update("d01", metadata=wrong),
        lambda: index.update("d01", text=wrong),
        lambda: index.annotate(wrong, {"tag": "x"}),
        lambda: index.annotate("d01", wrong),
        lambda: index.analysis.layout("x"),  # type: ignore[arg-type]
        lambda: index.analysis.days([wrong]),
        lambda: index.delete([wrong]),
        lambda: index.similar(None),  # type: ignore[arg-type]
        lambda: index.analysis.sample_vectors("x"),  # type: ignore[arg-type]
        lambda: index.vectors(["a"]),  # type: ignore[list-item]
        lambda: index.sync(wrong),
        lambda: index.sync(tmp_path, options=wrong),
        lambda: index.analysis.audit(k=0),
        lambda: index.count(wrong),
    ]
    for at, call in enumerate(calls):
        with pytest.raises(UsageError):
            call()
            pytest.fail(f"call {at} was accepted")
    assert len(index) == 30 and not admin.exists(tmp_path / "new")


def test_a_document_that_cannot_be_stored_is_named(index: Index) -> None:
    with pytest.raises(Unreadable, match=r"document 'x' cannot be stored: .* JSON"):
        index.add([Document("x", "y", {"when": object()})])


def test_closed_locked_and_foreign_indexes_are_plain_words(index: Index, tmp_path: Path) -> None:
    class Mine(HashingEncoder):
        name = "mine"

    with Index.create(tmp_path / "custom", encoder=Mine(64)) as custom:
        custom.add([Document("a", "b")])
    with (
        Index.open(tmp_path / "custom") as again,
        pytest.raises(NotFound, match=r"pass its encoder: .*encoder=ENCODER"),
    ):
        again.search("b")
    with Index.open(tmp_path / "custom", encoder=Mine(64)) as again:
        assert again.search("b")[0].document == "a"
    with Index.open(index.path) as second, pytest.raises(Locked, match="is being written to by another"):
        second.add([Document("x", "y")])
    second.close()
    for call in (
        lambda: second.search("x"),
        lambda: len(second),
        lambda: list(second.pages()),
        second.analysis.clusters,
    ):
        with pytest.raises(SemsearchError, match=r"^index index is closed\. Open it again\.$"):
            call()  # type: ignore[operator]


def test_every_asynchronous_method_answers_as_its_synchronous_one(index: Index) -> None:
    async def calls() -> None:
        concurrent = AsyncIndex(index)
        assert await concurrent.get("d01") == index.get("d01")
        assert await concurrent.get(where={"lang": "en"}, limit=3) == index.get(where={"lang": "en"}, limit=3)
        assert await concurrent.count("year > :y", values={"y": 2020}) == 9
        assert (await concurrent.similar("d01", k=3)).hits == index.similar("d01", k=3).hits
        vector = index.vectors([1])[0]
        assert (await index.asearch(vector=vector, k=3)).hits == index.search(vector=vector, k=3).hits
        assert (await concurrent.search(vector=vector, k=3)).hits == index.search(vector=vector, k=3).hits
        assert (await concurrent.upsert([Document("d01", "A kettle whistles.")])).changed == 1
        assert (await concurrent.update("d01", metadata={"year": 1})).changed == 1
        assert await concurrent.delete(["d01"]) == 1 and await concurrent.delete(where={"lang": "en"}) == 10
        with pytest.raises(NotFound):
            await concurrent.get("d01")

    asyncio.run(calls())
    assert len(index) == 19


def test_pages_have_each_document_that_passes_once_in_order(index: Index) -> None:
    pages = list(index.pages(size=7))
    assert [len(page) for page in pages] == [7, 7, 7, 7, 2]
    assert [one for page in pages for one in page] == [index.get(f"d{n:02}") for n in range(30)]
    german = [one["document"] for page in index.pages(where={"lang": "de"}, size=3) for one in page]
    assert german == index.matching(where={"lang": "de"})
    for wrong in (0, -1, 2.5, "10", True):
        with pytest.raises(UsageError, match="size"):
            index.pages(size=wrong)  # type: ignore[arg-type]
    with pytest.raises(BadFilter):
        index.pages(where="year >")


def test_a_list_of_documents_is_of_one_moment(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.open(index.path) as reader:
        full_documents = reader._reader.full_documents

        def interrupted(ids: Sequence[str]) -> list[Document]:
            index.delete(["d03"])  # as another process does meanwhile
            return full_documents(ids)

        monkeypatch.setattr(reader._reader, "full_documents", interrupted)
        assert [one["document"] for one in reader.get(limit=3, offset=1)] == ["d01", "d02", "d03"]
        assert [one["document"] for one in reader.get(limit=3, offset=1)] == ["d01", "d02", "d04"]


names = st.text("abcd", min_size=1, max_size=3)


@given(
    before=st.sets(names, min_size=1),
    changes=st.lists(st.tuples(st.sampled_from(["add", "change", "delete"]), names), max_size=12),
    size=st.integers(1, 4),
    filtered=st.booleans(),
)
def test_pages_visit_a_document_that_stays_exactly_once_while_another_index_writes(
    before: set[str], changes: list[tuple[str, str]], size: int, filtered: bool
) -> None:
    with tempfile.TemporaryDirectory() as home, Index.create(Path(home) / "index", encoder="hashing") as writer:
        writer.add([Document(name, name, {"year": 1}) for name in before])
        staying, seen, queue = set(before), [], iter(changes)
        with Index.open(writer.path) as reader:
            for page in reader.pages(where="year = 1" if filtered else None, size=size):
                assert len(page) <= size
                seen += [one["document"] for one in page]
                for what, name in itertools.islice(queue, 2):
                    if what == "delete":
                        writer.delete([name])
                        staying.discard(name)
                    else:
                        writer.add([Document(name, f"{name} {what}", {"year": 1})])
        assert seen == sorted(set(seen)) and staying <= set(seen)


def test_pages_are_right_beside_a_thread_that_adds(index: Index) -> None:
    stop = threading.Event()

    def write() -> None:
        for n in itertools.takewhile(lambda _: not stop.is_set(), itertools.count()):
            index.add([Document(f"d{n % 30:02}x{n}", "Added meanwhile.")])

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(write)
        seen = [one["document"] for page in index.pages(size=4) for one in page]
        stop.set()
        working.result()
    assert len(seen) == len(set(seen)) and {f"d{n:02}" for n in range(30)} <= set(seen)


def test_a_number_that_no_passage_can_have_is_not_found(tmp_path: Path) -> None:
    with Index.create("notes", encoder="hashing", home=tmp_path) as index:
        index.add([Document("a", "Tea is hot.")])
        for number in (10**40, -(10**40), 2**63):
            for call in (index.get, index.similar, lambda one: index.vectors([one])):
                with pytest.raises(NotFound):
                    call(number)
            assert index.search("tea", like=1, mode="keyword").query.like == (1,)
            assert list(index.search("tea", like=number, mode="keyword"))
