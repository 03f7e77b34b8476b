"""New indexes: an empty one for an encoder, or one from a dump or another folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import streamlit as st

from semsearch import Encoder, Index, SemsearchError, Splitter, admin
from semsearch.utils.quantities import count

from ..shared import encoder_picker, index_picker, messages, navigation, widgets
from ..shared.work import jobs

ALL_OR_NOTHING = "it is created completely or not at all"


def create() -> None:
    """A form for a name, an encoder and options, under the names of `semsearch index --help`."""
    saved = Encoder.list_local(Encoder.models_dir())
    names = {str(each["name"]): encoder_picker.with_download(each) for each in Encoder.catalogue()}
    names |= {each["path"]: f"{each['name']} (yours)" for each in saved if "problem" not in each}
    with st.form("create", border=False):
        left, right = st.columns(2)
        left.text_input("Name", key="new.name", placeholder="notes")
        hint = (
            "Or the folder of a model, hf:owner/name, or MODEL#TEMPLATE, such as ~/bert#cot-bert. All documents of an "
            "index share it. The index can be encoded again with another one later."
        )
        encoder_picker.box("Encoder", names, "new.encoder", hint, place=right, index=0)
        with st.expander("Options", icon=":material/tune:"):
            hint = f"{widgets.SPLIT_HELP} It can be changed later, on the page Documents."
            widgets.splitter_fields("new", Splitter(), kind_help=hint)
            hint = (
                "auto: by the number of vectors. exact and flat: every vector, by numpy or FAISS. compressed: a code "
                "for every vector, in a third of the memory. ivf: codes of the nearest cells only, for millions."
            )
            st.selectbox("Vector index (--backend-type)", admin.backends(), key="new.backend", help=hint)
        st.form_submit_button("Create it", icon=":material/add:", on_click=_create)


def restore() -> None:
    """A form for a dump or an index on this machine, and a name."""
    with st.form("restore", border=False):
        st.file_uploader("A dump file", key="dump.file")
        left, right = st.columns(2)
        label = "Or a path on this machine: a dump, or the folder of an index"
        left.text_input(label, key="dump.path", placeholder="~/notes.dump")
        right.text_input("Name of the new index", key="dump.name", placeholder="notes-again")
        st.caption("An index in another folder is copied as it is now; the original stays.")
        st.form_submit_button("Restore it", icon=":material/unarchive:", on_click=_restore)


def _create() -> None:
    state = st.session_state
    name, encoder, backend = state["new.name"].strip(), state["new.encoder"], state["new.backend"]
    with messages.refusing():
        folder, splitter = _folder(name), widgets.splitter_chosen("new")

        def work(_: jobs.Report) -> jobs.Outcome:
            Index.create(folder, encoder=encoder, splitter=splitter, backend=backend).close()
            return jobs.Outcome(f"{name} was created; add documents.")

        jobs.start(name, f"Creating {name} with {encoder}", work, stoppable=False, about=ALL_OR_NOTHING)
        index_picker.choose([name])
        navigation.go_on("documents")
        state["new.name"] = ""  # only now: a form that was refused keeps its text


def _restore() -> None:
    state = st.session_state
    name, file, path = state["dump.name"].strip(), state["dump.file"], state["dump.path"].strip()
    with messages.refusing():
        if (file is None) == (not path):
            raise SemsearchError("There is nothing to restore.", "Choose a dump file or type a path, one of the two.")
        folder, source = _folder(name), path if file is None else file.getvalue()

        def work(report: jobs.Report) -> jobs.Outcome:
            folder.parent.mkdir(parents=True, exist_ok=True)  # the dump goes there, where the index needs room too
            with (
                tempfile.TemporaryDirectory(prefix=".restoring-", dir=folder.parent) as place,
                admin.restore(_dump(source, Path(place, "dump")), folder, progress=report) as index,
            ):
                said = f"{count(len(index), 'document')} restored."
                if "set_aside" in index.info()["recipe"]:
                    said += f" It follows no folder. If you trust where it comes from: semsearch trust {name}"
                return jobs.Outcome(said)

        jobs.start(name, "Restoring", work, stoppable=False, about=ALL_OR_NOTHING)
        index_picker.choose([name])
        navigation.go_on("documents")
        state["dump.name"] = state["dump.path"] = ""


def _dump(source: str | bytes, file: Path) -> Path:
    """The dump to restore: one that is on this machine, or one that is written to `file` first."""
    if isinstance(source, bytes):
        file.write_bytes(source)
        return file
    place = Path(os.path.expanduser(source))  # noqa: PTH111  (Path.expanduser raises for an unknown user)
    if not place.is_dir():
        return place
    with Index.open(place.absolute()) as index:
        admin.dump(index, file)
    return file


def _folder(name: str) -> Path:
    """The folder of a new index. Raises SemsearchError for a name that cannot be one, or is taken."""
    if not name or Path(name).name != name:
        raise SemsearchError("An index needs a name without '/'.", "Use letters, digits, '-' and '_'.")
    if name in admin.names():
        raise SemsearchError(f"There is an index {name} already.", "Choose another name, or remove it first.")
    return admin.folder(name)
