"""Tags in the metadata of documents, written by a click and never otherwise: their fields, and the job that writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from semsearch import SemsearchError
from semsearch.utils.quantities import count

from .. import messages, pool, widgets
from . import jobs

STAYS = "It stays when the files are read again. Search can filter by it."
Tags = Mapping[str | None, Sequence[str]]  # documents by the value that they get; None removes the key


def form(place: str, name: str, documents: list[str]) -> None:
    """Fields for a key and a value, and the button that writes them to these documents; keys begin with `place`."""
    st.caption(f"Writes to the metadata of {count(len(documents), 'document')}. {STAYS}")
    key = key_field(place, "tag")
    value = st.text_input("Value", key=f"{place}.value", placeholder="e.g. to read", help="Empty: removes the key.")
    value = value.strip()
    label = f"Set {key or '…'} to {value}" if value else f"Remove {key or '…'}"
    button(place, label, name, key, {value or None: documents})


def key_field(form: str, usual: str) -> str:
    """The field for the metadata key; its own key begins with `form`."""
    return st.text_input("Metadata key", usual, key=f"{form}.key", help=STAYS).strip()


def button(form: str, label: str, name: str, key: str, tags: Tags) -> None:
    """The button that writes these tags to the index."""
    off = not key or jobs.busy(name)
    widgets.button(messages.plain(label), "sell", _begin, (name, key, tags), key=f"{form}.go", kind="primary", off=off)


def _begin(name: str, key: str, tags: Tags) -> None:
    def work(report: jobs.Report) -> jobs.Outcome:
        with pool.open_copy(name) as index:
            changed = sum(index.annotate(list(ids), {key: value}) for value, ids in tags.items() if ids)
        total = sum(map(len, tags.values()))
        unchanged = f", {total - changed:,} had it so already" if changed < total else ""
        return jobs.Outcome(f"{count(changed, 'document')} changed under {key}{unchanged}.")

    with messages.refusing():
        if not key:
            raise SemsearchError("A tag needs a metadata key.", "Type one, for example: tag")
        jobs.start(name, f"Setting {key}", work, stoppable=False, about="it is one transaction")
