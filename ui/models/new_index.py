"""New indexes: an empty one for an encoder, or one out of a dump or of another folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import streamlit as st

from semsearch import Encoder, Index, SemsearchError, Splitter

from ..shared import jobs, pool, splitter_form

BACKENDS = ("auto", "exact", "flat", "compressed", "ivf")


def create(known: Sequence[dict[str, Any]], saved: Sequence[dict[str, Any]]) -> None:
    """A form for a name, an encoder of the catalogue `known` or of those `saved` here, and how it is made."""
    names = {each["name"]: _offered(each) for each in known}
    names |= {each["path"]: f"{each['name']} (yours)" for each in saved if "problem" not in each}
    with st.form("create", border=False):
        left, right = st.columns(2)
        left.text_input("Name", key="new.name", placeholder="notes")
        right.selectbox("Encoder", [*names], key="new.encoder", format_func=lambda name: names.get(name, name),
                        accept_new_options=True,
                        help="Or the folder of a model, or hf:owner/name; MODEL#TEMPLATE too, such as ~/bert#cot-bert. "
                        "All documents of an index share it; another one needs another index.")  # fmt: skip
        with st.expander("Options", icon=":material/tune:"):
            _options()
        st.form_submit_button("Create it", icon=":material/add:", on_click=_create)


def _offered(entry: dict[str, Any]) -> str:
    name = str(entry["name"])
    return name if entry["local"] else f"{name} (not on this machine: {entry['size']} are fetched first)"


def _options() -> None:
    """What `semsearch index --help` has, in the same words."""
    splitter_form.fields(
        "new", Splitter(), kind_help=f"{splitter_form.HELP} It can be changed later, on the page Documents."
    )
    st.selectbox("Vector index (--backend-type)", BACKENDS, key="new.backend",
                 help="auto: by the number of vectors. exact and flat: every vector, one by one, by numpy or FAISS. "
                 "compressed: codes of every vector, a third of the memory. ivf: codes of the nearest cells only, for "
                 "millions.")  # fmt: skip


def restore() -> None:
    """A form for a dump, or a place on this machine, and a name."""
    with st.form("restore", border=False):
        st.file_uploader("A file that a dump has written", key="dump.file")
        left, right = st.columns(2)
        left.text_input("Or where on this machine it lies: a dump, or the folder of an index", key="dump.path",
                        placeholder="~/notes.dump")  # fmt: skip
        right.text_input("Name of the new index", key="dump.name", placeholder="notes-again")
        st.caption("An index of another folder is copied, as it is at this moment; the other one stays.")
        st.form_submit_button("Restore it", icon=":material/unarchive:", on_click=_restore)


def _create() -> None:
    state = st.session_state
    name, encoder, backend = state["new.name"].strip(), state["new.encoder"], state["new.backend"]
    folder = _new(name)
    if folder is None:
        return
    try:
        splitter = splitter_form.chosen("new")
    except SemsearchError as error:
        jobs.refuse(str(error))
        return

    def work(_: jobs.Told) -> jobs.Outcome:
        Index.create(folder, encoder=encoder, splitter=splitter, backend=backend).close()
        return jobs.Outcome("It is there, and empty. Add documents on the page Documents.")

    jobs.begin(name, f"Making it with {encoder}", work, stoppable=False, about="it is there whole, or not at all")
    state["new.name"] = ""  # only now: what is refused can be mended where it stands


def _restore() -> None:
    state = st.session_state
    name, file, path = state["dump.name"].strip(), state["dump.file"], state["dump.path"].strip()
    if (file is None) == (not path):
        jobs.refuse("Restore what? Choose a dump's file, or write where one lies; one of the two.")
        return
    folder = _new(name)
    if folder is None:
        return
    given = path if file is None else file.getvalue()

    def work(_: jobs.Told) -> jobs.Outcome:
        with ExitStack() as stack:
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix=".restoring-", dir=_roomy(folder)))
            index = stack.enter_context(Index.restore(_dump(given, Path(place, "dump")), folder))
            return jobs.Outcome(f"{len(index):,} documents are back.")

    jobs.begin(name, "Restoring", work, stoppable=False, about="it is there whole, or not at all")
    state["dump.name"] = state["dump.path"] = ""


def _dump(given: str | bytes, file: Path) -> Path:
    """What is restored: a dump that lies somewhere, or one that is written to `file` first."""
    if isinstance(given, bytes):
        file.write_bytes(given)
        return file
    place = Path(os.path.expanduser(given))  # noqa: PTH111  (of a user who is not there it makes no error)
    if not place.is_dir():
        return place
    with Index.open(place.absolute()) as index:
        index.dump(file)
    return file


def _roomy(folder: Path) -> Path:
    """Where there is room for a dump, since there has to be for the index: the home of indexes."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder.parent


def _new(name: str) -> Path | None:
    """Where an index of this name will be; None, and said why, where it cannot be."""
    try:
        if not name or Path(name).name != name:
            jobs.refuse("An index needs a name without '/'. Use letters, digits, '-' and '_'.")
        elif name in pool.names():
            jobs.refuse(f"There is an index {name} already. Choose another name, or remove it first.")
        else:
            return Index.folder(name)
    except SemsearchError as error:
        jobs.refuse(str(error))
    return None


def saved() -> list[dict[str, Any]]:
    """The encoders that were trained or exported here."""
    return Encoder.list_local(Encoder.models_dir())
