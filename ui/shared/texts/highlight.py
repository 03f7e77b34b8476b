"""A passage with its best sentence and the words of the query marked: as pieces of text, or as HTML that is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from operator import itemgetter

from semsearch.utils.untrusted import visible

LONGEST = 330  # characters shown from the best sentence on
AROUND, SENTENCE, WORD = "around", "sentence", "word"
LITERAL = "literal"  # beside the style of a piece that is code
Span = tuple[int, int]  # from one offset of the text to another
STYLE = """<style>
.passage { white-space: pre-line; overflow-wrap: anywhere; line-height: 1.5; unicode-bidi: plaintext; }
</style>"""


def passage(text: str) -> str:
    """HTML of a text, with its lines."""
    return f'{STYLE}<div class="passage" dir="auto">{escape(visible(text))}</div>'


def pieces(text: Sequence[str], part: Span, sentence: Span, words: Sequence[Span]) -> list[tuple[str, str]]:
    """Style and text of each piece of this part of a text, with control characters escaped.

    A text may be given letter by letter, "" where one is left out.

    >>> pieces("Salt. A diesel engine.", (6, 22), (6, 22), [(8, 14)])
    [('sentence', 'A '), ('word', 'diesel'), ('sentence', ' engine.')]
    """
    styles = [AROUND] * len(text)
    styles[sentence[0] : sentence[1]] = [SENTENCE] * (sentence[1] - sentence[0])
    for start, end in words:
        styles[start:end] = [WORD] * (end - start)
    first, last = part
    runs = groupby(zip(text[first:last], styles[first:last], strict=True), key=itemgetter(1))
    made = ((style, visible("".join(letter for letter, _ in run))) for style, run in runs)
    return [(style, shown) for style, shown in made if shown]


def shown(text: str, sentence: int) -> Span:
    """From the sentence to the end of a word LONGEST characters on."""
    last = sentence + LONGEST
    if last < len(text):
        last = max(text.rfind(" ", sentence + LONGEST // 2, last), sentence + LONGEST // 2)
    return sentence, min(last, len(text))
