"""The [MASK] positions of a pair: cosines between their states, and the likeliest words at each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from semsearch import Encoder, SemsearchError, evaluation
from semsearch.training import base_model_of
from semsearch.types import JsonObject

from ..shared import encoder_picker, messages, tables
from ..shared.messages import plain

Floats = NDArray[np.float32]
WORDS = 8
SAME = 0.9999  # cosine above which a state is the encoder's vector
COLUMNS = {"cosine": st.column_config.NumberColumn("cosine", format="%.4f", width="small")}


def show(chosen: Mapping[str, Encoder], texts: tuple[str, str]) -> None:
    """A table of cosines and one of words for each encoder that reads [MASK]."""
    for name, encoder in chosen.items():
        with encoder_picker.errors_of(name, messages.info):
            vectors = evaluation.mask_vectors(encoder, texts)
            st.markdown(f"**{plain(encoder_picker.short_name(name))}**")
            tables.show(cosines(encoder, texts, vectors), COLUMNS)
            _words(name, encoder, texts)


def cosines(encoder: Encoder, texts: tuple[str, str], vectors: Floats) -> list[JsonObject]:
    """Cosines of hidden states (2, m, h): of the two sentences at each [MASK], and of each [MASK] with the next."""
    named = places(vectors.shape[1])
    whole = encoder.encode(texts)
    rows = []
    for at, place in enumerate(named):
        here = vectors[:, at]
        is_it = here.shape == whole.shape and min(map(_cosine, here, whole)) > SAME
        text = f"sentence 1 with sentence 2, at {place}" + (", which is the vector" if is_it else "")
        rows.append({"cosine": _cosine(*here), "compared": text})
    for at, (place, following) in enumerate(pairwise(named)):
        for side in (0, 1):
            text = f"{place} with {following}, in sentence {side + 1}"
            rows.append({"cosine": _cosine(vectors[side, at], vectors[side, at + 1]), "compared": text})
    return rows


def places(count: int) -> list[str]:
    """Names of the [MASK] positions of a prompt.

    >>> places(2)
    ['[MASK] 1', '[MASK] 2']
    """
    return ["[MASK]"] if count == 1 else [f"[MASK] {number}" for number in range(1, count + 1)]


def _cosine(left: Floats, right: Floats) -> float:
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / lengths if lengths else 0.0


def _words(name: str, encoder: Encoder, texts: Sequence[str]) -> None:
    """The likeliest words, by the model's own head or by that of its base model."""
    try:
        found, head = evaluation.fill_mask(encoder, texts, WORDS), "by its masked-language-model head"
    except SemsearchError as error:
        base = base_model_of(name)
        if not _is_local(base):
            messages.info(encoder_picker.page_wording(error))
            return
        found = evaluation.fill_mask(encoder, texts, WORDS, head=base)
        head = f"by the head of its base model {encoder_picker.short_name(base)}, which was not trained with it"
    messages.caption(f"The likeliest words at each [MASK], {head}. Percent of the whole vocabulary.")
    columns = {
        f"{place} · sentence {side + 1}": [f"{word.token}  {100 * word.probability:.1f} %" for word in found[side][at]]
        for at, place in enumerate(places(len(found[0])))
        for side in range(len(texts))
    }
    tables.show(columns)


def _is_local(model: str) -> bool:
    """Whether a model is on this machine; none is downloaded for its words."""
    folder = Path(model.partition("#")[0]).expanduser()
    return bool(model) and (folder.is_dir() or (not folder.is_absolute() and Encoder.is_local(model)))
