"""What else `semsearch train --help` has: each box is a flag, and an empty one is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from semsearch import SemsearchError

TEXTS = {
    "validation": (
        "What chooses the checkpoint (--validation)",
        "stsb, a file, held-out:200 or none",
        "STS-B dev where it is at hand, else a slice of the data: that holds where nothing is said.",
    ),
    "columns": (
        "Columns (--columns)",
        "anchor=title,positive=abstract",
        "Which columns of the data are what: anchor, positive, negative, score, label.",
    ),
    "labels": ("Labels (--labels)", "2,1,0", "The data's labels, the least alike first."),
    "teacher": ("Teacher (--teacher)", "the base, averaged", "For distil: the model whose vectors are learned."),
    "matryoshka-dims": (
        "Shorter lengths (--matryoshka-dims)",
        "64,128",
        "Lengths at which the beginning of a vector serves too.",
    ),
    "seeds": ("Several seeds (--seeds)", "0,1,2", "A run for each, one after the other, in place of the seed above."),
}
NUMBERS = {
    "max-length": ("Tokens of a text (--max-length)", 1, "Read in training."),
    "max-samples": ("At most so many texts (--max-samples)", 2, "Drawn by chance."),
    "eval-every": ("Steps between two scores (--eval-every)", 1, "On dev."),
    "grad-cache-size": ("Texts that memory holds (--grad-cache-size)", 1, "The loss sees all of a batch."),
}
SHARES = {"warmup": "Warm-up (--warmup)", "ema-decay": "Mean of the weights (--ema-decay)"}
UNITS = {"": "as usual", "sentences": "sentences", "passages": "passages"}
DEVICES = {"": "auto", "cpu": "cpu", "cuda": "cuda"}
PRECISIONS = {"": "fp32", "bf16": "bf16"}


def form(method: Mapping[str, Any], known: Sequence[str]) -> None:
    """The boxes; `known` are the templates of the library."""
    for place, (key, (label, least, told)) in zip(st.columns(len(NUMBERS)), NUMBERS.items(), strict=True):
        usual = f"{method['tokens']}" if key == "max-length" else "as usual"
        place.number_input(label, least, value=None, key=f"train.{key}", placeholder=usual, help=told)
    row = st.columns(5)
    row[0].selectbox("Cut by (--granularity)", UNITS, key="train.granularity", format_func=lambda one: UNITS[one])
    row[1].selectbox("Device (--device)", DEVICES, key="train.device", format_func=lambda one: DEVICES[one])
    row[2].selectbox(
        "Numbers (--precision)",
        PRECISIONS,
        key="train.precision",
        help="bf16 saves memory.",
        format_func=lambda one: PRECISIONS[one],
    )
    for place, (key, label) in zip(row[3:], SHARES.items(), strict=True):
        place.number_input(label, 0.0, value=None, key=f"train.{key}", placeholder="as usual", format="%g")
    columns = st.columns(2)
    columns[0].selectbox(
        "Template (--template)",
        known,
        index=None,
        key="train.template",
        accept_new_options=True,
        placeholder="as the method has it",
        help="How the model is read: a name of the page Templates, a TOML file, or a text with [X].",
    )
    for at, (key, (label, example, told)) in enumerate(TEXTS.items()):
        columns[(at + 1) % 2].text_input(label, key=f"train.{key}", placeholder=example, help=told)
    options = ", ".join(
        f"{key}={value}".lower() if isinstance(value, bool) else f"{key}={value}"
        for key, value in method["options"].items()
    )
    columns[1].multiselect(
        "Of the method (--set)",
        [],
        key="train.set",
        accept_new_options=True,
        placeholder="temperature=0.1",
        help=f"KEY=VALUE, Enter. It has: {options or 'nothing of its own'}.",
    )
    columns[0].checkbox("Even a test set, or a whole disk (--yes)", key="train.yes")


def told() -> list[str]:
    """The boxes that are not empty, as flags. Raises SemsearchError."""
    state = st.session_state
    words = {
        key: str(state.get(f"train.{key}") or "").strip()
        for key in ("template", *TEXTS, "granularity", "device", "precision")
    }
    numbers = {key: state.get(f"train.{key}") for key in (*NUMBERS, *SHARES)}
    if words["seeds"] and state.get("train.seed"):
        raise SemsearchError("A seed and several seeds were given.", "Put the seed back to 0, or empty the others.")
    found = [f"--{key}={value}" for key, value in words.items() if value]
    found += [
        f"--{key}={value:g}" if isinstance(value, float) else f"--{key}={value}"
        for key, value in numbers.items()
        if value is not None
    ]
    found += [f"--set={each.strip()}" for each in state.get("train.set", ()) if each.strip()]
    return found + (["--yes"] if state.get("train.yes") else [])
