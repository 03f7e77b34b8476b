"""The words of a pair, coloured by what each does to the cosine: each is left out in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from semsearch import Encoder
from semsearch.evaluation import WordContribution, word_contributions
from semsearch.types import JsonObject
from semsearch.utils.untrusted import visible

from ..shared import encoder_picker, messages, tables

LEVELS = (0.01, 0.03, 0.08, 0.15)  # changes of the cosine from which on a word has the next colour, with every encoder
ABOUT = (
    "How far the cosine falls when a word is left out (Li et al. 2016, arXiv 1612.08220). Orange, solid line: the word "
    "brings the sentences together. Blue, dashed line: it holds them apart. Words of one meaning cover for each other."
)
COLUMNS = {"change": st.column_config.NumberColumn("change of the cosine", format="%+.4f")}
# Letters have a contrast of 4.5 and more on each colour, on light and dark pages.
STYLE = """<style>
.words { line-height: 2; overflow-wrap: anywhere; white-space: pre-line; unicode-bidi: plaintext }
.words span { padding: 0.1em 0.15em; border-radius: 3px; border-bottom: 2px solid transparent }
.words .t1, .words .t2, .words .t3, .words .t4 { border-bottom-color: light-dark(#8a4b00, #ffb454) }
.words .a1, .words .a2, .words .a3, .words .a4 { border-bottom: 2px dashed light-dark(#00558a, #79c3ff) }
.words .t1 { background: light-dark(#fff1dc, #33250f) } .words .a1 { background: light-dark(#e6f2fb, #10263a) }
.words .t2 { background: light-dark(#ffdfb0, #553709) } .words .a2 { background: light-dark(#c3e1f7, #123d5c) }
.words .t3 { background: light-dark(#ffc876, #774a05) } .words .a3 { background: light-dark(#92c9ef, #15527b) }
.words .t4 { background: light-dark(#f7a93b, #8a5402) } .words .a4 { background: light-dark(#5fafe3, #17669a) }
</style>"""


def show(chosen: Mapping[str, Encoder], texts: tuple[str, str]) -> None:
    """Both sentences for each encoder, a legend, and the figures as a table."""
    messages.caption(ABOUT)
    st.html(f'{STYLE}<div class="words">{_legend()}</div>')
    measured = lambda encoder: _contributions(encoder.fingerprint, texts, encoder)  # noqa: E731
    rows: list[JsonObject] = []
    for name, both in encoder_picker.measure_each(chosen, measured, messages.info):
        messages.caption(encoder_picker.short_name(name))
        parts = "\n".join(coloured(text, words) for text, words in zip(texts, both, strict=True))
        st.html(f'{STYLE}<div class="words">{parts}</div>')
        rows += [
            {"encoder": encoder_picker.short_name(name), "sentence": side, "word": each.word, "change": each.change}
            for side, words in enumerate(both, 1)
            for each in words
        ]
    if rows:
        with st.expander("The figures of the words"):
            tables.show(rows, COLUMNS)


@st.cache_data(max_entries=128, show_spinner="Leaving out one word after the other …")
def _contributions(
    fingerprint: str, texts: tuple[str, str], _encoder: Encoder
) -> tuple[list[WordContribution], list[WordContribution]]:
    return word_contributions(_encoder, *texts)


def coloured(text: str, words: Sequence[WordContribution]) -> str:
    """HTML of a text with a colour for each word; nothing in it is markup.

    >>> coloured("a <car>", [WordContribution("car", 3, 6, 0.2)])
    'a &lt;<span class="t4" title="+0.200">car</span>&gt;'
    """
    parts, at = [], 0
    for each in words:
        written = escape(visible(each.word))
        parts += [
            escape(visible(text[at : each.start])),
            f'<span class="{kind(each.change)}" title="{each.change:+.3f}">{written}</span>',
        ]
        at = each.end
    return "".join([*parts, escape(visible(text[at:]))])


def kind(change: float) -> str:
    """The class of a word: t for together, a for apart, and how much, 0 to 4.

    >>> kind(0.2), kind(-0.05), kind(0.001)
    ('t4', 'a2', 't0')
    """
    level = sum(abs(change) >= least for least in LEVELS)
    return f"{'a' if change < 0 and level else 't'}{level}"


def _legend() -> str:
    apart = "".join(f'<span class="a{level}">−{LEVELS[level - 1]:g}</span> ' for level in (4, 3, 2, 1))
    together = "".join(f' <span class="t{level}">+{LEVELS[level - 1]:g}</span>' for level in (1, 2, 3, 4))
    return f"holds apart {apart}·{together} brings together"
