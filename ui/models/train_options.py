"""The other options of `semsearch train --help`: each box is a flag, and an empty one is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from semsearch import SemsearchError
from semsearch.types import JsonObject

TEXTS = {
    "validation": (
        "Validation data (--validation)",
        "stsb, a file, held-out:200 or none",
        "It chooses the checkpoint. By default STS-B dev where the data is on this machine, else a part of your data.",
    ),
    "columns": (
        "Columns (--columns)",
        "anchor=title,positive=abstract",
        "The columns of the data by their roles: anchor, positive, negative, score, label.",
    ),
    "labels": ("Labels (--labels)", "2,1,0", "The labels of the data, the least similar first."),
    "teacher": ("Teacher (--teacher)", "the base, averaged", "For distil: the model whose vectors are learned."),
    "matryoshka-dims": ("Shorter vectors (--matryoshka-dims)", "64,128", "Dimensions to which vectors can be cut."),
    "seeds": ("Several seeds (--seeds)", "0,1,2", "One run for each, one after the other, in place of the seed above."),
}
NUMBERS = {
    "max-length": ("Max length in tokens (--max-length)", 1, "Longer texts are cut in training."),
    "max-samples": ("Max samples (--max-samples)", 2, "Drawn at random."),
    "eval-every": ("Steps between scores (--eval-every)", 1, "On the validation data."),
    "grad-cache-size": ("Texts in memory (--grad-cache-size)", 1, "The loss still sees the whole batch."),
}
SHARES = {"warmup": "Warm-up (--warmup)", "ema-decay": "Decay of averaged weights (--ema-decay)"}
UNITS = {"": "default", "sentences": "sentences", "passages": "passages"}
DEVICES = {"": "auto", "cpu": "cpu", "cuda": "cuda"}
PRECISIONS = {"": "fp32", "bf16": "bf16"}


def form(method: JsonObject, library: Sequence[str]) -> None:
    """The boxes; `library` are the names of all templates."""
    for place, (key, (label, least, hint)) in zip(st.columns(len(NUMBERS)), NUMBERS.items(), strict=True):
        usual = f"{method['max_length']}" if key == "max-length" else "default"
        place.number_input(label, least, value=None, key=f"train.{key}", placeholder=usual, help=hint)
    row = st.columns(5)
    row[0].selectbox("Split by (--granularity)", UNITS, key="train.granularity", format_func=UNITS.__getitem__)
    row[1].selectbox("Device (--device)", DEVICES, key="train.device", format_func=DEVICES.__getitem__)
    label, key, hint = "Precision (--precision)", "train.precision", "bf16 saves memory."
    row[2].selectbox(label, PRECISIONS, key=key, format_func=PRECISIONS.__getitem__, help=hint)
    for place, (key, label) in zip(row[3:], SHARES.items(), strict=True):
        place.number_input(label, 0.0, value=None, key=f"train.{key}", placeholder="default", format="%g")
    columns = st.columns(2)
    label, usual, hint = (
        "Template (--template)",
        "that of the method",
        "A name of the page Templates, a TOML file, or a text with [X].",
    )
    columns[0].selectbox(
        label, library, None, key="train.template", accept_new_options=True, placeholder=usual, help=hint
    )
    for at, (key, (label, example, hint)) in enumerate(TEXTS.items()):
        columns[(at + 1) % 2].text_input(label, key=f"train.{key}", placeholder=example, help=hint)
    options = ", ".join(f"{key}={_value(value)}" for key, value in method["options"].items())
    label, hint = "Options of the method (--set)", f"KEY=VALUE, then Enter. Its options: {options or 'none'}."
    columns[1].multiselect(
        label, [], key="train.set", accept_new_options=True, placeholder="temperature=0.1", help=hint
    )
    columns[0].checkbox("Even a test set, or a whole disk (--yes)", key="train.yes")


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def flags() -> list[str]:
    """The boxes that are not empty, as flags. Raises SemsearchError."""
    state = st.session_state
    names = ("template", *TEXTS, "granularity", "device", "precision")
    words = {key: str(state.get(f"train.{key}") or "").strip() for key in names}
    if words["seeds"] and state.get("train.seed"):
        raise SemsearchError("A seed and several seeds are both set.", "Set the seed back to 0, or clear the others.")
    found = [f"--{key}={value}" for key, value in words.items() if value]
    found += number_flags({key: state.get(f"train.{key}") for key in (*NUMBERS, *SHARES)})
    found += [f"--set={each.strip()}" for each in state.get("train.set", ()) if each.strip()]
    return found + (["--yes"] if state.get("train.yes") else [])


def number_flags(values: Mapping[str, float | None]) -> list[str]:
    """
    >>> number_flags({"steps": 20, "rate": 3e-05, "seed": None})
    ['--steps=20', '--rate=3e-05']
    """
    numbers = {key: f"{value:g}" if isinstance(value, float) else value for key, value in values.items()}
    return [f"--{key}={value}" for key, value in numbers.items() if value is not None]
