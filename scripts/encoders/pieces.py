"""How often texts of some forty languages use each piece of a tokenizer, and which pieces are worth a row.

The texts are those of Debian's packages: help of LibreOffice, GNOME and GIMP, the installation guide, names of
countries, languages and currencies, fortunes, messages of programs; and word lists, of which every word counts once.
Man pages are left out, since scripts/bench/languages.py measures with them.
"""

from __future__ import annotations

import gettext
import html
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from scripts.shared import debian

_HELP = "ca cs da de el es fi fr hi hu id it ja ko nl pl ru sl sv tr vi"
_MESSAGES = "ar bg et fa he hr lt lv nb ro sk sr th uk"  # LibreOffice has no help in these, but messages
_WORDS = "ar bg ca cs da el es he hi hr hu id it ko lt lv nl pl ro ru sk sl sr sv th tr uk vi"
TEXTS: Mapping[str, Sequence[str]] = {
    "en": ("libreoffice-help-en-us", "fortunes"),
    "pt": ("libreoffice-help-pt", "libreoffice-help-pt-br"),
    "zh": ("libreoffice-help-zh-cn", "libreoffice-help-zh-tw"),
    **{each: (f"libreoffice-help-{each}",) for each in _HELP.split()},
    **{each: (f"libreoffice-l10n-{each}",) for each in _MESSAGES.split()},
}
WORDS: Mapping[str, Sequence[str]] = {
    "de": ("hunspell-de-de",),
    "en": ("hunspell-en-us",),
    "et": ("myspell-et",),
    "fr": ("hunspell-fr-classical",),
    "nb": ("hunspell-no",),
    "pt": ("hunspell-pt-br",),
    "ja": ("edict",),
    "zh": ("python3-jieba",),
    **{each: (f"hunspell-{each}",) for each in _WORDS.split()},
}
FURTHER = {
    **{each: (f"gimp-help-{each}",) for each in ("ko", "fa", "ro", "uk")},
    **{each: (f"fortunes-{each}",) for each in ("bg", "cs", "de", "es", "it", "pl", "ru", "zh")},
}
EVERY = ("gnome-user-docs", "installation-guide-amd64")  # with a folder for each language
NAMES = "iso-codes"  # of countries, languages and currencies, in most languages
FOLDERS = {"en": "en|C", "zh": "zh_CN|zh_TW|zh", "pt": "pt|pt_BR", "nb": "nb|no"}
ENGLISH = frozenset(["the", "and", "you", "your", "this", "that", "with", "from"])
WEIGHTS = {"zh": 8, "ja": 3}  # of shares: many words of these are pieces of their own, so each has a small one
MOST_ENGLISH = 0.05  # share of these words in a paragraph of another language; in English it is 0.15
LANGUAGES = sorted(TEXTS)
MOST = 1_500_000  # letters of the texts of one language; its word list has its own
BATCH = 1024  # texts
WORD_LIST = 0.1  # weight of a share in a word list


def shares(words: Tokenizer) -> NDArray[np.float64]:
    """(rows): the largest share that each piece has of the tokens of one language, in its texts or its word list.

    In a word list rare words count as much as frequent ones, so a share there counts a tenth.
    """
    largest = np.zeros(words.get_vocab_size())
    for language in LANGUAGES:
        print(f"counting {language} …", file=sys.stderr, flush=True)
        for source, weight in ((texts(language), 1), (word_list(language), WORD_LIST)):
            count = _counted(words, source)
            weighed = WEIGHTS.get(language, 1) * weight * count / max(1, count.sum())
            np.maximum(largest, weighed, out=largest)
    return largest


def _counted(words: Tokenizer, texts: Iterable[str]) -> NDArray[np.int64]:
    count, batch, letters = np.zeros(words.get_vocab_size(), np.int64), [], 0
    for text in dict.fromkeys(texts):
        batch.append(text)
        letters += len(text)
        if letters > MOST:
            break
    for at in range(0, len(batch), BATCH):
        for row in words.encode_batch_fast(batch[at : at + BATCH], add_special_tokens=False):
            np.add.at(count, row.ids, 1)
    return count


def texts(language: str) -> Iterator[str]:
    """Paragraphs and messages of the language."""
    yield from prose(language)
    yield from _within(NAMES, language)


def prose(language: str) -> Iterator[str]:
    """Paragraphs of help and guides, then of packages in this language alone; without those left in English."""
    for text in chain.from_iterable((_common(language), _own(language))):
        words = text.lower().split()
        if language == "en" or sum(word in ENGLISH for word in words) < MOST_ENGLISH * len(words):
            yield text


def _common(language: str) -> Iterator[str]:
    for package in EVERY:
        yield from _within(package, language)


def _own(language: str) -> Iterator[str]:
    for package in (*FURTHER.get(language, ()), *TEXTS[language]):
        for path, content in debian.contents(package):
            yield from _parts(path, content)


def _within(package: str, language: str) -> Iterator[str]:
    """The texts in the folder of a language."""
    folder = re.compile(rf"/(?:{FOLDERS.get(language, language)})/")
    for path, content in _text_files(package):
        if folder.search(path):
            yield from _parts(path, content)


def word_list(language: str) -> Iterator[str]:
    """The words of a dictionary."""
    for package in WORDS.get(language, ()):
        for path, content in debian.contents(package):
            if path.endswith((".dic", "jieba/dict.txt", "share/edict/edict")):
                encoding = "euc-jp" if path.endswith("edict") else "utf-8"
                yield from (re.split(r"[/\s\[]", line, maxsplit=1)[0] for line in _decoded(content, encoding))


@cache
def _text_files(package: str) -> list[tuple[str, bytes]]:
    """The files of a package of many languages, which takes long to unpack."""
    return [(path, content) for path, content in debian.contents(package) if path.endswith((".html", ".page", ".mo"))]


def _parts(path: str, content: bytes) -> Iterator[str]:
    kind = PurePosixPath(path).suffix
    if kind in (".html", ".page"):
        blocks = re.split(r"</?(?:p|h\d|li|td|div|title|item|dt|dd)\b[^>]*>", content.decode("utf-8", "replace"))
        yield from (" ".join(html.unescape(re.sub(r"<[^>]+>", "", block)).split()) for block in blocks)
    elif kind == ".mo":
        messages = gettext.GNUTranslations(io.BytesIO(content))
        yield from (each for each in vars(messages)["_catalog"].values() if isinstance(each, str))
    elif "/fortunes/" in path and kind in ("", ".u8"):
        yield from content.decode("utf-8", "replace").split("\n%\n")


def _decoded(content: bytes, encoding: str) -> list[str]:
    try:
        return content.decode(encoding).splitlines()
    except UnicodeDecodeError:
        return content.decode("latin-1" if encoding == "utf-8" else encoding, "replace").splitlines()


def chosen(shares: NDArray[np.float64], spelled: Sequence[str], rows: int, always: Sequence[int]) -> list[int]:
    """Ids of `rows` pieces, ascending: `always`, single characters, and those with the largest shares.

    So what is left out is rare in every language. `spelled` are the pieces.
    """
    single = [at for at, piece in enumerate(spelled) if len(piece.removeprefix("▁")) <= 1]
    needed = shares.copy()
    needed[[*always, *single]] = np.inf
    return sorted(np.argsort(-needed, kind="stable")[:rows].tolist())
