"""Searches of one open index, one by one and many at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from semsearch import Document, Index, Query
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import Unreadable, UsageError
from semsearch.types import Role, TruncationStats

if TYPE_CHECKING:
    from semsearch.types import Vectors

SUBJECTS = ("diesel engine", "bread and salt", "rain cloud", "sailor's knot", "star in orbit")


class CountingEncoder(HashingEncoder):
    """The hashing encoder, which remembers the queries of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []

    def encode(self, texts: list[str], *, role: Role = "passage") -> Vectors:  # type: ignore[override]
        self.calls += [list(texts)] if role == "query" else []
        return super().encode(texts, role=role)


@pytest.fixture
def encoder() -> CountingEncoder:
    return CountingEncoder()


@pytest.fixture
def index(tmp_path: Path, encoder: CountingEncoder) -> Iterator[Index]:
    with Index.create(tmp_path / "notes", encoder=encoder) as made:  # type: ignore[arg-type]
        made.add([Document(f"d{n}", f"Number {n} tells of {SUBJECTS[n % 5]}.") for n in range(40)])
        yield made


def test_many_queries_are_answered_as_one_by_one_and_encoded_in_one_call(
    index: Index, encoder: CountingEncoder
) -> None:
    queries = [
        "diesel",
        "diesel",
        Query("salt", mode="keyword"),
        Query("rain", more=(("cloud", 2.0),), less=(("star", 0.5),)),
        Query(like=("d3",), mode="semantic"),
    ]
    alone = [index.search(query, k=3) for query in queries]
    encoder.calls.clear()
    together = index.search(queries, k=3)
    assert encoder.calls == [["diesel", "rain", "cloud", "star"]]
    assert [found.hits for found in together] == [found.hits for found in alone]
    assert [found.query for found in together] == [found.query for found in alone]


def test_each_of_many_queries_is_told_its_share_of_the_encoding(index: Index) -> None:
    shares = [found.took_ms["encode"] for found in index.search(["diesel", "salt"])]
    assert shares[0] == shares[1] > 0


def test_a_query_that_cannot_be_answered_is_refused_before_any_is_encoded(
    index: Index, encoder: CountingEncoder
) -> None:
    with pytest.raises(UsageError):
        index.search(["diesel", "salt", Query("rain", k=0)])
    assert encoder.calls == []


def test_an_index_whose_encoder_cannot_be_remembered_is_not_half_made(tmp_path: Path, encoder: CountingEncoder) -> None:
    class Odd(CountingEncoder):
        @property
        def info(self) -> dict[str, object]:
            return {"labels": {"a", "set"}}

    with pytest.raises(Unreadable):
        Index.create(tmp_path / "odd", encoder=Odd())  # type: ignore[arg-type]
    with Index.create(tmp_path / "odd", encoder=encoder) as index:  # type: ignore[arg-type]
        assert index.add([Document("a", "A text.")]).added == 1


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files in /proc")
def test_a_closed_index_leaves_no_file_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMSEARCH_CACHE", str(tmp_path / "cache.db"))
    made = Index.create(tmp_path / "notes", encoder="hashing")
    made.add([Document("a", "A text.")])
    made.close()
    index = Index.open(tmp_path / "notes")
    assert index.search("text")
    index.add([Document("b", "Another text.")])
    assert _open_below(tmp_path) > {"cache.db", "store.db", "writer.lock"}
    index.close()
    assert _open_below(tmp_path) == set()


def _open_below(folder: Path) -> set[str]:
    names = set()
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the one that lists them is gone again
            names |= {link.readlink().name} if link.readlink().is_relative_to(folder) else set()
    return names


def test_one_text_where_several_may_stand_is_no_list_of_letters(index: Index) -> None:
    assert index.search("tells", k=40, must="diesel").hits == index.search("tells", k=40, must=("diesel",)).hits
    assert len(index.search("tells", k=40, must="diesel")) == 8
    assert index.search("", like="d3", mode="semantic", k=3).hits == index.similar("d3", k=3).hits
    weighted = index.search("rain", more=(("cloud", 1.0),), less=(("star", 1.0),), k=5).hits
    assert index.search("rain", more="cloud", less="star", k=5).hits == weighted


def test_no_queries_have_no_answers(index: Index) -> None:
    assert index.search([]) == []


def test_what_is_kept_between_searches_follows_every_commit_of_another_index(index: Index, tmp_path: Path) -> None:
    with Index.open(tmp_path / "notes", encoder=HashingEncoder()) as reader:
        assert reader.search("diesel", k=50)[0].strength is not None
        before = reader.search("zebra", mode="keyword")
        index.add([Document("z", "A zebra has stripes.")])
        after = reader.search("zebra", mode="keyword")
    assert (len(before), [hit.document for hit in after]) == (0, ["z"])


def test_a_query_that_is_remembered_is_not_encoded_again_however_it_is_asked(index: Index) -> None:
    encoder = CountingEncoder()
    with Index.open(index.path, encoder=encoder, query_cache_size=8) as asked:  # type: ignore[arg-type]
        first = asked.search("diesel engine")
        assert encoder.calls == [["diesel engine"]]
        for how in ({"alpha": 0.2}, {"mode": "semantic"}, {"k": 3}, {"path": "d1*"}, {"min_strength": 0.1}):
            again = asked.search("diesel engine", **how)
            assert again.plan["encoded"] == 0
        asked.snippets(first)
        assert encoder.calls == [["diesel engine"]]
        more = asked.search("diesel engine", more=(("salt", 1.0),))
        assert encoder.calls == [["diesel engine"], ["salt"]]
        assert (first.plan["encoded"], more.plan["encoded"]) == (1, 1)


def test_what_is_remembered_answers_as_what_is_encoded(index: Index) -> None:
    queries = [Query("diesel"), Query("rain", more=(("cloud", 2.0),), less=(("diesel", 0.5),)), Query("diesel")]
    with Index.open(index.path, query_cache_size=2) as asked:
        remembered = [asked.search(query).hits for query in (*queries, *queries)]
    assert remembered == [index.search(query).hits for query in (*queries, *queries)]


def test_only_the_last_queries_are_remembered(index: Index) -> None:
    encoder = CountingEncoder()
    with Index.open(index.path, encoder=encoder, query_cache_size=1) as asked:  # type: ignore[arg-type]
        for text in ("diesel", "salt", "salt", "diesel"):
            asked.search(text)
    assert encoder.calls == [["diesel"], ["salt"], ["diesel"]]


def test_a_query_that_is_cut_says_so_each_time(index: Index) -> None:
    class Cutting(CountingEncoder):
        truncation = TruncationStats()

        def encode(self, texts: list[str], *, role: Role = "passage") -> Vectors:  # type: ignore[override]
            self.truncation.tokens += 7
            return super().encode(texts, role=role)

    with Index.open(index.path, encoder=Cutting(), query_cache_size=8) as asked:  # type: ignore[arg-type]
        assert all("7 tokens" in asked.search("diesel").warnings[0] for _ in range(2))
