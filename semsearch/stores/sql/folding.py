"""Letters as they are searched for: what is written in several ways is indexed, and looked for, in one.

Compatibility forms are replaced (NFKC: ligatures, full and half width, mathematical letters, presentation forms),
format characters dropped (soft hyphens, zero-width and bidirectional signs), and so are the marks above and below
letters: Greek accents, Arabic and Hebrew vowel signs, but not those of the scripts of South and Southeast Asia, where
they are letters in all but name. Letters for one sound are one: ё and е, ß and ss, the forms of alef (as in Lucene's
ArabicNormalizer and PersianNormalizer). Digits are those of ASCII. Emoji become words: letters of the private use area,
which FTS5 takes for letters; tones of skin are dropped, and a sequence is a phrase, a flag one word.

Case, accents of Latin letters and endings of words are left to FTS5. The same text may be folded in another way by a
later version of Python, which knows more letters: stores keep what they have indexed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

_EMOJI = "\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"  # and other signs beside them
_MODIFIERS = "\ufe0e\ufe0f\U0001f3fb-\U0001f3ff\u20e3\U000e0020-\U000e007f"
_REGIONAL = "[\U0001f1e6-\U0001f1ff]"  # two of these letters are a flag
_ARABIC = "[\u0620-\u06ff\u0750-\u077f]"
_RAISED = "\u00b9\u00b2\u00b3\u2070\u2074-\u2079"
_ONE = f"[{_EMOJI}][{_MODIFIERS}]*"
# What depends on its neighbours. A zero-width non-joiner parts the words of Persian compounds; a raised number after a
# word is that of a note.
_SEQUENCE = (
    rf"(?P<flag>{_REGIONAL}{{2}})|(?P<emoji>{_ONE}(?:\u200d{_ONE})*)|(?P<key>[0-9#*])\ufe0f?\u20e3"
    rf"|(?P<hyphen>\u00ad[ \t]*\r?\n[ \t]*)|(?<={_ARABIC})(?P<part>\u200c)(?={_ARABIC})"
    rf"|(?P<am>\u0e4d\u0e32|\u0ecd\u0eb2)|(?<=[^\W\d_]{{3}})(?P<note>[{_RAISED}]+)"
)
# Which of these a text needs at all: to look for it takes 9 µs where the expression above takes 200
_NEIGHBOURS = f"[{_EMOJI}{_RAISED}\u00ad\u200c\u20e3\u0e4d\u0ecd]"
# All but scripts in which no letter is folded, so that most texts are only looked at: ASCII, most of Latin and
# Cyrillic, dashes and quotes, Thai, kana, Han, Hangul
_CHANGED = (
    "[^\x00-\x7f\xa0-\xa9\xab\xac\xae\xaf\xb0\xb1\xb4\xb6-\xb8\xbb\xbf-\xc5\xc7-\xd7\xd9-\xde\xe0-\xe5\xe7-\xf7\xf9-\xff"
    "\u0100-\u010f\u0112-\u0130\u0134-\u013e\u0143-\u0148\u014a-\u0151\u0154-\u017e"
    "\u0402-\u040c\u040e-\u044f\u0452-\u045c\u045e-\u045f\u0490-\u04ff\u0e01-\u0e4c"
    "\u2010-\u2027\u2030-\u203b\u20a0-\u20a7\u20a9-\u20bf"
    "\u3000-\u3029\u3030-\u3035\u3041-\u3096\u30a1-\u30fe\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff0f\uff1a-\uff20]"
)
_TAG = range(0xE0020, 0xE0080)  # the letters of a region's flag, as 🏴󠁧󠁢󠁥󠁮󠁧󠁿
_ALIKE = {
    **dict(zip("ЁёЀѐЍѝςøØłŁđĐı", "ЕеЕеИиσoOlLdDi", strict=True)),
    **dict(zip("أإآٱىیکة", "ااااييكه", strict=True)),
    "ß": "ss",
    "ẞ": "SS",
    "æ": "ae",
    "Æ": "AE",
    "œ": "oe",
    "Œ": "OE",
    "\uff9e": "\u3099",
    "\uff9f": "\u309a",  # marks of kana, of half width
    **{one: one for one in "ำຳ"},  # rather than the two signs of NFKC, which almost nobody writes
    "ـ": "",  # it only stretches a word
}
_AM = {"ํา": "ำ", "ໍາ": "ຳ"}
_APART = ("<circle>", "<fraction>")  # 3½ is three and a half, not thirty-one
_COMPOSED = frozenset(map(chr, (*range(0x1160, 0x1200), 0x3099, 0x309A, 0xFF9E, 0xFF9F)))  # with what is before them


class _Letters(dict[int, str]):
    """For str.translate: each character, as it is searched for where it stands alone."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = _ALIKE[char] if char in _ALIKE else _letter(char)
        return self[code]


_LETTERS = _Letters()


class Folded(NamedTuple):
    """A folded text, and for each of its characters where it is from: (start, end) in the text itself."""

    text: str
    places: Sequence[tuple[int, int]]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where text[start:end] is from."""
        return self.places[start][0], self.places[end - 1][1]


def fold(text: str) -> str:
    """The text as it is indexed and searched for; the same object where nothing changes.

    >>> fold("ﬁnal ＷＩＤＴＨ Ёлка λόγος co\u00adop")
    'final WIDTH Елка λογοσ coop'
    """
    if text.isascii() or not _pattern(_CHANGED).search(text):
        return text
    composed = unicodedata.normalize("NFC", text)
    if _pattern(_NEIGHBOURS).search(composed):
        composed = _pattern(_SEQUENCE).sub(_sequence, composed)
    return unicodedata.normalize("NFC", composed.translate(_LETTERS))


def folded(text: str) -> Folded:
    """The folded text with the places of its letters: slower than `fold`, and for texts that are shown.

    >>> folded("ﬁne").place(0, 4)
    (0, 3)
    """
    if fold(text) == text:
        return Folded(text, [(at, at + 1) for at in range(len(text))])
    pieces = list(_pieces(text))
    places = [(start, end) for start, end, piece in pieces for _ in piece]
    return Folded("".join(piece for *_, piece in pieces), places)


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end) of what is folded together, and what it becomes."""
    at = 0
    for sequence in _pattern(_SEQUENCE).finditer(text):
        yield from _units(text, at, sequence.start())
        yield *sequence.span(), _sequence(sequence).translate(_LETTERS)
        at = sequence.end()
    yield from _units(text, at, len(text))


def _units(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Each letter with its marks."""
    while start < end:
        after = start + 1
        while after < end and (unicodedata.category(text[after])[0] == "M" or text[after] in _COMPOSED):
            after += 1
        yield start, after, fold(text[start:after])
        start = after


def _sequence(match: re.Match[str]) -> str:
    kind, text = match.lastgroup, match[0]
    if kind == "emoji" and unicodedata.category(text[0]) != "So":  # brackets and the like
        return text
    if kind in ("emoji", "flag"):  # the apostrophes make a sequence a phrase
        return f" {''.join(map(_symbol, text))} "
    return {"key": f" {match['key']} ", "part": " ", "am": _AM.get(text, ""), "note": f" {text}"}.get(str(kind), "")


def _symbol(char: str) -> str:
    """A sign of a sequence as a letter of the private use area, in which the last four digits of its code are kept."""
    if char == "\u200d":
        return "'"
    if ord(char) in _TAG or unicodedata.category(char) == "So":
        compatible = unicodedata.normalize("NFKC", char)
        return compatible if compatible != char else chr(0xF0000 | ord(char) & 0xFFFF)
    return ""


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    """Compiled when a text needs it: 2 ms that a query in ASCII has no use for."""
    return re.compile(expression)


def _letter(char: str) -> str:
    compatible = unicodedata.normalize("NFKC", char)
    category = unicodedata.category(char)
    if category == "Cf" or (category[0] == "M" and _is_dropped(char, category)):
        return ""
    if category == "Nd":
        return str(unicodedata.digit(char))
    if _is_greek(char) or _is_greek(compatible[:1]):
        plain = (one for one in unicodedata.normalize("NFKD", char) if unicodedata.category(one)[0] != "M")
        return "".join(_ALIKE.get(one, one) for one in plain)
    if compatible == char or not any(map(str.isalnum, compatible)):
        return char
    how = unicodedata.decomposition(char).partition(" ")[0]
    apart = how in _APART or (category == "So" and how != "<square>")
    letters = compatible.translate(_LETTERS)
    return f" {letters} " if apart else letters


def _is_dropped(mark: str, category: str) -> bool:
    """Marks that a reader can do without. Vowels of South and Southeast Asia are of other classes."""
    order = unicodedata.combining(mark)
    if category == "Me" or order == 1 or order >= 200 or 10 <= order <= 36:
        return True
    if order == 7:  # the dot of Indic letters; in Burmese it is a tone
        return mark < "\u0e00"
    return not order and (mark == "\u034f" or "\ufe00" <= mark <= "\ufe0f" or mark >= "\U000e0100")


def _is_greek(char: str) -> bool:
    return "\u0370" <= char <= "\u03ff" or "\u1f00" <= char <= "\u1fff"
