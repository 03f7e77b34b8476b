"""One pair of sentences: cosine and strength by every encoder, and what its words, tokens and [MASK]s contribute."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Encoder, evaluation
from semsearch.evaluation import SentencePair as Pair

from ..shared import charts, encoder_picker, messages, tables
from ..shared.messages import plain
from ..shared.widgets import URL
from . import mask_view, pair_scores, word_view

Encoders = dict[str, Encoder]
Texts = tuple[str, str]

COLUMNS = {
    "cosine": st.column_config.NumberColumn("cosine", format="%.4f"),
    "strength": st.column_config.ProgressColumn(
        "strength",
        format="%.2f",
        min_value=0,
        max_value=1,
        help="How far the cosine stands above those of unrelated texts: up to 0.5 it is no better than chance.",
    ),
}


def show(chosen: Encoders, first: str, second: str) -> None:
    """The pair, and in tabs its scores, the contributions of its words and tokens, and its [MASK]s."""
    st.markdown(f"**First** {plain(first)}  \n**Second** {plain(second)}")
    for tab, draw in zip(st.tabs(list(TABS), key="look", on_change="rerun", bind=URL), TABS.values(), strict=True):
        if tab.open:  # what is hidden is not computed
            with tab:
                draw(chosen, (first, second))


def _scores(chosen: Encoders, texts: Texts) -> None:
    measure, labels = lambda encoder: pair_scores.at_once(encoder, [Pair(*texts)]), encoder_picker.labels(chosen)
    scores = encoder_picker.measure_each(chosen, measure)
    rows = [{"encoder": labels[name], "cosine": one.cosines[0], "strength": one.strengths[0]} for name, one in scores]
    if rows:
        tables.show(rows, COLUMNS)


def number(place: DeltaGenerator | None, label: str, key: str, most: int, default: int, **other: Any) -> int:
    """A number from 1 to `most`, chosen or from the URL; `default` where there is none, or one above `most`.

    `other` is for st.number_input.
    """
    unset = key not in st.session_state and key not in st.query_params
    if unset or st.session_state.get(key, 1) > most:
        st.session_state[key] = default
    return int((place or st).number_input(label, 1, most, key=key, bind=URL, **other))


def _tokens(chosen: Encoders, texts: Texts) -> None:
    st.caption("The cosine of each token with the vector of its sentence, as a share of all. For PyTorch models.")
    attributions = lambda encoder: [evaluation.token_attribution(encoder, text) for text in texts]  # noqa: E731
    for name, attributed in encoder_picker.measure_each(chosen, attributions, messages.info):
        for at, (place, parts) in enumerate(zip(st.columns(2), attributed, strict=True)):
            core = 100 * sum(part.share for part in parts if part.core)
            label = f"{encoder_picker.short_name(name)}, {('first', 'second')[at]} sentence"
            messages.caption(f"{label}: content words have {core:.0f} %", place)
            charts.draw(charts.tokens(parts), place)


TABS = {"Scores": _scores, "Words": word_view.show, "Tokens": _tokens, "[MASK]": mask_view.show}
