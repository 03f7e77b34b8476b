"""The words of a query, as the full-text indexes cut them: a query is words, never FTS5 syntax."""

from __future__ import annotations

import re
import unicodedata

from semsearch.errors import UsageError
from semsearch.utils.languages.writing_systems import CJK

MOST_READ = 400  # distinct words of a query that are counted, up to 1 ms each; of a longer query the first ones
MOST_PHRASES = 8  # that are demanded; a text with more quotations is no question
MOST_BESIDE = 12  # words beside demanded phrases; what is quoted in a longer text is a title or a manner of speaking
LONGEST_PHRASE = 20  # words, and characters of a CJK run; longer ones are taken apart

RUN = re.compile(f"([{CJK}]+)")  # compiled once: 2 ms
_PHRASE = re.compile(r"[\"“”„«»「」『』]([^\"“”„«»「」『』]+)[\"“”„«»「」『』]")
_DEMANDED = re.compile(
    r"""(?<!\w)"(?=\S)([^"]+)(?<=\S)"(?!\w)|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」|『([^『』]+)』"""
)
_ELIDED = re.compile(  # articles, pronouns and prepositions of French, Italian and Catalan before a vowel
    r"\b(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu|un|(?:a|da|de|ne|su|co|que|be)ll|quest|gl)'(?=\w{2})", re.I
)
_GAP = re.compile(r"\s+|(?<!\d)[.,]|[.,](?!\d)")  # 3.11 and 1,000 stay whole


class _Letters(dict[int, str]):
    """For str.translate: letters, digits, their marks and ' . , stay; all else (quotes, NUL, surrogates) is a space.

    Letters for private use are letters to FTS5, and emoji are such letters: see `folding`.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = char if _is_letter(char) or char in "'.," else " "
        return self[code]


_LETTERS = _Letters({ord("’"): "'", ord("ʼ"): "'"})


def _is_letter(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] in "LNM" or category == "Co"


def query_terms(text: str) -> list[str]:
    """The distinct words and quoted phrases of a query, in order; an unspaced CJK run is one. At most MOST_READ.

    >>> query_terms("la password dell'utente"), query_terms("don't")
    (['la', 'password', 'utente'], ["don't"])
    """
    terms: dict[str, str] = {}
    for at, piece in enumerate(_PHRASE.split(text)):  # every second piece was quoted
        words = words_of(piece if at % 2 else _ELIDED.sub("", piece.replace("’", "'")))
        phrase = at % 2 and 1 < len(words) <= LONGEST_PHRASE and not has_cjk(piece)
        for word in [" ".join(words)] if phrase else words:
            terms.setdefault(word.casefold(), word)
        if len(terms) >= MOST_READ:
            break
    return list(terms.values())[:MOST_READ]


def demanded_phrases(text: str) -> list[str]:
    """What is quoted in a query, each a phrase that a passage has to contain.

    None of more than MOST_PHRASES, nor with more than MOST_BESIDE words beside them: such a text describes something.

    >>> demanded_phrases('clean the "steam wand" of a 5" machine')
    ['steam wand']
    """
    phrases = ["".join(filter(None, groups)) for groups in _DEMANDED.findall(text)]
    phrases = list(dict.fromkeys(phrase for phrase in phrases if words_of(phrase)))
    beside = words_of(_DEMANDED.sub(" ", text))
    return phrases if len(phrases) <= MOST_PHRASES and len(beside) <= MOST_BESIDE else []


def words_of(text: str) -> list[str]:
    """Words as FTS5 would cut them, but "don't" and 3.11 stay whole; CJK runs are apart from what is around them."""
    pieces = (run for piece in _GAP.split(text.translate(_LETTERS)) for run in RUN.split(piece))
    return [word for piece in pieces if (word := piece.strip("'.,"))]


def required_words(entry: str) -> list[str]:
    """The words of an entry of `must`. Raises UsageError where it has none."""
    if not (words := words_of(entry)):
        raise UsageError(f"must needs a word, not {entry!r}.", "Name a word or a phrase; signs are not indexed.")
    return words


def has_cjk(text: str) -> bool:
    """Whether a text has a letter of an unspaced script, or of Korean."""
    return not text.isascii() and RUN.search(text) is not None


def exact_entry(entry: str) -> str:
    """What a passage has to contain, without control characters and outer spaces."""
    return "".join(char for char in entry.strip() if unicodedata.category(char)[0] != "C" or _is_letter(char))


def quoted(phrase: str) -> str:
    """A phrase in FTS5's syntax."""
    return '"' + phrase.replace('"', '""') + '"'


def after(start: str) -> str:
    """The least text above all that begin with `start`."""
    return start[:-1] + chr(ord(start[-1]) + 1)
