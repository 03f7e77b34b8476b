"""A query that the encoder cannot read is answered by its words, and says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from semsearch import Document, Index, Query
from semsearch.encoders.hashing import HashingEncoder

NOTES = {
    "bread": "How to bake bread: the dough rests for two hours, then it goes into a hot oven.",
    "brot": "Brot backen: der Teig ruht zwei Stunden, dann kommt er in den heißen Ofen.",
    "税": "如何缴纳个人所得税：每年六月三十日之前在网上申报。",
}
OTHERS = """Die Fahrradkette wird alle dreihundert Kilometer geölt und nach dem Regen getrocknet.
Der Zug nach Hamburg fährt stündlich ab Gleis sieben, am Wochenende seltener.
Tomaten brauchen viel Sonne und werden am Abend an der Wurzel gegossen.
Der Mietvertrag kann mit einer Frist von drei Monaten gekündigt werden.
Für den Führerschein muss ein Sehtest vorliegen, der nicht älter als zwei Jahre ist.
Die Heizung wird im Herbst entlüftet, bis Wasser aus dem Ventil kommt.
Ein gebrochener Finger wird geschient und mehrere Wochen ruhig gehalten.
Vor dem Ausbau des Motors ist die Batterie abzuklemmen.
Das Konzert beginnt um acht Uhr, der Einlass ist eine Stunde früher.
Die Bibliothek leiht Bücher für vier Wochen aus und verlängert zweimal.
Der Hund wird jährlich gegen Tollwut geimpft.
Im Keller steht das Regal mit den Farben und Pinseln.""".splitlines()
GERMAN = "Wann kommt der Teig in den heißen Ofen, und wie lange ruht er?"


class English(HashingEncoder):
    """Reads English, and counts what it is asked to encode."""

    languages = ("en",)


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Index]:
    with Index.create(tmp_path / "notes", encoder=English()) as index:
        index.add([Document(name, text) for name, text in NOTES.items()])
        index.add([Document(f"note {n}", text) for n, text in enumerate(OTHERS)])
        yield index


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
@pytest.mark.parametrize(("query", "document"), [(GERMAN, "brot"), ("如何缴纳个人所得税", "税")])
def test_it_finds_the_words_without_strengths_and_warns_once(
    notes: Index, mode: str, query: str, document: str
) -> None:
    results = notes.search(query, mode=mode)
    assert results[0].document == document and results.good_match
    assert {hit.strength for hit in results} == {None}
    assert results.plan["encoded"] == 0
    (warning,) = results.warnings
    assert "a hit is likely, not more" in warning and all(hit.match in ("likely", "weak") for hit in results)
    assert "reads English" in warning and "semsearch reembed notes -m multilingual" in warning


@pytest.mark.parametrize(
    "unanswerable", ["Wie hoch ist der höchste Berg in den Alpen?", "什么时候是六月的假期呢", "Кто написал эту книгу?"]
)
def test_a_few_words_in_common_are_no_good_match(notes: Index, unanswerable: str) -> None:
    results = notes.search(unanswerable)
    assert not results.good_match and {hit.match for hit in results} <= {"none"}
    assert any("no good match" in warning for warning in results.warnings)


@pytest.mark.parametrize(("query", "document"), [(GERMAN, "brot"), ("如何缴纳个人所得税", "税")])
def test_a_minimum_strength_leaves_out_hits_with_few_of_the_words(notes: Index, query: str, document: str) -> None:
    assert len(notes.search(query)) >= 1
    results = notes.search(query, min_strength=0.9)
    assert [hit.document for hit in results] == [document] and results[0].match == "likely"
    assert "minimum strength" in results.warnings[0]
    assert not notes.search("Wie hoch ist der höchste Berg in den Alpen?", min_strength=0.1)


def test_words_of_a_passage_that_is_read_are_read(notes: Index) -> None:
    title, german, chinese = "Inline script metadata", "Teig in den heißen Ofen", "个人所得税"
    assert notes.search(title).plan["encoded"] == 0  # three words alone are like Slovenian
    notes.add([Document("pep", "Inline script metadata: how a script says which packages it needs to run.")])
    notes.add([Document("terms", "In Chinese the tax that a person has to pay on income is called 个人所得税 by all.")])
    first = notes.search(title)[0]
    assert first.document == "pep" and first.strength is not None and first.scores["cosine"] > 0
    assert {notes.search(words).plan["encoded"] for words in (german, chinese)} == {0}


def test_every_query_of_a_batch_is_judged_by_itself(notes: Index) -> None:
    german, english = notes.search([Query(GERMAN), Query("how long does the dough rest")])
    assert german[0].strength is None and german.warnings
    assert english[0].strength is not None and not english.warnings


def test_a_query_with_an_example_is_still_compared_by_meaning(notes: Index) -> None:
    assert notes.search(GERMAN, like=["bread"])[0].scores["cosine"] > 0


def test_an_encoder_that_states_no_languages_is_asked(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder="hashing") as index:
        index.add([Document(name, text) for name, text in NOTES.items()])
        assert not index.search(GERMAN).warnings
