"""Sentence segmentation by rules for Latin scripts and CJK, in one pass over the text.

A stop ends a sentence unless it follows an abbreviation, an initial or the number of a list item, or a lower-case
letter follows. So do blank lines, and the lines of lists, tables and headings. Not covered: scripts without stops
(Thai), abbreviations of languages other than English, German, French and Spanish.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CLOSERS = "\"'”’»›)\\]}」』）】》*_`"
_SIGN = re.compile(r"[.!?…。！？｡．\n#]")  # what a border begins with: found 50 times as fast as a border is
_BORDER = re.compile(
    rf"""
    (?<![.!?…])(?P<stop>[.!?…]++)[{_CLOSERS}]*+(?=\s|$)     # followed by space: 3.14 and example.org go on
    | [。！？｡．]+[{_CLOSERS}]*                # CJK stops need no space
    | \n(?=[^\S\n]*(?:                        # a line border, before a blank line or an item
        \n | [-*+•‣·–][^\S\n] | \(?\d{{1,3}}[.)][^\S\n] | \#{{1,6}}[^\S\n] | \| | >>>[^\S\n] | ``` | ~~~
        | \.\.[^\S\n] | :\w+: ))
    | (?m:^)\#{{1,6}}[^\S\n][^\n]*+(?=\n)       # a heading's own line
    """,
    re.X,
)
_SPACE = re.compile(r"\s*")
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘«—–/]*$")
_OPENING = re.compile(r"[\s\"'“‘«‹(\[{¿¡*_`]*")
_ITEM_NUMBER = re.compile(r"\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4}")
_LOOK_BACK = 12  # characters: no abbreviation is longer, and a list is not indented deeper


def _with_capitals(words: str) -> frozenset[str]:
    return frozenset(form for word in words.split() for form in (word, word.capitalize()))


_TITLES = """Mr Mrs Ms Dr Prof Rev Hon St Messrs Gen Col Capt Lt Sgt Maj Gov Sen Rep Pres Supt
    Mme Mlle Sra Srta Dra Hr z.B"""
_NEVER_LAST = _with_capitals(
    """vs cf eg e.g ie i.e viz approx resp incl esp dept univ assn bros
    bzw z.b d.h u.a vgl abb s.o s.u ggf evtl sog hrsg p.ex ej pág núm"""
) | frozenset(_TITLES.split())
_BEFORE_NUMBER = _with_capitals(
    """no nos p pp art arts fig figs eq eqs sec secs ch chap vol vols ref refs tab para ca nr str th thm def
    jan feb mar apr jun jul aug sep sept oct nov dec"""
)


def sentences(text: str) -> list[tuple[int, int]]:
    """(start, end) of every sentence, ascending, without surrounding white space. All other text is in exactly one.

    >>> [text[a:b] for text in ["Dr. Wu paid $3.50. Why? 他走了。"] for a, b in sentences(text)]
    ['Dr. Wu paid $3.50.', 'Why?', '他走了。']
    """
    return list(spans(text))


def spans(text: str) -> Iterator[tuple[int, int]]:
    """The `sentences` one by one. No step is long, as one call of `re` keeps all other threads waiting."""
    start = after_space(text, 0, len(text))
    for sign in _SIGN.finditer(text):
        border = _BORDER.match(text, sign.start()) if sign.start() >= start else None
        if border is None or (border["stop"] and not _is_end(text, border)):
            continue
        yield start, before_space(text, start, border.end())
        start = after_space(text, border.end(), len(text))
    if start < len(text):
        yield start, before_space(text, start, len(text))


def after_space(text: str, start: int, end: int) -> int:
    """The first offset from `start` on, up to `end`, that is not white space."""
    space = _SPACE.match(text, start, end)
    return space.end() if space else start


def before_space(text: str, start: int, end: int) -> int:
    """`end` without the white space before it, down to `start`."""
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


def _is_end(text: str, border: re.Match[str]) -> bool:
    """Whether a sentence ends at this stop, by the word before it and the letter after it."""
    following = _letter_after(text, border.end())
    if following.islower():
        return False
    if border.group("stop") != ".":
        return True
    at = border.start("stop")
    last = _LAST_WORD.search(text, max(0, at - _LOOK_BACK), at)
    word = last.group() if last else ""
    if (len(word) == 1 and word.isupper() and word != "I") or word in _NEVER_LAST:
        return False
    if word in _BEFORE_NUMBER and following.isdigit():
        return False
    return not (_ITEM_NUMBER.fullmatch(word) and _begins_line(text, at - len(word)))


def _letter_after(text: str, at: int) -> str:
    """The first letter after white space and opening quotes or brackets; "" at the end."""
    opening = _OPENING.match(text, at)
    end = opening.end() if opening else at
    return text[end : end + 1]


def _begins_line(text: str, at: int) -> bool:
    before = text[max(0, at - _LOOK_BACK) : at].rpartition("\n")
    return not before[2].strip() and (before[1] == "\n" or at <= _LOOK_BACK)
