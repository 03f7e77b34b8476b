"""Indexes & models: which indexes there are and how each is served; checking, copying and removing one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import streamlit as st

from semsearch import Encoder, Index, SemsearchError

from . import held, jobs, making
from .documents import URL, size
from .making import said, say


def page() -> None:
    """The page."""
    st.title("Indexes & models")
    said()
    names = held.names()
    if names:
        _table(names)
        name = st.selectbox("Index", names, key="index", bind=URL) or names[0]
        with held.told():
            _index(name, held.index(name).info())
    else:
        st.info("There is no index yet. Create one, then add documents to it.", icon=":material/info:")
    known = Encoder.catalogue()
    with st.expander("Create an index", icon=":material/add:", expanded=not names):
        making.create(known)
    with st.expander("Restore a dump", icon=":material/unarchive:"):
        making.restore()
    _catalogue(known)


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
        known = held.index(name).info()
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
    for space in known["spaces"]:
        encoder = space["encoder"]
        st.caption(held.plain(
            f"{encoder['name']}, {space['dim']} numbers a passage, fingerprint {encoder['fingerprint'][:12]} · "
            f"{space['vectors']:,} vectors served by {space['backend']}: {space['why']}"
        ))  # fmt: skip
    busy = bool((job := jobs.of(name)) and job.state == "running")
    row = st.container(horizontal=True)
    for label, icon, work, told in ACTIONS:
        row.button(label, key=label, icon=f":material/{icon}:", on_click=_begin, args=(name, label, work), help=told,
                   disabled=busy)  # fmt: skip
    with st.expander("Remove this index", icon=":material/delete_forever:"):
        st.markdown(
            f"Removes {held.plain(name)} with its {known['documents']:,} documents, {size(known['bytes'])}. The files "
            "that were indexed stay. This cannot be undone; a dump made before can be restored."
        )
        typed = st.text_input("Write its name to remove it", key=f"remove {name}", placeholder=name)
        st.button("Remove it", key="really remove", type="primary", disabled=typed != name, on_click=_remove,
                  args=(name,))  # fmt: skip


def _compact(folder: Path) -> jobs.Outcome:
    with Index.open(folder) as index:
        before = index.info()["bytes"]
        index.compact()
    with Index.open(folder) as index:  # closed in between: the log is folded in
        return jobs.Outcome(f"{size(before)} before, {size(index.info()['bytes'])} now.")


def _verify(folder: Path) -> jobs.Outcome:
    with Index.open(folder) as index:
        problems = index.verify()
    if not problems:
        return jobs.Outcome("Everything is in order.")
    told = f"{len(problems):,} problems were found. Restore a dump or build the index anew; for a bad cache compact."
    return jobs.Outcome(told, tuple(problems[:20]))


def _dump(folder: Path) -> jobs.Outcome:
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


def _begin(name: str, what: str, work: Any) -> None:
    try:
        folder = Index.folder(name)
        jobs.start(name, what, lambda _: work(folder), stoppable=False)
    except SemsearchError as error:
        say("error", str(error))


def _remove(name: str) -> None:
    job = jobs.of(name)
    if job and job.state == "running":
        say("error", f"{name} is busy: {job.what.lower()} is still running. Wait for it, or stop it first.")
        return
    try:
        held.release(name)
        left = Index.remove(name)
    except (SemsearchError, OSError) as error:
        say("error", str(error))
        return
    jobs.forget(name)
    rest = f" Other files in its folder were left: {', '.join(left[:5])}." if left else ""
    say("success", f"{name} was removed; the files that were indexed stay.{rest}")


def _catalogue(known: list[dict[str, Any]]) -> None:
    st.subheader("Encoders")
    st.caption("Known by name. What is not here is fetched when it is first used. Any other model works as well: by "
               "its folder, or as hf:owner/name.")  # fmt: skip
    rows = [
        {
            "name": each["name"],
            "here": each["local"],
            "on disk": each["bytes"] or None,
            "size": each["size"],
            "licence": each["licence"],
            "what": each["description"],
            "source": each["source"],
        }
        for each in known
    ]
    st.dataframe(rows, hide_index=True, placeholder="", column_config={
        "on disk": st.column_config.NumberColumn(format="bytes"),
        "what": st.column_config.TextColumn(width="large"),
        "source": st.column_config.LinkColumn(),
    })  # fmt: skip
