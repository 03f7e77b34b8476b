"""A word that any question has is no evidence, in any language, however few notes have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from semsearch import Document, Index
from semsearch.encoders.hashing import HashingEncoder

ASKED = [  # a question, its question word, and a note about something else that has the word
    ("Warum streiken Lokführer", "warum", "Warum der Schlauch platzt, zeigt die Felge."),
    ("Wie werde ich Pilot", "wie", "Wie oft gegossen wird, hängt vom Wetter ab."),
    ("Pourquoi le ciel est bleu", "pourquoi", "Pourquoi une chambre à air crève se voit sur la jante."),
    ("Comment devenir pilote", "comment", "Comment garder ses reçus est expliqué ici."),
    ("¿Cuándo sale el tren?", "cuándo", "Cuándo regar depende del tiempo."),
    ("Perché piove", "perché", "Perché la gomma scoppia si vede dal cerchio."),
    ("Waarom regent het", "waarom", "Waarom de band leegloopt, zie je aan de velg."),
    ("Dlaczego pada deszcz", "dlaczego", "Dlaczego pęka dętka, widać po obręczy."),
    ("Почему небо голубое", "почему", "Почему лопается камера, видно по ободу."),
    ("Чому йде дощ", "чому", "Чому лопається камера, видно з обода."),
    ("Πώς γίνομαι πιλότος", "πώς", "Πώς ποτίζουμε τα τριαντάφυλλα."),
    ("Nasıl pilot olunur", "nasıl", "Nasıl sulanacağı havaya bağlıdır."),
    ("Miksi taivas on sininen", "miksi", "Miksi rengas puhkesi, näkyy vanteesta."),
    ("لماذا السماء زرقاء", "لماذا", "لماذا ينفجر الإطار"),
    ("למה השמיים כחולים", "למה", "למה הצמיג מתפוצץ"),
    ("为什么天空是蓝色的", "为什么", "为什么内胎会爆，看一下轮圈就知道。"),
    ("なぜ空は青い", "なぜ", "なぜタイヤがパンクするかはリムを見る。"),
    ("왜 하늘은 파란가요", "왜", "왜 타이어가 터지는지 림을 보면 안다."),
]


@pytest.mark.parametrize(("question", "word", "note"), ASKED)
def test_it_finds_nothing_beside_other_words_and_is_found_alone(
    question: str, word: str, note: str, tmp_path: Path
) -> None:
    with Index.create(tmp_path / "notes", encoder=HashingEncoder()) as index:
        index.add([Document("other", note), Document("bread", "220 g flour"), Document("roses", "20 roses")])
        assert [hit.document for hit in index.search(question, mode="keyword")] == []
        assert [hit.document for hit in index.search(word, mode="keyword")] == ["other"]


def test_a_word_that_asks_in_one_language_is_a_subject_in_another(tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder=HashingEncoder()) as index:
        index.add([Document("dove", "A dove nests in the eaves."), Document("code", "Leave a comment above the code.")])
        assert [hit.document for hit in index.search("feeding of the dove", mode="keyword")] == ["dove"]
        assert [hit.document for hit in index.search("comment on this line of it", mode="keyword")] == ["code"]


@pytest.mark.parametrize(
    ("query", "note"),
    [("dell’utente", "Ogni utente ha una parola."), ("l'heure", "Une heure de train."), ("d'aigua", "Aigua del pou.")],
)
def test_an_article_without_its_vowel_hides_no_word(query: str, note: str, tmp_path: Path) -> None:
    with Index.create(tmp_path / "notes", encoder=HashingEncoder()) as index:
        index.add([Document("right", note), Document("other", "220 g flour")])
        assert [hit.document for hit in index.search(query, mode="keyword")] == ["right"]
