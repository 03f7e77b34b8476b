"""One pair of sentences: cosine and strength by every encoder, earlier comparisons, contributions of words, [MASK]s."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Encoder, evaluation
from semsearch.evaluation import SentencePair as Pair

from ..shared import charts, encoder_picker, messages, tables
from ..shared.messages import plain
from ..shared.widgets import URL
from . import earlier, mask_view, pair_scores, word_view

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


def show(chosen: dict[str, Encoder], first: str, second: str, *, remember: bool = True) -> None:
    """The pair, its table, what was compared before, and on demand its words, its tokens and its [MASK]s."""
    st.markdown(f"**1** {plain(first)}  \n**2** {plain(second)}")
    measure, labels = lambda encoder: pair_scores.at_once(encoder, [Pair(first, second)]), encoder_picker.labels(chosen)
    scores = encoder_picker.measure_each(chosen, measure)
    rows = {
        name: {"encoder": labels[name], "cosine": one.cosines[0], "strength": one.strengths[0]} for name, one in scores
    }
    if rows:
        tables.show(list(rows.values()), COLUMNS)
        if remember:
            earlier.add(first, second, [row | {"fingerprint": chosen[name].fingerprint} for name, row in rows.items()])
        earlier.show(first, second, [chosen[name].fingerprint for name in rows])
    hint = "Each word is left out in turn, and coloured by what that does to the cosine. For every encoder."
    if st.toggle("Contribution of each word", key="words", bind=URL, help=hint):
        word_view.show(chosen, (first, second))
    hint = "The cosine of each token with the vector of its sentence, as a share of all. For PyTorch models."
    if st.toggle("Contribution of each token", key="tokens", bind=URL, help=hint):
        _tokens(chosen, (first, second))
    hint = (
        "The cosine between the positions that a prompt reads, such as the two [MASK]s of CoT-BERT, and the words that "
        "the model would fill in there. For BERT and RoBERTa in PyTorch."
    )
    if st.toggle("Words at [MASK]", key="masks", bind=URL, help=hint):
        mask_view.show(chosen, (first, second))


def number(place: DeltaGenerator | None, label: str, key: str, most: int, default: int) -> int:
    """A number from 1 to `most`, chosen or from the URL; `default` where there is none, or one above `most`."""
    unset = key not in st.session_state and key not in st.query_params
    if unset or st.session_state.get(key, 1) > most:
        st.session_state[key] = default
    return int((place or st).number_input(label, 1, most, key=key, bind=URL))


def _tokens(chosen: dict[str, Encoder], texts: tuple[str, str]) -> None:
    attributions = lambda encoder: [evaluation.token_attribution(encoder, text) for text in texts]  # noqa: E731
    for name, attributed in encoder_picker.measure_each(chosen, attributions, messages.info):
        for number, (place, parts) in enumerate(zip(st.columns(2), attributed, strict=True), 1):
            core = 100 * sum(part.share for part in parts if part.core)
            label = f"{encoder_picker.short_name(name)}, sentence {number}"
            messages.caption(f"{label}: content words have {core:.0f} %", place)
            place.altair_chart(charts.tokens(parts))
