"""The options of `semsearch train` as boxes: each is a flag, and an empty one is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from semsearch import SemsearchError
from semsearch.prompts import templates
from semsearch.types import JsonObject

from . import commands


class Box(NamedTuple):
    """A box: for a number where it has a `least` one, for a choice where it has `options`, else for a text."""

    label: str  # the flag is added
    hint: str = ""
    default: str = "default"  # shown in the empty box, where the method has none
    least: float | None = None
    options: tuple[str, ...] = ()


BOXES = {
    "epochs": Box("Epochs", "How often the data is read.", least=0.01),
    "steps": Box("Or steps", default="by epochs", least=1),
    "batch-size": Box("Batch size", least=1),
    "learning-rate": Box("Learning rate", least=0.0),
    "seed": Box("Seed", "The seed of all random numbers.", "0", least=0),
    "max-length": Box("Max length in tokens", "Longer texts are cut in training.", least=1),
    "max-samples": Box("Max samples", "Drawn at random.", least=2),
    "eval-every": Box("Steps between scores", "On the validation data.", least=1),
    "grad-cache-size": Box("Texts in memory", "The loss still sees the whole batch.", least=1),
    "granularity": Box("Split by", options=("sentences", "passages")),
    "device": Box("Device", default="auto", options=("cpu", "cuda")),
    "precision": Box("Precision", "bf16 saves memory.", "fp32", options=("bf16",)),
    "warmup": Box("Warm-up", least=0.0),
    "ema-decay": Box("Decay of averaged weights", least=0.0),
    "template": Box("Template", "A name of the page Templates, a TOML file, or a text with [X].", "that of the method"),
    "validation": Box(
        "Validation data",
        "It chooses the checkpoint. By default STS-B dev where the data is on this machine, else a part of your data.",
        "stsb, a file, held-out:200 or none",
    ),
    "columns": Box(
        "Columns",
        "The columns of the data by their roles: anchor, positive, negative, score, label.",
        "anchor=title,positive=abstract",
    ),
    "labels": Box("Labels", "The labels of the data, the least similar first.", "2,1,0"),
    "teacher": Box("Teacher", "For distil: the model whose vectors are learned.", "the base, averaged"),
    "matryoshka-dims": Box("Shorter vectors", "Dimensions to which vectors can be cut.", "64,128"),
    "seeds": Box("Several seeds", "One run for each, one after the other, in place of the seed above.", "0,1,2"),
}
MAIN, *MORE = (
    ("epochs", "steps", "batch-size", "learning-rate", "seed"),
    ("max-length", "max-samples", "eval-every", "grad-cache-size"),
    ("granularity", "device", "precision", "warmup", "ema-decay"),
    ("template", "validation"),
    ("columns", "labels", "seeds"),
    ("teacher", "matryoshka-dims"),
)


def draw(names: Sequence[str], method: JsonObject) -> None:
    """Boxes in a row; an empty one shows the default of the method, which is that of its paper."""
    for place, name in zip(st.columns(len(names)), names, strict=True):
        label, hint, default, least, options = BOXES[name]
        label, key, default = f"{label} (--{name})", f"train.{name}", str(method.get(name.replace("-", "_"), default))
        if free := name == "template":
            options = tuple(templates())
        if options:
            text = lambda option, default=default: option or default  # noqa: E731
            place.selectbox(label, ("", *options), 0, text, key, hint, accept_new_options=free)
        elif least is None:
            place.text_input(label, key=key, placeholder=default, help=hint)
        else:
            form, step = "%g" if isinstance(least, float) else None, 1e-6 if name == "learning-rate" else None
            place.number_input(label, least, None, None, step, form, key, hint, placeholder=default)


def draw_more(method: JsonObject) -> None:
    """The boxes that few people need."""
    for names in MORE:
        draw(names, method)
    options = ", ".join(f"{key}={str(value).lower()}" for key, value in method["options"].items())
    label, hint = "Options of the method (--set)", f"KEY=VALUE, then Enter. Its options: {options or 'none'}."
    st.multiselect(label, [], key="train.set", help=hint, placeholder="temperature=0.1", accept_new_options=True)
    st.checkbox("Even a test set, or a whole disk (--yes)", key="train.yes")


def flags() -> list[str]:
    """The boxes that are not empty, as flags. Raises SemsearchError for two that exclude each other."""
    set_flags = commands.flags("train", BOXES)
    names = {flag.partition("=")[0] for flag in set_flags}
    for one, other in (("epochs", "steps"), ("seed", "seeds")):
        if {f"--{one}", f"--{other}"} <= names:
            raise SemsearchError(f"{one.capitalize()} and {other} are both set.", "Clear one of the two.")
    set_flags += [f"--set={each.strip()}" for each in st.session_state["train.set"] if each.strip()]
    return set_flags + (["--yes"] if st.session_state["train.yes"] else [])
