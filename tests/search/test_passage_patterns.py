"""Regular expressions and quoted phrases demand what a passage says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from semsearch import Document, Index, UsageError
from semsearch.search import passage_patterns
from semsearch.stores.sql.query_terms import demanded_phrases

TEXTS = {
    "log": "Upload of a.bin ended.\nERR-1042: the disk is full.\nUpload of b.bin ended.",
    "note": "The upload fails with err-1042 if no space is left.",
    "wand": "Clean the steam wand with a damp cloth after every use of the machine.",
    "words": "Steam from the machine; a wand is a stick. Clean both of them.",
    "umlaut": "Die Düse heißt auf Englisch „steam wand“ 😀.",
    "cjk": "蒸汽棒每次使用后都要清洁。",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.create(tmp_path_factory.mktemp("patterns") / "notes", encoder="hashing") as made:
        made.add([Document(name, text) for name, text in TEXTS.items()])
        yield made


@pytest.mark.parametrize(
    "pattern, matching",
    [
        ("ERR-[0-9]{4}", {"log"}),
        ("(?i)err-[0-9]{4}", {"log", "note"}),
        ("^ERR", {"log"}),  # at the beginning of a line
        (r"ended\.$", {"log"}),
        (r"D\pLse", {"umlaut"}),
        ("D.se", {"umlaut"}),
        ("蒸汽.*清洁", {"cjk"}),
        ("no such thing", set()),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_only_passages_that_match_are_hits(index: Index, pattern: str, matching: set[str], mode: str) -> None:
    hits = index.search("upload steam 蒸汽棒 Düse", mode=mode, grep=pattern)  # type: ignore[arg-type]
    assert {hit.document for hit in hits} == matching
    assert any("matches the regular expression; with (?i)" in warning for warning in hits.warnings) == (not matching)


def test_other_filters_hold_beside_it(index: Index) -> None:
    assert [hit.document for hit in index.search("upload", grep="(?i)err", path="note")] == ["note"]
    assert index.search("upload", path="note").warnings == ()
    for nowhere in (index.search("upload", path="nothing/*"), index.search("upload", where="size = 1")):
        assert nowhere.warnings == ("no passage passes the filter of metadata and paths.",) and not nowhere.hits
    assert [hit.document for hit in index.search("upload", grep="(?i)err", must="disk")] == ["log"]
    assert not index.search("upload", grep="(?i)err", where="document = 'wand'")


def test_what_is_added_later_is_matched_too(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        index.add([Document("a", "ERR-1 upload")])
        assert len(index.search("upload", grep="ERR")) == 1
        index.add([Document("b", "ERR-2 upload")])
        assert len(index.search("upload", grep="ERR")) == 2


def test_the_snippet_is_the_sentence_that_matches_and_the_match_is_marked(index: Index) -> None:
    for pattern, document, marked in (("disk is", "log", "disk is"), ("😀", "umlaut", "😀")):
        results = index.search("upload of a file", grep=pattern)
        [hit], [snippet] = results, index.snippets(results)
        assert (hit.document, hit.text[slice(*snippet.words[0])]) == (document, marked)
        assert snippet.start <= snippet.words[0][0] < snippet.end


@pytest.mark.parametrize("wrong", ["(", "(?=a)", r"(a)\1", "a{100000}", "", "x" * 1001, "\ud800", 7])
def test_what_is_no_pattern_is_one_clear_error(index: Index, wrong: str) -> None:
    with pytest.raises(UsageError, match="grep"):
        index.search("upload", grep=wrong)


def test_an_error_repeats_the_pattern_as_it_was_typed(index: Index) -> None:
    for pattern in ("(", "(?m)("):
        with pytest.raises(UsageError) as refused:
            index.search("upload", grep=pattern)
        assert refused.value.message == f"grep is no regular expression of RE2: missing ): {pattern}."


def test_a_hostile_pattern_takes_the_time_of_its_text() -> None:
    text = "a" * 100_000
    for pattern in ("(a+)+$", "(a|aa)+b", "(.*)*x", "(a?){200}a{200}b"):
        began = time.process_time()
        list(passage_patterns.spans(pattern, text))
        assert time.process_time() - began < 2.0, pattern


def test_a_text_with_half_of_a_surrogate_pair_is_matched() -> None:
    assert list(passage_patterns.spans("b", "a\ud800b")) == [(2, 3)]


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_what_is_quoted_has_to_be_in_a_passage(index: Index, mode: str) -> None:
    asked = 'how do I clean the "steam wand"'
    assert {hit.document for hit in index.search(asked, mode=mode)} == {"wand", "umlaut"}  # type: ignore[arg-type]
    assert {"words", "wand"} <= {hit.document for hit in index.search("how do I clean the steam wand")}
    assert {hit.document for hit in index.search("cleaning 「蒸汽棒」")} == {"cjk"}


def test_a_phrase_that_no_passage_has_is_named(index: Index) -> None:
    results = index.search('clean the "milk frother"')
    assert not results and not results.good_match
    assert any('no passage that may be a hit has "milk frother"' in warning for warning in results.warnings)


def test_of_several_things_demanded_those_that_no_passage_has_are_named(index: Index) -> None:
    def said(query: str, *must: str) -> str:
        results = index.search(query, must=must)
        assert not results
        return results.warnings[0].removeprefix("no passage that may be a hit has ")

    assert said('the "steam wand" of a "milk frother"').startswith('"milk frother". Without quotes')
    assert said('the "steam wand"', "蒸汽棒").startswith('all of "蒸汽棒", "steam wand". Without quotes')
    assert said("clean it", "frother") == '"frother". To search without it, leave out must.'


@pytest.mark.parametrize(
    "text, phrases",
    [
        ('the "steam wand" of it', ["steam wand"]),
        ("the “steam wand”, „Düse“ and «bec»", ["steam wand", "Düse", "bec"]),
        ('"one" and "two words"?', ["one", "two words"]),
        ('a 5" disk and a 3" tape', []),  # inches
        ('what is "!"', []),  # no word
        ("it's a \"half", []),
        ("他说「蒸汽棒」很好", ["蒸汽棒"]),
        (" ".join(f'"q{number}"' for number in range(9)), []),  # a text with quotations
        ('"' * 50_000, []),
        (f'who uses "steam wand" {"for " * 10}', ["steam wand"]),
        (f'who uses "steam wand" {"for " * 11}', []),  # a text that describes something
    ],
)
def test_quotes_are_told_from_signs(text: str, phrases: list[str]) -> None:
    assert demanded_phrases(text) == phrases
