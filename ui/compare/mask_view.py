"""What stands at the [MASK]s of a pair: how the two positions of CoT-BERT compare, and the words that fill them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from semsearch import Encoder, SemsearchError, evaluation, trained_from

from ..shared import encoder_picker, pool

WORDS = 8
SAME = 0.9999  # cosine from which on a state is the encoder's vector
ORDINALS = ("first", "second", "third", "fourth", "fifth")
COLUMNS = {"cosine": st.column_config.NumberColumn("cosine", format="%.4f", width="small")}


def show(chosen: Mapping[str, Encoder], texts: tuple[str, str]) -> None:
    """A table of cosines and one of words for each encoder that reads [MASK]."""
    for name, encoder in chosen.items():
        with encoder_picker.told(name):
            try:
                vectors = evaluation.mask_vectors(encoder, texts)
            except SemsearchError as error:
                st.info(
                    pool.plain(f"{encoder_picker.short(name)}: {encoder_picker.said(error)}"),
                    icon=":material/info:",
                )
                continue
            st.markdown(f"**{pool.plain(encoder_picker.short(name))}**")
            st.dataframe(cosines(encoder, texts, vectors), column_config=COLUMNS, hide_index=True)
            _words(name, encoder, texts)


def cosines(encoder: Encoder, texts: tuple[str, str], vectors: Any) -> list[dict[str, Any]]:
    """Of the hidden states (2, m, h): sentence with sentence at each [MASK], each [MASK] with the next one.

    >>> places(2)
    ['first [MASK]', 'second [MASK]']
    """
    named = places(vectors.shape[1])
    whole = encoder.encode(texts)
    rows = []
    for at, place in enumerate(named):
        here = vectors[:, at]
        is_it = here.shape == whole.shape and min(_cosine(here[side], whole[side]) for side in (0, 1)) > SAME
        told = f"sentence 1 with sentence 2, at the {place}" + (", which is the vector" if is_it else "")
        rows.append({"cosine": _cosine(*here), "compared": told})
    for at in range(1, len(named)):
        for side in (0, 1):
            told = f"{named[at - 1]} with {named[at]}, in sentence {side + 1}"
            rows.append({"cosine": _cosine(vectors[side, at - 1], vectors[side, at]), "compared": told})
    return rows


def places(count: int) -> list[str]:
    """What the [MASK]s of a prompt are called."""
    if count == 1:
        return ["[MASK]"]
    return [f"{ORDINALS[at] if at < len(ORDINALS) else f'{at + 1}th'} [MASK]" for at in range(count)]


def _cosine(left: Any, right: Any) -> float:
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / lengths if lengths else 0.0


def _words(name: str, encoder: Encoder, texts: Sequence[str]) -> None:
    """The likeliest words, by the model's own head or by that of the model which it was trained from."""
    try:
        found, told = evaluation.fill_mask(encoder, texts, WORDS), "by its masked-language-model head"
    except SemsearchError as error:
        base = trained_from(name)
        if not _here(base):
            st.info(pool.plain(encoder_picker.said(error)), icon=":material/info:")
            return
        found = evaluation.fill_mask(encoder, texts, WORDS, head=base)
        told = f"by the head of {encoder_picker.short(base)}, from which it was trained: that has not seen the training"
    st.caption(pool.plain(f"The likeliest words at each [MASK], {told}. Percent of the whole vocabulary."))
    columns = {
        f"{place} · sentence {side + 1}": [f"{word.token}  {100 * word.probability:.1f} %" for word in found[side][at]]
        for at, place in enumerate(places(len(found[0])))
        for side in range(len(texts))
    }
    st.dataframe(columns, hide_index=True)


def _here(model: str) -> bool:
    """Whether a model lies on this machine: its words are not worth a download."""
    name = model.partition("#")[0]
    known = next((one["local"] for one in Encoder.catalogue() if one["name"] == name), None)
    return bool(model) and (Path(name).expanduser().is_dir() if known is None else bool(known))
