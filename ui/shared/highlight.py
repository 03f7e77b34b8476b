"""A passage with its best sentence and the words of the query marked: as pieces of text, or as HTML that is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from operator import itemgetter

from semsearch.utils.untrusted import visible

LONGEST = 330  # characters shown from the best sentence on
AROUND, SENTENCE, WORD = "around", "sentence", "word"
Span = tuple[int, int]  # from one offset of the text to another
STYLE = """<style>
.passage { white-space: pre-line; overflow-wrap: anywhere; line-height: 1.5; unicode-bidi: plaintext; }
.passage:not(.whole) { white-space: normal; line-height: 1.4; }
.passage .sentence { font-weight: 600; }
.passage mark { font-weight: 600; color: inherit; background: rgb(250 190 40 / 38%); border-radius: 3px; }
.passage .around { opacity: 0.78; }
</style>"""


def passage(text: str, sentence: Span, words: Sequence[Span], *, whole: bool = False) -> str:
    """HTML of the `whole` text, or of the part that begins with its best sentence. Offsets are into `text`."""
    first, last = (0, len(text)) if whole else shown(text, sentence[0])
    body = "".join(_marked(part, style) for style, part in pieces(text, (first, last), sentence, words))
    before, behind = "… " if first else "", " …" if last < len(text) else ""
    return f'{STYLE}<div class="passage{" whole" * whole}">{before}{body}{behind}</div>'


def pieces(text: str, part: Span, sentence: Span, words: Sequence[Span]) -> list[tuple[str, str]]:
    """Style and text of each piece of this part of a text, with control characters escaped.

    >>> pieces("Salt. A diesel engine.", (6, 22), (6, 22), [(8, 14)])
    [('sentence', 'A '), ('word', 'diesel'), ('sentence', ' engine.')]
    """
    styles = [AROUND] * len(text)
    styles[sentence[0] : sentence[1]] = [SENTENCE] * (sentence[1] - sentence[0])
    for start, end in words:
        styles[start:end] = [WORD] * (end - start)
    first, last = part
    runs = groupby(zip(text[first:last], styles[first:last], strict=True), key=itemgetter(1))
    return [(style, visible("".join(letter for letter, _ in run))) for style, run in runs]


def _marked(text: str, style: str) -> str:
    body = escape(text)
    return f"<mark>{body}</mark>" if style == WORD else f'<span class="{style}">{body}</span>'


def shown(text: str, sentence: int) -> Span:
    """From the sentence to the end of a word LONGEST characters on."""
    last = sentence + LONGEST
    if last < len(text):
        last = max(text.rfind(" ", sentence + LONGEST // 2, last), sentence + LONGEST // 2)
    return sentence, min(last, len(text))
