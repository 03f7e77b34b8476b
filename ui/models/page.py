"""Indexes & models: the indexes there are, what encodes for them, and the making of new encoders."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import streamlit as st

from semsearch import Encoder, Index, SemsearchError

from ..shared import index_picker, jobs, pool
from ..shared.format import size
from ..shared.urls import URL
from . import catalogue, export, new_index, rename, train

INDEXES, ENCODERS, EXPORT, TRAIN = PARTS = ("Indexes", "Encoders", "Export", "Train")


def page() -> None:
    """The page."""
    st.title("Indexes & models")
    jobs.refused()
    part = st.segmented_control("What to look after", PARTS, default=INDEXES, key="part", bind=URL, required=True,
                                label_visibility="collapsed")  # fmt: skip
    parts = {ENCODERS: catalogue.show, EXPORT: export.show, TRAIN: train.show}
    parts.get(part or INDEXES, _indexes)()


def _indexes() -> None:
    names = pool.names()
    if names:
        _table(names)
        name = index_picker.index(names)
        with pool.told():
            if name is not None:
                _index(name, pool.index(name).info())
    else:
        st.info("There is no index yet. Create one, then add documents to it.", icon=":material/info:")
    with st.expander("Create an index", icon=":material/add:", expanded=not names):
        new_index.create(Encoder.catalogue(), new_index.saved())
    with st.expander("Restore a dump, or bring in an index of another folder", icon=":material/unarchive:"):
        new_index.restore()
    st.caption(pool.plain(f"Indexes of {Index.folder('x').parent.absolute()}. Those of another home: semsearch "
                          "--home DIR ui"))  # fmt: skip


def _table(names: list[str]) -> None:
    """Every index in a row; one that cannot be read says why and hides no other."""
    st.dataframe([_row(name) for name in names], hide_index=True, placeholder="", column_config={
        "size": st.column_config.NumberColumn(format="bytes"),
        "documents": st.column_config.NumberColumn(format="localized"),
        "passages": st.column_config.NumberColumn(format="localized"),
        "why": st.column_config.TextColumn(width="large"),
    })  # fmt: skip


def _row(name: str) -> dict[str, Any]:
    empty = dict.fromkeys(("documents", "passages", "encoder", "size", "backend", "why", "last run"))
    try:
        known = pool.index(name).info()
    except SemsearchError as error:
        return {"index": name, **empty, "encoder": "cannot be read", "why": str(error)}
    spaces = known["spaces"]
    return {
        "index": name,
        "documents": known["documents"],
        "passages": known["passages"],
        "encoder": ", ".join(space["encoder"]["name"] for space in spaces),
        "size": known["bytes"],
        "backend": ", ".join(space["backend"] for space in spaces),
        "why": ", ".join(space["why"] for space in spaces),
        "last run": (known["last_run"] or {}).get("at", "")[:16].replace("T", " "),
    }


def _index(name: str, known: dict[str, Any]) -> None:
    """What can be done with the chosen index."""
    cut = known["recipe"]["splitter"]
    for space in known["spaces"]:
        encoder = space["encoder"]
        st.caption(pool.plain(
            f"{encoder['name']}, {space['dim']} numbers a passage, fingerprint {encoder['fingerprint'][:12]} · "
            f"{space['vectors']:,} vectors served by {space['backend']}: {space['why']} · cut by {cut['kind']}, "
            f"{cut['size']} tokens, {cut['overlap']} shared"
        ))  # fmt: skip
    row = st.container(horizontal=True)
    for label, icon, work, told in ACTIONS:
        row.button(label, key=label, icon=f":material/{icon}:", on_click=_begin, args=(name, label, work), help=told,
                   disabled=jobs.busy(name))  # fmt: skip
    rename.controls(name, known)


def _compact(folder: Path, _: jobs.Told) -> jobs.Outcome:
    with Index.open(folder) as index:
        before = index.info()["bytes"]
        index.compact()
    with Index.open(folder) as index:  # closed in between: the log is folded in
        after = index.info()["bytes"]
    larger = " There was nothing to give back, and the vector cache was written." if after > before else ""
    return jobs.Outcome(f"{size(before)} before, {size(after)} now.{larger}")


def _verify(folder: Path, told: jobs.Told) -> jobs.Outcome:
    with Index.open(folder) as index:
        problems = index.verify(told)
    if not problems:
        return jobs.Outcome("Everything is in order.")
    found = f"{len(problems):,} problems were found. Restore a dump or build the index anew; for a bad cache compact."
    return jobs.Outcome(found, tuple(problems[:20]))


def _dump(folder: Path, _: jobs.Told) -> jobs.Outcome:
    place = tempfile.TemporaryDirectory(prefix="semsearch-")  # gone with the message that offers the download
    file = Path(place.name, f"{folder.name}.dump")
    with Index.open(folder) as index:
        index.dump(file)
    return jobs.Outcome(f"{size(file.stat().st_size)} are ready.", file=file, keep=place)


ACTIONS = (
    ("Compact", "compress", _compact, "Gives back the space of what was deleted and builds the vector cache anew. "
     "Searches may have to wait for it."),
    ("Verify", "fact_check", _verify, "Reads everything and checks it: counts, checksums, caches against the store. "
     "Nothing is changed."),
    ("Dump", "archive", _dump, "Packs the whole index into one file to download. `semsearch restore` makes an index "
     "of it again."),
)  # fmt: skip
UNSTOPPED = {
    "Compact": "the database rewrites its file in one step",
    "Dump": "the database copies its file in one step",
}


def _begin(name: str, what: str, work: Any) -> None:
    try:
        folder = Index.folder(name)
    except SemsearchError as error:
        jobs.refuse(str(error))
        return
    about = UNSTOPPED.get(what, "Nothing was changed.")
    jobs.begin(name, what, lambda told: work(folder, told), stoppable=what not in UNSTOPPED, about=about)
