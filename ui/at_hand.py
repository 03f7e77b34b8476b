"""Which models are on this machine: what a link opens, or a name that was typed, must not start a download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from semsearch import Encoder

from . import held

HUB = "hf:"


def here(model: str) -> bool:
    """Whether nothing has to be fetched for it; where something has, it says how."""
    name = model.partition("#")[0].strip()
    entry = next((one for one in Encoder.catalogue() if one["name"] == name), None)
    local = not name.startswith(HUB) if entry is None else bool(entry["local"])
    if not local:
        st.info(f"{held.plain(name)} is not on this machine. Fetch it first:", icon=":material/download:")
        st.code(f"semsearch models pull {name}", language=None)
    return local


def encoders() -> list[str]:
    """Those of the catalogue that need no fetching, the usual one first, and what was trained or exported here."""
    made = [str(one["path"]) for one in Encoder.saved(Encoder.home()) if not one.get("problem")]
    return [*(str(one["name"]) for one in Encoder.catalogue() if one["local"]), *made]


def several(label: str, key: str, default: Sequence[str], **how: Any) -> list[str]:
    """Encoders that a person chooses, and that are here."""
    names = st.multiselect(
        label, encoders(), default=list(default), key=key, accept_new_options=True, max_selections=8,
        placeholder="A name, a folder, or FOLDER#TEMPLATE",
        help="Besides these: the folder of a model, or MODEL#TEMPLATE, such as ~/bert#cot-bert. Press Enter after it.",
        **how,
    )  # fmt: skip
    return [name for name in dict.fromkeys(each.strip() for each in names) if name and here(name)]


def one(label: str, key: str, help_: str, **how: Any) -> str:
    """An encoder that a person chooses, if it is here; "" otherwise."""
    chosen = st.selectbox(
        label, encoders(), key=key, accept_new_options=True, placeholder="A name, a folder, or FOLDER#TEMPLATE",
        help=help_, **how,
    )  # fmt: skip
    name = (chosen or "").strip()
    return name if name and here(name) else ""
