"""The [MASK] positions of a pair: cosines between their states, and the likeliest words at each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from semsearch import Encoder, SemsearchError, evaluation
from semsearch.training import base_model_of
from semsearch.types import JsonObject

from ..shared import encoder_picker, messages, tables
from ..shared.messages import plain

if TYPE_CHECKING:
    from semsearch.evaluation import MaskComparison

ABOUT = (
    "The cosine between the positions that a prompt reads, such as the two [MASK]s of CoT-BERT, and the words that the "
    "model would fill in there. For BERT and RoBERTa in PyTorch."
)
COLUMNS = {"cosine": st.column_config.NumberColumn("cosine", format="%.4f", width="small")}


def show(chosen: Mapping[str, Encoder], texts: tuple[str, str]) -> None:
    """A table of cosines and one of words for each encoder that reads [MASK]."""
    messages.caption(ABOUT)
    for name, encoder in chosen.items():
        with encoder_picker.errors_of(name, messages.info):
            compared = evaluation.compare_masks(encoder, texts)
            st.markdown(f"**{plain(encoder_picker.short_name(name))}**")
            tables.show(_cosines(compared), COLUMNS)
            _words(name, encoder, texts, compared.names)


def _cosines(masks: MaskComparison) -> list[JsonObject]:
    """Cosines of hidden states: of the two sentences at each [MASK], and of each [MASK] with the next."""
    named, rows = masks.names, []
    for at, cosine in enumerate(masks.across):
        text = f"first with second sentence, at {named[at]}" + (", which is the vector" if at == masks.read else "")
        rows.append({"cosine": cosine, "compared": text})
    for at, both in enumerate(masks.within):
        for side, cosine in zip(("first", "second"), both, strict=True):
            rows.append({"cosine": cosine, "compared": f"{named[at]} with {named[at + 1]}, {side} sentence"})
    return rows


def _words(name: str, encoder: Encoder, texts: tuple[str, str], named: Sequence[str]) -> None:
    """The likeliest words, by the model's own head or by that of its base model."""
    try:
        fillings = evaluation.likeliest_words(encoder, texts, base_model_of(name))
    except SemsearchError as error:
        messages.info(encoder_picker.page_wording(str(error)))
        return
    head = "by its masked-language-model head"
    if fillings.head:
        base = encoder_picker.short_name(fillings.head)
        head = f"by the head of its base model {base}, which was not trained with it"
    messages.caption(f"The likeliest words at each [MASK], {head}. Percent of the whole vocabulary.")
    columns = {
        f"{place} · {side} sentence": [f"{word.token}  {100 * word.probability:.1f} %" for word in words[at]]
        for at, place in enumerate(named)
        for side, words in zip(("first", "second"), fillings.words, strict=True)
    }
    tables.show(columns)
