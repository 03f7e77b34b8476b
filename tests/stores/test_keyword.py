from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from helpers import lexical
from helpers.smallstore import filled, names
from hypothesis import given
from hypothesis import strategies as st

from semsearch.errors import UsageError
from semsearch.stores.local import LocalWriter, open_reader
from semsearch.stores.local.full_text import matching
from semsearch.stores.protocol import Lexical
from semsearch.stores.sql import lexical_search, query_terms
from semsearch.types import Document

TEXTS = {
    "solar": "Solar panels turn sunlight into electricity. Running a panel costs little.",
    "diesel": "Diesel engines ignite the fuel by compression.",
    "bread": "A naïve baker's café sells sourdough bread, and it's good; don't ask.",
    "release": "Python 3.11 was released in October. C++ and Go are languages.",
    "chinese": "如何修理漏水的水龙头？先关水，用Python写程序。",
    "tokyo": "東京は日本の首都です。猫が好き。",
    "korean": "학교에서 친구를 만났다.",
    "thai": "แมวชอบกินปลาในตอนเช้า",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalWriter]:
    documents = [Document(name, text) for name, text in TEXTS.items()]
    with filled(tmp_path_factory.mktemp("keyword") / "small", documents) as made:
        yield made


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalWriter]:
    """2,000 passages in which "common" stands everywhere and word7 in every seventh."""
    texts = [f"common word{i % 7} word{i % 11} thing{i}" for i in range(2000)]
    documents = [Document(str(i), text) for i, text in enumerate(texts)]
    with filled(tmp_path_factory.mktemp("keyword") / "crowd", documents) as made:
        yield made


def search(
    store: LocalWriter, query: str, k: int = 10, *, must: Sequence[str] = (), allowed: np.ndarray | None = None
) -> Lexical:
    """A search in which every word of `must` has to be there."""
    if must:
        having = matching.containing(store.connection.raw, must)
        allowed = having if allowed is None else np.intersect1d(allowed, having)
    return lexical.search(store.connection.raw, query, k, allowed)


def found(store: LocalWriter, query: str, k: int = 10, **options: object) -> list[str]:
    ids, scores, *_ = search(store, query, k, **options)  # type: ignore[arg-type]
    assert scores == sorted(scores, reverse=True)
    return names(store, ids)


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("how do engines run on diesel", "diesel"),
        ("panel", "solar"),
        ("SOLAR PANEL", "solar"),
        ("naive cafe", "bread"),
        ("don’t", "bread"),
        ("3.11", "release"),
        ("languages C++", "release"),
        ('"turn sunlight"', "solar"),
        ("水龙头", "chinese"),
        ("怎么修理漏水的水龙头", "chinese"),
        ("漏水", "chinese"),
        ("python 程序", "chinese"),
        ("東京", "tokyo"),
        ("猫", "tokyo"),
        ("日本の首都", "tokyo"),
        ("학교", "korean"),
        ("ปลา", "thai"),
        ("แมวกินปลา", "thai"),
    ],
)
def test_words_find_their_passage_in_any_script(store: LocalWriter, query: str, best: str) -> None:
    assert found(store, query)[0] == best


def test_a_word_finds_its_other_forms(store: LocalWriter) -> None:
    assert found(store, "runs") == ["solar"]
    assert found(store, "igniting engine") == ["diesel"]


def test_a_latin_word_inside_a_chinese_run_is_found(store: LocalWriter) -> None:
    assert set(found(store, "Python")) == {"release", "chinese"}


def test_a_phrase_is_found_as_a_phrase_only(store: LocalWriter) -> None:
    assert found(store, '"panels turn"') == ["solar"]
    assert found(store, '"turn panels"') == []


@pytest.mark.parametrize("query", ["", "   ", '"', '""', "???", "\0", "\ud800", "。、", "' . ,", "zzzzqq"])
def test_a_query_without_known_words_finds_nothing(store: LocalWriter, query: str) -> None:
    assert found(store, query) == []


@pytest.mark.parametrize(
    "query",
    [
        "panel NOT",
        "NEAR(panel",
        "text:panel",
        "-panel",
        "panel*",
        '"panel',
        "^panel",
        "{panel} + (",
        "panel\0",
        "panel';--",
    ],
)
def test_fts_syntax_in_a_query_is_only_words(store: LocalWriter, query: str) -> None:
    assert found(store, query) == ["solar"]


@given(st.text(max_size=60))
def test_no_text_breaks_the_search(store: LocalWriter, query: str) -> None:
    ids, *_ = lexical.search(store.connection.raw, query, 5)
    assert len(ids) <= 5
    for text in TEXTS.values():
        spans = lexical_search.spans(text, query)
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert all(left[1] <= right[0] for left, right in pairwise(spans))


@pytest.mark.parametrize(
    "query",
    [
        "x" * 100_000,
        "漢字" * 50_000,
        " ".join(f"thing{i} word{i}" for i in range(10_000)),
        '"' * 100_000,
        "common " * 14_000,
    ],
    ids=["one word", "one run", "20,000 words", "quotes", "repeated"],
)
def test_a_query_of_100_000_characters_is_answered_at_once(crowd: LocalWriter, query: str) -> None:
    began = time.thread_time()
    lexical.search(crowd.connection.raw, query, 10)
    assert time.thread_time() - began < 1.5  # of the processor, whoever else is busy: 0.1 s


def test_a_word_of_most_passages_is_left_out_while_others_match(crowd: LocalWriter) -> None:
    assert found(crowd, "common thing77", k=50) == ["77"]
    assert len(found(crowd, "common", k=50)) == 50
    assert len(found(crowd, "common unheardof", k=50)) == 50


def test_rare_words_count_more_and_ties_go_by_id(crowd: LocalWriter) -> None:
    ids, scores, *_ = lexical.search(crowd.connection.raw, "thing1500 word3", 4)
    assert names(crowd, ids)[0] == "1500"
    assert scores[0] > scores[1]
    same = [one for one, score in zip(ids, scores, strict=True) if score == scores[-1]]
    assert same == sorted(same)


@pytest.mark.parametrize("size", [1, 40, 1500])
def test_only_allowed_passages_are_found_however_many_they_are(crowd: LocalWriter, size: int) -> None:
    every, *_ = lexical.search(crowd.connection.raw, "word3 word5", 3000)
    allowed = np.sort(np.random.default_rng(size).permutation(np.arange(1, 2001))[:size])
    ids, *_ = lexical.search(crowd.connection.raw, "word3 word5", 3000, allowed=allowed)
    assert ids == [i for i in every if i in set(allowed.tolist())]


def test_no_allowed_passage_means_no_hit(store: LocalWriter) -> None:
    for query in ("panel", "漏水", "水龙头"):
        assert found(store, query, allowed=np.zeros(0, dtype=np.int64)) == []


def test_short_runs_respect_what_is_allowed(store: LocalWriter) -> None:
    tokyo = matching.containing(store.connection.raw, ["東京"])
    assert found(store, "猫", allowed=tokyo) == ["tokyo"]
    assert found(store, "漏水", allowed=tokyo) == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["panel"], {"solar"}),
        (["panels", "electricity"], {"solar"}),
        (["panel", "diesel"], set()),
        (["turn sunlight"], {"solar"}),
        (["sunlight turn"], set()),
        (["CAFE"], {"bread"}),
        (["漏水"], {"chinese"}),
        (["修理漏水"], {"chinese"}),
        (["用Python写"], {"chinese"}),
        (["%"], None),
        (["水_"], set()),
        (["python"], {"release", "chinese"}),
        (["python", "猫"], set()),
    ],
)
def test_containing_wants_every_word(store: LocalWriter, words: list[str], expected: set[str] | None) -> None:
    if expected is None:
        with pytest.raises(UsageError, match="needs a word") as caught:
            matching.containing(store.connection.raw, words)
        assert "a word or a phrase" in caught.value.fix
        return
    assert set(names(store, matching.containing(store.connection.raw, words))) == expected


def test_must_narrows_a_search(store: LocalWriter) -> None:
    assert found(store, "panel diesel", must=["compression"]) == ["diesel"]


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("Solar panels are running.", "the panel runs", ["panels", "running"]),
        ("the cat", "the", ["the"]),
        ("Café, naïve!", "cafe NAIVE", ["Café", "naïve"]),
        ("如何修理漏水的水龙头", "水龙头", ["水龙头"]),
        ("用Python写程序", "python 程序", ["Python", "程序"]),
        ("修理漏水的水龙头", "怎么修理漏水", ["修理漏水"]),
        ("a \x02panel\x03 \0 panel", "panel", ["panel", "panel"]),
        ("𝒳 panel 😀 panels", "panel", ["panel", "panels"]),
        ("turn sunlight and turn", '"turn sunlight"', ["turn sunlight"]),
        ("nothing here", "panel", []),
        ("", "panel", []),
        ("panel", "", []),
    ],
)
def test_spans_are_the_words_that_matched(text: str, query: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in lexical_search.spans(text, query)] == marked


def test_terms_are_distinct_and_keep_phrases() -> None:
    text = 'How the "solar panel" of the 3.11 café’s x,y 用Python写 how'
    assert query_terms.query_terms(text) == [
        "How",
        "the",
        "solar panel",
        "of",
        "3.11",
        "café's",
        "x",
        "y",
        "用",
        "Python",
        "写",
    ]


def test_a_reader_searches_too(store: LocalWriter, tmp_path: Path) -> None:
    with filled(tmp_path / "other", [Document("a", "a panel"), Document("b", "東京")]) as made:
        folder = made.connection.folder
    with open_reader(folder) as reader, reader.snapshot():
        assert found(reader, "panel") == ["a"]
        assert found(reader, "東京") == ["b"]


def test_a_passage_covers_the_share_of_the_query_that_its_words_carry(store: LocalWriter) -> None:
    found, _, everything, *_ = lexical.search(store.connection.raw, "diesel compression", 5)
    assert names(store, found) == ["diesel"]
    assert everything == [1.0]
    _, _, some, *_ = lexical.search(store.connection.raw, "diesel compression sandwiches on weekdays", 5)
    assert 0.2 < some[0] < 0.8  # what stands nowhere is missed
    _, _, same, *_ = lexical.search(store.connection.raw, "why does my diesel compression", 5)
    assert same == [1.0]  # function words are not


def test_in_unspaced_scripts_a_few_letters_in_common_cover_little(store: LocalWriter) -> None:
    for text in ("如何修理漏水", "日本の首都"):
        assert lexical.search(store.connection.raw, text, 1).coverage == [1.0]
    for text in ("修理漏斗和缴纳个人所得税", "水の都ヴェネツィアの首都"):
        assert max(lexical.search(store.connection.raw, text, 1).coverage) < 0.5


def test_shares_fall_with_the_scores_and_lie_between_none_and_all(store: LocalWriter) -> None:
    for text in ("sunlight bread October", "修理", "用Python写程序 diesel", "the"):
        _, scores, shares, *_ = lexical.search(store.connection.raw, text, 8)
        assert all(0 <= share <= 1 for share in shares)
        assert shares == sorted(shares, reverse=True)
        assert len(shares) == len(scores)


def test_function_words_find_passages_only_where_there_is_nothing_else(store: LocalWriter) -> None:
    assert names(store, lexical.search(store.connection.raw, "is the diesel", 8)[0]) == ["diesel"]
    assert "diesel" in names(store, lexical.search(store.connection.raw, "the", 8)[0])


def test_a_passage_is_complete_with_every_word_that_is_not_everywhere(store: LocalWriter) -> None:
    """In any script; a word that no passage has leaves none complete."""
    for query, expected in (
        ("is the diesel ignited by compression", ["diesel"]),
        ("diesel unicorn", []),
        ("東京", ["tokyo"]),
    ):
        found = lexical.search(store.connection.raw, query, 8)
        complete = names(store, [one for one in found.ids if one in found.complete])
        assert set(complete) <= set(expected) and bool(complete) == bool(expected), query


@pytest.mark.parametrize(
    ("typed", "meant"), [("deisel", "diesel"), ("sunlihgt", "sunlight"), ("compresion", "compress")]
)
def test_a_mistyped_word_finds_the_word_that_was_meant(store: LocalWriter, typed: str, meant: str) -> None:
    found = lexical.search(store.connection.raw, f"{typed} on weekdays", 5)
    assert found.corrected == {typed: meant} and len(found.ids)
    right = lexical.search(store.connection.raw, meant, 5)
    assert right.ids[0] in found.ids and right.corrected == {}


@pytest.mark.parametrize("word", ["E47119", "zebra", "xylophone", "teh", "東京都庁", "дизель"])
def test_a_word_that_is_like_no_other_is_not_replaced(store: LocalWriter, word: str) -> None:
    assert lexical.search(store.connection.raw, word, 5).corrected == {}
