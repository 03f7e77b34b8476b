"""One pair of sentences: cosine and strength by every encoder, what each token contributes, what [MASK] holds."""

from __future__ import annotations

from typing import Any

import streamlit as st

from semsearch import Encoder, SemsearchError, evaluation

from ..shared import charts, encoder_picker, pool
from ..shared.pairs import Pair
from ..shared.urls import URL
from . import mask_view, pair_scores

COLUMNS: dict[str, Any] = {
    "cosine": st.column_config.NumberColumn("cosine", format="%.4f"),
    "strength": st.column_config.ProgressColumn(
        "strength", format="%.2f", min_value=0, max_value=1,
        help="How far the cosine stands above texts that have nothing to do with each other: 0.5 is where chance ends.",
    ),
}  # fmt: skip


def show(chosen: dict[str, Encoder], first: str, second: str) -> None:
    """The pair, its table, and its tokens where they are asked for."""
    st.markdown(f"**1** {pool.plain(first)}  \n**2** {pool.plain(second)}")
    rows, labels = [], encoder_picker.labels(chosen)
    for name, found in encoder_picker.each(chosen, lambda encoder: pair_scores.at_once(encoder, [Pair(first, second)])):
        rows.append({"encoder": labels[name], "cosine": found.cosines[0], "strength": found.strengths[0]})
    if rows:
        st.dataframe(rows, column_config=COLUMNS, hide_index=True)
    if st.toggle(
        "What each token contributes", key="tokens", bind=URL,
        help="The cosine of each token with the vector of its sentence, as a share of all. For models in Torch.",
    ):  # fmt: skip
        _tokens(chosen, (first, second))
    if st.toggle(
        "What stands at [MASK]", key="masks", bind=URL,
        help="How the positions that a prompt reads compare, such as the first and the second [MASK] of CoT-BERT, and "
        "the words that the model would fill in there. For BERT and RoBERTa in Torch.",
    ):  # fmt: skip
        mask_view.show(chosen, (first, second))


def number(place: Any, label: str, key: str, most: int, usual: int) -> int:
    """A number from 1 to `most`, of the URL or chosen; `usual` until then, and where there are fewer now."""
    nobody_said = key not in st.session_state and key not in st.query_params
    if nobody_said or st.session_state.get(key, 1) > most:
        st.session_state[key] = usual
    return int(place.number_input(label, 1, most, key=key, bind=URL))


def _tokens(chosen: dict[str, Encoder], texts: tuple[str, str]) -> None:
    for name, encoder in chosen.items():
        with encoder_picker.told(name):
            try:
                found = [evaluation.token_attribution(encoder, text) for text in texts]
            except SemsearchError as error:
                st.info(
                    pool.plain(f"{encoder_picker.short(name)}: {encoder_picker.said(error)}"),
                    icon=":material/info:",
                )
                continue
            for number, (place, parts) in enumerate(zip(st.columns(2), found, strict=True), 1):
                core = 100 * sum(part.share for part in parts if part.core)
                place.caption(
                    pool.plain(
                        f"{encoder_picker.short(name)}, sentence {number}: words that carry meaning have {core:.0f} %"
                    )
                )
                place.altair_chart(charts.tokens(parts))
