"""The language of a text: its script, and among the languages of one script the letter trigrams of its words.

Naive Bayes, with the probability of a trigram estimated from its rank among the most frequent ones of a language.
profiles.txt has those ranks, and scripts/encoders/language_profiles.py makes it and measures this. What is not decided
is "": a text without letters, a short one, one of a language without a profile that is like none of the others.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from pathlib import Path

from semsearch.utils.languages.writing_systems import HAN, HANGUL, HANGUL_JAMO, KANA

PROFILES = "profiles.txt"
_DUMMY = re.compile(r"lorem\s+ipsum|consectetur\s+adipisc|ipsum\s+dolor\s+sit", re.I)  # in no language
LETTERS = 1_000  # of a text that are looked at
LEAST = 3  # letters, or one syllable of a dense script: α alone is no Greek
LEAD, DOUBT = 3.0, 12.0  # nats; chosen on queries and man pages: docs/languages.md
CERTAIN = 1e6
FIRST_RANK, ABSENT = 20, 800  # a trigram of rank r is ABSENT / (FIRST_RANK + r) times as likely as one outside
DENSE = 3  # letters of an alphabet that a character of these scripts counts as: it is a syllable or a word
KANA_SHARE = 0.1  # from here on a text with Chinese characters is Japanese
SCRIPTS = {  # the script alone tells the language, or those that write it are told apart by profiles
    "latin": "A-Za-zÀ-ɏḀ-ỿ",
    "cyrillic": "Ѐ-ӿ",
    "arabic": "؀-ۿݐ-ݿﭐ-﷿ﹰ-﻿",
    "han": HAN,
    "kana": KANA,
    "ko": HANGUL + HANGUL_JAMO,
    "el": "Ͱ-Ͽἀ-῿",
    "he": "֐-׿",
    "hi": "ऀ-ॿ",
    "th": "฀-๿",
    "am": "ሀ-፿",
    "bn": "ঀ-৿",
    "gu": "઀-૿",
    "hy": "԰-֏",
    "ka": "Ⴀ-ჿ",
    "km": "ក-៿",
    "kn": "ಀ-೿",
    "lo": "຀-໿",
    "ml": "ഀ-ൿ",
    "my": "က-႟",
    "pa": "਀-੿",
    "si": "඀-෿",
    "ta": "஀-௿",
    "te": "ఀ-౿",
}
ALPHABETS = {"cyrillic": ("bg", "ru", "sr", "uk"), "arabic": ("ar", "fa")}  # latin: the other profiles
NAMES = {
    "am": "Amharic",
    "ar": "Arabic",
    "bg": "Bulgarian",
    "bn": "Bengali",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "gu": "Gujarati",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "hy": "Armenian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ka": "Georgian",
    "km": "Khmer",
    "kn": "Kannada",
    "ko": "Korean",
    "lo": "Lao",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "ml": "Malayalam",
    "my": "Burmese",
    "nb": "Norwegian",
    "nl": "Dutch",
    "pa": "Punjabi",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "si": "Sinhala",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sr": "Serbian",
    "sv": "Swedish",
    "ta": "Tamil",
    "te": "Telugu",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
MOST = 3  # names in a message
_RUNS = re.compile("|".join(f"(?P<{name}>[{letters}]+)" for name, letters in SCRIPTS.items()))
_WORD = re.compile(r"\b[^\W\d_]+\b")  # no part of a number, a hash or a name of a program
_IN_SENTENCE = re.compile(r"[(\"'„“«]?[a-zß-öø-ÿ][^\W\d_]*[,.;:!?)\"'“”»]*")  # a word in lower case, by itself
PROSE, FEWEST = 0.2, 20  # the share of such words, and the words from which on it is asked for


def language(text: str) -> str:
    """The ISO 639-1 code of the language that most of the text is in; "" where that is not clear.

    >>> language("Wie lange muss das Brot im Ofen bleiben?")
    'de'
    >>> language("如何缴纳个人所得税"), language("42 %")
    ('zh', '')
    """
    scores = _scores(text[:LETTERS])
    best, second = sorted([*scores.values(), 0.0, 0.0], reverse=True)[:2]
    return max(scores, key=scores.__getitem__) if best - second >= LEAD else ""


def likely(text: str, languages: Collection[str]) -> tuple[str, ...]:
    """Those of `languages` that the text is most likely in, best first: several where that is not clear.

    >>> likely("Wie lange muss das Brot im Ofen bleiben?", ["en", "de"]), likely("42 %", ["en", "de"])
    (('de',), ())
    """
    scores = {each: score for each, score in _scores(text[:LETTERS]).items() if each in languages}
    best = max(scores.values(), default=0.0)
    return tuple(each for each in sorted(scores, key=lambda each: -scores[each]) if best - scores[each] < LEAD)


def is_readable(text: str, languages: Collection[str]) -> bool:
    """Whether an encoder of these languages reads the text: whether it may be in one of them, in case of doubt too.

    No languages stand for an encoder that does not state any.

    >>> is_readable("Wie lange muss das Brot im Ofen bleiben?", ["en"]), is_readable("42 %", ["en"])
    (False, True)
    """
    scores = _scores(text[:LETTERS]) if languages else {}
    best = max(scores.values(), default=0.0)
    return not scores or any(each in scores and best - scores[each] < DOUBT for each in languages)


def is_prose(text: str) -> bool:
    """Whether a text in Latin letters may have sentences: lists of names and code have none, and so no language.

    >>> is_prose("Ann Li <ann@example.org> (2006)\\n" * 5), is_prose("Das Brot muss lange im Ofen bleiben. " * 3)
    (False, True)
    """
    words = text.split()
    if len(words) < FEWEST or _script(text) != "latin":
        return True
    return sum(map(bool, map(_IN_SENTENCE.fullmatch, words))) >= PROSE * len(words)


def listed(codes: Collection[str]) -> str:
    """The names, or their number.

    >>> listed(["en"]), listed(["en", "de"]), listed(["en", "de", "fr", "es"])
    ('English', 'English and German', '4 languages')
    """
    if len(codes) > MOST:
        return f"{len(codes)} languages"
    *first, last = [NAMES.get(code, code) for code in codes]
    return f"{', '.join(first)} and {last}" if first else last


def advice(languages: Collection[str], purpose: str, command: str) -> str:
    """What to do where an encoder of these languages does not read a text; "" for one that reads many.

    >>> advice(["en"], "compare texts", "-m multilingual")
    ' To compare texts in many languages: -m multilingual'
    """
    return f" To {purpose} in many languages: {command}" if len(languages) <= MOST else ""


def trigrams(text: str) -> list[str]:
    """Three letters in a row of every word, spaces around it included, in lower case."""
    words = (f" {word} " for word in _WORD.findall(text.lower()))
    return [word[at : at + 3] for word in words for at in range(len(word) - 2)]


@lru_cache(maxsize=64)  # a search asks several times what its query is in
def _scores(text: str) -> Mapping[str, float]:
    """Of each language in the script of the text, how much likelier than by chance its trigrams are, in nats.

    {} with hardly any letters, and for dummy text; CERTAIN where the script tells the language. Chinese characters
    alone may be Japanese.
    """
    script = "" if _DUMMY.search(text) else _script(text)
    if script not in ("latin", *ALPHABETS):
        japanese = {"ja": CERTAIN - LEAD} if script == "zh" else {}
        return {script: CERTAIN, **japanese} if script else {}
    seen = trigrams(" ".join(dict.fromkeys(text.split())))  # a word that is repeated says nothing new
    languages = _written_in(script)
    rows = [row for each in seen if (row := _weights(each, script)) is not None] or [(0.0,) * len(languages)]
    return dict(zip(languages, map(sum, zip(*rows, strict=True)), strict=True))


def _script(text: str) -> str:
    """The script of most letters, or the language where that tells it; "" with hardly any letters."""
    if text.isascii():
        return "latin" if sum(map(str.isalpha, text)) >= LEAST else ""
    letters: Counter[str] = Counter()
    for run in _RUNS.finditer(text):
        name = run.lastgroup or ""
        letters[name] += len(run[0]) * (DENSE if name in ("han", "kana", "ko") else 1)
    east_asian = letters["han"] + letters["kana"]
    letters["ja" if letters["kana"] >= KANA_SHARE * east_asian else "zh"] = east_asian
    del letters["han"], letters["kana"]
    name, most = max(letters.items(), key=lambda each: each[1])
    return name if most >= LEAST else ""


@lru_cache(maxsize=1 << 15)  # about as many as all profiles have
def _weights(trigram: str, script: str) -> tuple[float, ...] | None:
    """How much likelier than by chance a trigram is in each language of the script, in nats; None for one of none."""
    ranks = [_profiles()[code].get(trigram) for code in _written_in(script)]
    weights = (0.0 if rank is None else math.log(ABSENT / (FIRST_RANK + rank)) for rank in ranks)
    return tuple(weights) if any(rank is not None for rank in ranks) else None


@cache
def _written_in(script: str) -> Collection[str]:
    """The languages with a profile that are written in the script."""
    others = {each for languages in ALPHABETS.values() for each in languages}
    return ALPHABETS.get(script) or [each for each in _profiles() if each not in others]


@cache
def _profiles() -> dict[str, dict[str, int]]:
    """The rank of each trigram in each language; a line has a code and "_" for every space."""
    lines = (Path(__file__).parent / PROFILES).read_text(encoding="utf-8").splitlines()
    rows = (line.split() for line in lines)
    return {code: {each.replace("_", " "): rank for rank, each in enumerate(row)} for code, *row in rows}
