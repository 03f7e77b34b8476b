"""A word is found however it is written: ligatures, widths, invisible signs, marks, letters for one sound, emoji."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers import lexical as fts5
from helpers.oldstore import downgraded
from helpers.opened import verify
from helpers.smallstore import filled, names
from hypothesis import given
from hypothesis import strategies as st

from semsearch.stores.local import LocalReader, LocalWriter, open_reader, open_writer
from semsearch.stores.local.database import schema
from semsearch.stores.local.full_text import matching, sealing
from semsearch.stores.sql import folding, lexical_search
from semsearch.stores.sql.folding import fold, folded
from semsearch.types import Document

SHY = "\u00ad"
# What stands in a text, and other ways to ask for a word of it: the word that is marked, and the queries
WRITTEN = {
    "ligature": ("The ﬁnal ﬂow of the oﬃce was eﬃcient.", "oﬃce", ["office", "OFFICE", "oﬃce"]),
    "soft hyphens": (f"Der Donau{SHY}dampf{SHY}schiff{SHY}kapitän fährt.", None, ["Donaudampfschiffkapitän"]),
    "hyphen at the end of a line": (f"Ein Kühl{SHY}\n  schrank brummt.", None, ["kuhlschrank", "Kühlschrank"]),
    "zero-width space": ("a super\u200bcali\u200bfragilistic song", None, ["supercalifragilistic"]),
    "word joiner": ("a tele\u2060scope\ufeff stands", None, ["telescope"]),
    "bidi signs": ("the \u202acommand\u202c\u200e ran", None, ["command", "\u200fcommand"]),
    "Greek": ("Η ΑΘΉΝΑ είναι πρωτεύουσα", "ΑΘΉΝΑ", ["Αθήνα", "αθηνα", "ἀθῆνα"]),
    "final sigma": ("ΛΟΓΟΣ και οδός", "ΛΟΓΟΣ", ["λόγος", "λογοσ"]),
    "Russian": ("Ёлка стоит в зале", "Ёлка", ["елка", "ёлка", "Елка", "ё́лка"]),
    "Arabic": ("الكِتَابُ الجَديدُ", "الكِتَابُ", ["الكتاب", "الكِتاب"]),
    "tatweel": ("في المدينة العـــربية", "العـــربية", ["العربية"]),
    "alef": ("سافر أحمد أمس", "أحمد", ["احمد", "أحمد"]),
    "Persian": ("این کتاب‌ها خوب است", "کتاب", ["کتاب", "كتاب", "کتاب ها"]),
    "Hebrew": ("שָׁלוֹם לכולם", "שָׁלוֹם", ["שלום", "שָׁלוֹם"]),
    "nukta": ("यह ज़रूर आएगा", "ज़रूर", ["जरूर", "ज़रूर", "\u091c\u093c\u0930\u0942\u0930"]),
    "full width": ("ＷＩＤＴＨ of ２０２６ pixels", "ＷＩＤＴＨ", ["width", "ｗｉｄｔｈ"]),
    "full-width digits": ("in ２０２５ it began", "２０２５", ["2025", "２０２５", "٢٠٢٥"]),
    "half-width kana": ("これはｶﾞﾗｽです", "ｶﾞﾗｽ", ["ガラス", "ｶﾞﾗｽ"]),
    "squared": ("㍿ソニーの本社", "㍿", ["株式会社"]),
    "mathematical": ("a 𝐛𝐨𝐥𝐝 𝒸𝓁𝒶𝒾𝓂", "𝐛𝐨𝐥𝐝", ["bold", "𝗯𝗼𝗹𝗱"]),
    "decomposed": ("re\u0301sume\u0301 of a clerk", "re\u0301sume\u0301", ["résumé", "resume"]),
    "subscript": ("CO₂ is a gas", "CO₂", ["co2", "CO₂"]),
    "note": ("conservation of energy² holds", "energy", ["energy", "energy²"]),
    "trademark": ("Java™ compiles", "Java", ["java"]),
    "sharp s": ("die Straße am See", "Straße", ["STRASSE", "strasse", "Straße"]),
    "stroke": ("Łódź leży w Polsce", "Łódź", ["Lodz", "łódź"]),
    "emoji": ("We won the cup🎉!", "🎉", ["🎉"]),
    "skin": ("Well done 👍🏽", "👍🏽", ["👍", "👍🏿"]),
    "variation": ("with ❤️ from me", "❤️", ["❤", "❤️"]),
    "sequence": ("she is a 👩🏽‍💻 at work", "👩🏽‍💻", ["👩‍💻"]),
    "flag": ("from 🇩🇪🇺🇸 to there", "🇺🇸", ["🇺🇸"]),
    "region": ("played for 🏴󠁧󠁢󠁥󠁮󠁧󠁿 there", None, ["🏴󠁧󠁢󠁥󠁮󠁧󠁿"]),
    "keycap": ("step 7️⃣ follows", None, ["7"]),
}
CASES = [(name, query) for name, (_, _, queries) in WRITTEN.items() for query in queries]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalWriter]:
    with filled(tmp_path_factory.mktemp("folding") / "written", documents()) as made:
        yield made


def documents() -> list[Document]:
    return [Document(name, text) for name, (text, _, _) in WRITTEN.items()]


def search(reader: LocalReader, query: str) -> tuple[list[str], list[bool]]:
    lexical = reader.lexical(query, 40)
    complete = [number in set(lexical.complete) for number in lexical.ids]
    return [passage.document for passage in reader.passages(lexical.ids)], complete


@pytest.mark.parametrize(("name", "query"), CASES)
def test_a_word_is_found_and_counts_as_found_however_it_is_written(store: LocalWriter, name: str, query: str) -> None:
    assert search(store.reader, query) == ([name], [True])


@pytest.mark.parametrize(("name", "query"), CASES)
def test_what_must_be_there_is_there_however_it_is_written(store: LocalWriter, name: str, query: str) -> None:
    assert names(store, matching.containing(store.connection.raw, [query])) == [name]


@pytest.mark.parametrize(("name", "query"), CASES)
def test_the_letters_of_the_text_itself_are_marked(name: str, query: str) -> None:
    text, word, _ = WRITTEN[name]
    marked = [text[start:end] for start, end in lexical_search.spans(text, query)]
    assert marked and (word is None or marked[0] == word)


@pytest.mark.parametrize("query", ["🇪🇺", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "👨‍💻", "💔", "иней", "tm", "2energy"])
def test_what_only_looks_alike_is_not_found(store: LocalWriter, query: str) -> None:
    found, _ = search(store.reader, query)
    assert found in ([], ["trademark"]) and (query == "tm") == bool(found)


def test_letters_that_differ_in_meaning_stay_apart() -> None:
    for word in ("мой", "กำไร", "किताब", "漏水", "학교", "don’t", "naïve", "…", "C♯", "50 €", "x ≤ 3", "▪ item"):
        assert fold(word) == word


@given(st.text(max_size=40))
def test_folding_twice_changes_nothing_more_and_keeps_the_places(text: str) -> None:
    once = fold(text)
    assert fold(once) == once
    plain = folded(text)
    assert len(plain.text) == len(plain.places)
    starts = [start for start, _ in plain.places]
    assert starts == sorted(starts) and all(0 <= start < end <= len(text) for start, end in plain.places)


def test_letters_that_are_passed_over_are_those_that_do_not_change() -> None:
    changing = folding._pattern(folding._CHANGED)
    passed = [char for char in map(chr, range(sys.maxunicode + 1)) if not changing.search(char)]
    assert len(passed) > 39_000
    assert [char for char in passed if unicodedata.normalize("NFC", char.translate(folding._LETTERS)) != char] == []


@pytest.mark.parametrize("version", range(schema.OLDEST, schema.FOLDED))
def test_an_index_of_before_answers_as_before_and_folds_its_words_on_the_first_write(
    tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "LIMITS", sealing.Limits(4, 8, 3, 1, 2))
    with filled(tmp_path / "old", documents()) as made:
        made.update_vector_index(1, "flat")
        assert made.connection.rows("SELECT count(*) FROM segments") != [(0,)]
    downgraded(tmp_path / "old" / "store.db", version)
    with open_reader(tmp_path / "old") as reader:
        assert search(reader, "oﬃce") == (["ligature"], [True]) and search(reader, "office") == ([], [])
        assert search(reader, "本社") == (["squared"], [True])
        assert verify(reader) == []
        with open_writer(tmp_path / "old") as writer:
            writer.update_vector_index(1, "flat")
            assert verify(writer) == []
            for name, query in CASES:
                assert search(writer.reader, query) == search(reader, query) == ([name], [True])
            writer.delete(list(WRITTEN))
            assert verify(writer) == []
            assert not search(writer.reader, "office")[0]


def test_postings_made_of_folded_words_agree_with_the_full_text_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "LIMITS", sealing.Limits(40, 16, 3, 2, 4))
    texts = [f"{text} {n}" for n in range(4) for text, *_ in WRITTEN.values()]
    with filled(tmp_path / "many", [Document(str(n), text) for n, text in enumerate(texts)]) as writer:
        writer.update_vector_index(1, "flat")
        assert verify(writer) == []
        for _, query in CASES:
            fast, alone = writer.reader.lexical(query, 200), lexical_search_alone(writer, query)
            assert list(fast.ids) == alone and len(alone) % 4 == 0 and alone


def lexical_search_alone(store: LocalWriter, query: str) -> list[int]:
    """The passages that FTS5 finds without postings."""
    return np.asarray(fts5.search(store.connection.raw, query, 200).ids).tolist()
