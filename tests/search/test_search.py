"""What a search promises: order, grouping, folding, strength, examples, and what it says when nothing fits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest

from semsearch import Document, Encoder, Index, Query
from semsearch.chunking.splitter import Splitter
from semsearch.encoders.base import BaseEncoder
from semsearch.errors import NotFound, UsageError
from semsearch.stores.local import LocalWriter
from semsearch.types import Mark, Role, TruncationStats

if TYPE_CHECKING:
    from semsearch.types import Vectors

TEXTS = {
    "engines": "Diesel fuel ignites because the air was compressed so much that it is hot.",
    "bread": "A loaf needs flour, water, salt and a good deal of patience.",
    "weather": "Warm air rises, cools and turns into clouds that bring rain.",
    "knots": "A bowline makes a loop that neither slips nor jams.",
    "codes": "Error E4711 means that the pump has lost its prime.",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, minilm_encoder: Encoder) -> Iterator[Index]:
    with Index.create(tmp_path_factory.mktemp("search") / "index", encoder=minilm_encoder) as made:
        made.add([Document(key, text, metadata={"topic": key}) for key, text in TEXTS.items()])
        yield made


def test_other_words_find_the_same_meaning(index: Index) -> None:
    assert index.search("how does the motor of a lorry set its petrol alight?", k=1)[0].document == "engines"


def test_a_rare_code_is_found_by_its_letters(index: Index) -> None:
    assert index.search("E4711", k=1)[0].document == "codes"


def test_standing_in_both_rankings_does_not_beat_being_right(index: Index) -> None:
    found = index.search("what does one need to bake something with a crust?", k=2)
    assert found[0].document == "bread"


def test_the_cosine_of_a_hit_is_that_of_query_and_text(index: Index, minilm_encoder: Encoder) -> None:
    for hit in index.search("rain", mode="hybrid"):
        direct = minilm_encoder.similarity(minilm_encoder.encode_query("rain"), minilm_encoder.encode(hit.text))
        assert hit.scores["cosine"] == pytest.approx(float(direct[0, 0]), abs=2e-3)


def test_hits_are_ranked_by_score(index: Index) -> None:
    for mode in ("hybrid", "semantic", "keyword"):
        hits = index.search("air that rises", mode=mode)
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_nothing_that_fits_is_said(index: Index) -> None:
    assert any("no good match" in warning for warning in index.search("tax law of Liechtenstein", k=1).warnings)
    assert not index.search("clouds and rain", k=1).warnings


def test_a_good_match_is_far_stronger_than_the_rest(index: Index) -> None:
    first, second = index.search("clouds and rain", k=2, mode="semantic")
    assert first.strength is not None and second.strength is not None
    assert first.strength > 0.7 > second.strength


def test_less_pushes_away_and_more_pulls(index: Index) -> None:
    plain = [hit.document for hit in index.search("air", mode="semantic")]
    pushed = [hit.document for hit in index.search("air", mode="semantic", less=(("weather and clouds", 1.0),))]
    assert pushed.index("weather") > plain.index("weather")
    pulled = [hit.document for hit in index.search("air", mode="semantic", more=(("baking bread", 2.0),))]
    assert pulled.index("bread") < plain.index("bread")


def test_must_is_a_condition(index: Index) -> None:
    assert [hit.document for hit in index.search("air", must=("rain",))] == ["weather"]


def test_filters_choose_before_the_top_is_taken(index: Index) -> None:
    assert [hit.document for hit in index.search("diesel", k=1, where='topic = "knots"')] == ["knots"]


def test_an_example_is_not_its_own_answer(index: Index) -> None:
    assert "engines" not in [hit.document for hit in index.similar("engines")]
    number = index.search("diesel", k=1)[0].id
    assert number not in [hit.id for hit in index.similar(number)]
    with pytest.raises(NotFound, match="nobody"):
        index.similar("nobody")


def test_a_list_of_queries_gives_what_each_gives_alone(index: Index) -> None:
    queries = ["rain", "a loop of rope", "salt"]
    together = index.search(queries, k=3)
    for query, results in zip(queries, together, strict=True):
        assert [hit.id for hit in results] == [hit.id for hit in index.search(query, k=3)]


def test_a_document_with_many_passages_takes_one_place(tmp_path: Path, minilm_encoder: Encoder) -> None:
    long = " ".join(f"Rain number {n} falls from cloud number {n} on a day in week {n}." for n in range(30))
    with Index.create(tmp_path / "i", encoder=minilm_encoder, splitter=Splitter(size=32)) as index:
        index.add([Document("long", long), Document("bread", TEXTS["bread"])])
        grouped = index.search("rain from clouds", k=5)
        assert sorted(hit.document for hit in grouped) == ["bread", "long"]
        assert grouped[0].more_in_document == index.info()["passages"] - 2
        assert [hit.document for hit in index.search("rain from clouds", k=5, group="passage")] == ["long"] * 5


def test_copies_fold_into_the_first_and_are_named(tmp_path: Path, minilm_encoder: Encoder) -> None:
    with Index.create(tmp_path / "i", encoder=minilm_encoder) as index:
        index.add(
            [
                Document("one", TEXTS["engines"]),
                Document("two", TEXTS["engines"].upper()),
                Document("bread", TEXTS["bread"]),
            ]
        )
        hits = index.search("diesel", k=3)
        each = index.search("diesel", k=3, group="copy")
    assert [hit.document for hit in hits] == ["one", "bread"]
    assert hits[0].near_copies == ("two",)
    assert [(hit.document, hit.near_copies) for hit in each] == [("one", ()), ("two", ()), ("bread", ())]


def test_a_query_that_is_too_long_is_cut_and_says_so(index: Index) -> None:
    found = index.search("rain " * 2000, k=1, mode="semantic")
    assert found[0].document == "weather"
    assert any("too long" in warning for warning in found.warnings)


def test_the_snippet_is_the_sentence_that_answers(tmp_path: Path, minilm_encoder: Encoder) -> None:
    with Index.create(tmp_path / "i", encoder=minilm_encoder) as index:
        index.add([Document("all", " ".join(TEXTS.values()))])
        results = index.search("a loop of rope", k=1)
        snippet = index.snippets(results)[0]
    assert results[0].text[snippet.start : snippet.end] == TEXTS["knots"]
    assert [results[0].text[start:end] for start, end in snippet.words] == ["loop"]


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("---\ntitle: A compost heap\ntags: [garden, compost]\n---\n\n", ""),
        ("A compost heap\n==============\n", "\n\nThe next heap\n-------------\n\nNothing."),
        ("# A compost heap\n\n", ""),
        ("| compost | heap |\n|---|---|\n| a compost heap | garden |\n\n", ""),
        ("+---------+------+\n| compost | heap |\n+=========+======+\n\n", ""),
    ],
)
@pytest.mark.parametrize("mode", ["keyword", "semantic"])
def test_a_snippet_begins_with_a_sentence(
    before: str, behind: str, mode: Literal["keyword", "semantic"], tmp_path: Path, minilm_encoder: Encoder
) -> None:
    sentence = "It needs air, water and time."
    with Index.create(tmp_path / "i", encoder=minilm_encoder) as index:
        index.add([Document("all", before + sentence + behind)])
        results = index.search("compost heap needs garden", k=1, mode=mode)
        snippet = index.snippets(results)[0]
    assert results[0].text[snippet.start :].startswith(("It needs", "Nothing"))


def test_a_snippet_in_short_slides_is_placed_by_its_own_slide_and_not_where_the_passage_begins(tmp_path: Path) -> None:
    parts = ["Tea is hot.", "Bread needs yeast.", "Engines burn diesel."]
    text = "\n\n".join(parts)
    marks = tuple(Mark(text.index(part), at, f"Slide of {part.split()[0]}") for at, part in enumerate(parts, 1))
    with Index.create(tmp_path / "i", encoder="hashing", splitter=Splitter("none")) as index:
        index.add([Document("talk.pptx", text, marks=marks), Document("paper.pdf", text, marks=marks)])
        for name, page in (("talk.pptx", 3), ("paper.pdf", 1)):
            results = index.search("diesel", mode="keyword", where=f"document = '{name}'")
            placed = index.snippets(results)[0].placed(results[0])
            assert (results[0].page, placed.page) == (1, page)
            assert placed.heading == ("Slide of Engines" if page == 3 else "Slide of Tea")


def test_a_passage_without_a_sentence_still_has_a_snippet(tmp_path: Path, minilm_encoder: Encoder) -> None:
    with Index.create(tmp_path / "i", encoder=minilm_encoder) as index:
        index.add([Document("all", "| compost | heap |")])
        results = index.search("compost", k=1)
        snippet = index.snippets(results)[0]
    assert results[0].text[snippet.start : snippet.end] == "| compost | heap |"


def test_keyword_search_never_loads_the_encoder(tmp_path: Path, minilm_encoder: Encoder) -> None:
    with Index.create(tmp_path / "i", encoder=minilm_encoder) as index:
        index.add([Document("a", TEXTS["bread"])])

    class Broken:
        name, fingerprint, dim = "broken", "another", 384

        def encode(self, texts: list[str], *, role: str) -> np.ndarray:
            raise AssertionError("loaded")

        def count_tokens(self, texts: list[str]) -> list[int]:
            raise AssertionError("loaded")

    with Index.open(tmp_path / "i", encoder=Broken()) as index:  # type: ignore[arg-type]
        assert index.search("flour", mode="keyword")[0].document == "a"


@pytest.mark.parametrize(
    "asked",
    [{"k": 0}, {"mode": "psychic"}, {"alpha": 2.0}, {"min_strength": -1.0}, {"depth": 3}],
    ids=lambda asked: next(iter(asked)),
)
def test_a_query_that_cannot_be_says_why(index: Index, asked: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        index.search("rain", **asked)
    with pytest.raises(UsageError, match="empty"):
        index.search(Query())


def test_a_file_by_its_path_is_not_its_own_answer(tmp_path: Path, minilm_encoder: Encoder) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.txt").write_text(text)
    with Index.create(tmp_path / "i", encoder=minilm_encoder) as index:
        index.sync(folder)
        found = [hit.document for hit in index.similar(folder / "engines.txt")]
    assert found and "engines.txt" not in found


def test_a_file_whose_name_is_not_utf8_is_found_and_not_hidden(tmp_path: Path, minilm_encoder: Encoder) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text(TEXTS["weather"])
    with Index.create(tmp_path / "i", encoder=minilm_encoder) as index:
        index.sync(folder)
        found = index.search("rain", k=1)
    assert [hit.document for hit in found] == [r"caf\xe9.txt"]
    assert not found.warnings


@pytest.mark.parametrize("asked", [{"group": "x"}, {"k": "3"}, {"k": 2.5}, {"where": 5}], ids=str)
def test_a_value_of_the_wrong_kind_is_one_clear_error(index: Index, asked: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        index.search("rain", **asked)


def test_all_of_a_long_file_is_an_example_and_not_its_beginning_alone(tmp_path: Path, minilm_encoder: Encoder) -> None:
    """The file is split as the documents of the index are, and its passages are averaged."""
    bread, engine = TEXTS["bread"] + " ", TEXTS["engines"] + " "
    (tmp_path / "long.txt").write_text(bread * 30 + engine * 90, encoding="utf-8")
    with Index.create(tmp_path / "index", encoder=minilm_encoder) as index:
        index.add([Document(key, text) for key, text in TEXTS.items()])
        assert index.similar(tmp_path / "long.txt", k=1)[0].document == "engines"


def test_a_file_without_text_is_no_example(index: Index, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" \n", encoding="utf-8")
    with pytest.raises(UsageError, match="no text"):
        index.search("", like=[str(tmp_path / "empty.txt")], mode="semantic")


def test_a_question_on_another_subject_has_no_good_match(index: Index) -> None:
    own = index.search("what makes a diesel engine ignite its fuel?")
    assert own.good_match and own[0].match in ("strong", "likely") and not own.warnings
    foreign = index.search("who won the election in the northern province last year?")
    assert not foreign.good_match and {hit.match for hit in foreign} == {"none"}
    assert "no good match" in foreign.warnings[0]


def test_a_passage_with_all_words_of_the_query_is_a_match_whatever_its_cosine(index: Index) -> None:
    found = index.search("E4711 prime")
    assert (found[0].document, found.good_match) == ("codes", True) and found[0].match != "none"
    words = index.search("E4711 prime", mode="keyword")
    assert (words[0].match, words[0].strength, words.good_match) == ("likely", None, True)


def test_strengths_are_provisional_while_the_index_is_updated(tmp_path: Path, minilm_encoder: Encoder) -> None:
    with Index.create(tmp_path / "index", encoder=minilm_encoder) as growing:
        growing.add([Document(key, text) for key, text in TEXTS.items()])
        assert not growing.search("rain").warnings
        _writer(growing).record_run(None)
        assert "provisional" in growing.search("rain").warnings[0]
        growing.add([Document("more", "A sail that flaps wears out.")])
        assert not growing.search("rain").warnings


def test_an_index_that_was_built_before_has_strengths_too(tmp_path: Path, minilm_encoder: Encoder) -> None:
    with Index.create(tmp_path / "index", encoder=minilm_encoder) as made:
        made.add([Document(key, text) for key, text in TEXTS.items()])
        expected = made.search("rain")[0].strength
        writer = _writer(made)
        with writer.transaction():
            writer.connection.execute("UPDATE spaces SET background = x'', background_count = 0")
    with Index.open(tmp_path / "index", encoder=minilm_encoder) as again:
        assert again.search("rain")[0].strength == pytest.approx(expected, abs=1e-6)


def _writer(index: Index) -> LocalWriter:
    """The writer of an index that has written."""
    with index.store.writing() as opened:
        writer = opened._writer
    assert isinstance(writer, LocalWriter)
    return writer


class FewWords(BaseEncoder):
    """Reads the first three words of a text, and counts what it does."""

    def __init__(self) -> None:
        super().__init__()
        self._hashing = Encoder.load("hashing")
        self.name, self.fingerprint, self.dim = "few-words", "few-words@1", self._hashing.dim
        self._texts, self._truncation = 0, TruncationStats()

    def encode(self, texts: Sequence[str], /, *, role: Role) -> Vectors:
        self._texts += len(texts)
        longer = [len(text.split()) - 3 for text in texts if len(text.split()) > 3]
        self._truncation.passages += len(longer)
        self._truncation.tokens += sum(longer)
        return self._hashing.encode([" ".join(text.split()[:3]) for text in texts], role=role)

    @property
    def embedded(self) -> int:
        return self._texts

    @property
    def truncation(self) -> TruncationStats:
        return self._truncation


def test_the_questions_asked_of_an_index_are_not_counted_as_its_texts(tmp_path: Path) -> None:
    with Index.create(tmp_path / "index", encoder=FewWords()) as made:
        report = made.add([Document("a", "rain and some wind"), Document("b", "wind")])
        assert (report.embedded, report.cut_passages, report.cut_tokens) == (2, 1, 1)


def test_the_cut_end_of_an_example_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "example.txt").write_text("rain and some wind", encoding="utf-8")
    with Index.create(tmp_path / "index", encoder=FewWords(), splitter=Splitter("none")) as made:
        made.add([Document("a", "rain"), Document("b", "wind")])
        found = made.similar(tmp_path / "example.txt")
        assert "example.txt" in found.warnings[0] and "about 1 tokens" in found.warnings[0]
        assert not any("passages too long" in warning for warning in made.similar("a").warnings)
