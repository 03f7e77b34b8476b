"""A passage as HTML: its best sentence and the words of the query are marked, and its own markup is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from operator import itemgetter

from semsearch.utils.untrusted import visible

LONGEST = 330  # characters shown from the best sentence on
AROUND, SENTENCE, WORD = "around", "sentence", "word"
STYLE = """<style>
.passage { white-space: pre-line; overflow-wrap: anywhere; line-height: 1.5; unicode-bidi: plaintext; }
.passage:not(.whole) { white-space: normal; line-height: 1.4; }
.passage .sentence { font-weight: 600; }
.passage mark { font-weight: 600; color: inherit; background: rgb(250 190 40 / 38%); border-radius: 3px; }
.passage .around { opacity: 0.78; }
</style>"""


def passage(text: str, sentence: tuple[int, int], words: Sequence[tuple[int, int]], *, whole: bool = False) -> str:
    """HTML of the `whole` text, or of the part that begins with its best sentence. Offsets are into `text`."""
    styles = [AROUND] * len(text)
    styles[sentence[0] : sentence[1]] = [SENTENCE] * (sentence[1] - sentence[0])
    for start, end in words:
        styles[start:end] = [WORD] * (end - start)
    first, last = (0, len(text)) if whole else _shown(text, sentence[0])
    shown = groupby(zip(text[first:last], styles[first:last], strict=True), key=itemgetter(1))
    body = "".join(_marked("".join(letter for letter, _ in run), style) for style, run in shown)
    before, behind = "… " if first else "", " …" if last < len(text) else ""
    return f'{STYLE}<div class="passage{" whole" * whole}">{before}{body}{behind}</div>'


def _marked(text: str, style: str) -> str:
    shown = escape(visible(text))
    return f"<mark>{shown}</mark>" if style == WORD else f'<span class="{style}">{shown}</span>'


def _shown(text: str, sentence: int) -> tuple[int, int]:
    """From the sentence to the end of a word LONGEST characters on."""
    last = sentence + LONGEST
    if last < len(text):
        last = max(text.rfind(" ", sentence + LONGEST // 2, last), sentence + LONGEST // 2)
    return sentence, min(last, len(text))
