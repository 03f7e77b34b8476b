"""The language of a text, and whether an encoder of some languages may read it."""

from __future__ import annotations

import pytest

from semsearch.utils.languages import detection

SENTENCES = {
    "en": "How long does the bread have to stay in the oven before it is done?",
    "de": "Wie lange muss das Brot im Ofen bleiben, bis es fertig gebacken ist?",
    "fr": "Combien de temps le pain doit-il rester au four avant d'être cuit ?",
    "es": "¿Cuánto tiempo tiene que estar el pan en el horno hasta que esté listo?",
    "it": "Per quanto tempo il pane deve rimanere nel forno prima di essere pronto?",
    "pt": "Quanto tempo o pão tem de ficar no forno até que esteja pronto?",
    "nl": "Hoe lang moet het brood in de oven blijven voordat het klaar is?",
    "pl": "Jak długo chleb musi być w piekarniku, zanim będzie gotowy do jedzenia?",
    "cs": "Jak dlouho musí chléb zůstat v troubě, než bude hotový?",
    "sv": "Hur länge måste brödet vara i ugnen innan det är färdigt?",
    "fi": "Kuinka kauan leivän täytyy olla uunissa ennen kuin se on valmis?",
    "hu": "Mennyi ideig kell a kenyérnek a sütőben maradnia, amíg elkészül?",
    "tr": "Ekmeğin pişmesi için fırında ne kadar süre kalması gerekiyor?",
    "vi": "Bánh mì phải ở trong lò bao lâu thì mới chín hoàn toàn?",
    "ru": "Сколько времени хлеб должен оставаться в печи, чтобы он испёкся?",
    "uk": "Скільки часу хліб має залишатися в печі, щоб він спікся?",
    "el": "Πόση ώρα πρέπει να μείνει το ψωμί στον φούρνο;",
    "ar": "كم من الوقت يجب أن يبقى الخبز في الفرن حتى ينضج؟",
    "fa": "نان باید چه مدت در فر بماند تا آماده شود؟",
    "he": "כמה זמן הלחם צריך להישאר בתנור?",
    "hi": "रोटी को ओवन में कितनी देर तक रखना चाहिए?",
    "th": "ต้องอบขนมปังในเตาอบนานแค่ไหน",
    "ja": "パンはオーブンでどのくらい焼けばよいですか。",
    "ko": "빵은 오븐에서 얼마나 오래 구워야 합니까?",
    "zh": "面包要在烤箱里烤多长时间？",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_is_recognised(language: str) -> None:
    assert detection.language(SENTENCES[language]) == language


@pytest.mark.parametrize("language", SENTENCES)
def test_an_encoder_reads_a_sentence_of_its_language_and_an_english_one_no_other(language: str) -> None:
    assert detection.is_readable(SENTENCES[language], [language])
    assert detection.is_readable(SENTENCES[language], ["en"]) == (language == "en")


DUMMY = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed diam nonumy eirmod tempor invidunt ut labore."


@pytest.mark.parametrize(
    "text", ["", "42", "…", "👍", "ok", "kubectl", "foo_bar(x)", "C:\\temp", "Zürich", "α = 0.05", DUMMY]
)
def test_a_text_that_may_be_in_any_language_is_readable(text: str) -> None:
    assert detection.is_readable(text, ["en"])


def test_an_encoder_that_states_no_language_reads_every_text() -> None:
    assert all(detection.is_readable(text, []) for text in SENTENCES.values())


def test_a_chinese_text_about_programs_is_chinese() -> None:
    assert detection.language("使用 systemctl restart nginx 命令重新启动服务器") == "zh"


def test_a_script_that_no_profile_has_tells_its_language() -> None:
    assert detection.language("რამდენ ხანს უნდა იყოს პური ღუმელში?") == "ka"
    assert not detection.is_readable("რამდენ ხანს უნდა იყოს პური ღუმელში?", ["en", "ru"])
