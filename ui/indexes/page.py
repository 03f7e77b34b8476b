"""Indexes: what there is, how to make, check, rename and remove them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from semsearch import Index, SemsearchError, admin
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import index_picker, messages, pool, tables, widgets
from ..shared.messages import plain, size
from ..shared.work import jobs
from . import new_index, reembed

Work = Callable[[Path, jobs.Report], jobs.Outcome]


def page() -> None:
    """The page."""
    messages.outcome_of_click()
    names = admin.names()
    if names:
        columns = {"size": tables.BYTES, "documents": tables.COUNT, "passages": tables.COUNT}
        tables.show([_row(name) for name in names], columns)
        name = index_picker.index()
        with messages.errors():
            if name is not None:
                _index(name, pool.index(name).info())
    else:
        messages.info("There is no index yet. Create one, then add documents to it.")
    with st.expander("Create an index", icon=":material/add:", expanded=not names):
        new_index.create()
    with st.expander("Restore a dump, or copy an index from another folder", icon=":material/unarchive:"):
        new_index.restore()
    home = pool.home()
    messages.caption(f"Indexes in {home}. For those of another home: semsearch --home DIR ui")


def _row(name: str) -> JsonObject:
    """An index in a row; of one that cannot be read, the reason."""
    try:
        info = pool.index(name).info()
    except SemsearchError as error:
        empty = dict.fromkeys(("documents", "passages", "encoder", "size", "backend", "last run"))
        return {"index": name, **empty, "encoder": f"cannot be read: {messages.sentence(error)}"}
    current = info["spaces"][0]
    return {
        "index": name,
        "documents": info["documents"],
        "passages": info["passages"],
        "encoder": current["encoder"]["name"],
        "size": info["bytes"],
        "backend": _backend(current),
        "last run": (info["last_run"] or {}).get("at", "")[:16].replace("T", " "),
    }


def _backend(space: JsonObject) -> str:
    """The name of a back end; the plain ones compare every vector."""
    backend = str(space["backend"])
    return "exact search" if backend.split()[0] in ("flat", "exact") else backend


def _index(name: str, info: JsonObject) -> None:
    """The facts about the chosen index, and the buttons and forms that act on it."""
    st.subheader(plain(name), anchor=False)
    splitter = info["recipe"]["splitter"]
    overlap = f"{splitter['overlap']} tokens overlap" if splitter["overlap"] else "no overlap"
    split = f"split at {splitter['kind']}, {splitter['size']} tokens, {overlap}"
    for space in info["spaces"]:
        encoder = space["encoder"]
        encoded = f"{encoder['name']}, {space['dim']} dimensions, fingerprint {encoder['fingerprint'][:12]}"
        if space["state"] == "current":
            messages.caption(f"{encoded} · {_backend(space)}: {space['why']} · {split}")
        else:
            there = f"vectors of {space['vectors']:,} of {count(info['passages'], 'passage')}"
            messages.caption(f"{STATES[space['state']]}: {encoded} · {there}")
    row = widgets.row()
    for label, (icon, work, hint, unstoppable) in ACTIONS.items():
        args = (name, label, work, unstoppable)
        widgets.button(label, icon, _begin, args, place=row, key=label, hint=hint, off=jobs.busy(name))
    reembed.form(name, info)
    _rename_or_remove(name, info)


def _rename_or_remove(name: str, info: JsonObject) -> None:
    """Two folded forms; they act at once, unless the index is being written to."""
    left, right = st.columns(2)
    busy = jobs.busy(name)
    form = left.expander("Rename this index", icon=":material/drive_file_rename_outline:").form("rename", border=False)
    form.text_input("New name", value=name, key=f"new name {name}")
    form.caption("Everything in it stays. Commands and links with the old name no longer find it.")
    form.form_submit_button("Rename it", icon=":material/check:", disabled=busy, on_click=_rename, args=(name,))
    with right.expander("Remove this index", icon=":material/delete_forever:"):
        documents, bytes_ = count(info["documents"], "document"), size(info["bytes"])
        st.markdown(
            f"Removes {plain(name)} with its {documents}, {bytes_}. The indexed files stay. This cannot be undone; a "
            "dump made before can be restored."
        )
        typed = st.text_input("Type its name to remove it", key=f"remove {name}", placeholder=name)
        off = busy or typed != name
        st.button("Remove it", key="really remove", type="primary", disabled=off, on_click=_remove, args=(name,))


def _rename(name: str) -> None:
    new = st.session_state[f"new name {name}"].strip()
    with messages.refusing():
        if new == name:
            raise SemsearchError(f"It is called {name} already.", "Type another name.")
        jobs.check_idle(name)
        pool.release(name)
        admin.rename(name, new)
        jobs.dismiss(name)
        index_picker.choose([new])
        messages.note(f"{name} was renamed to {new}.")


def _remove(name: str) -> None:
    with messages.refusing():
        jobs.check_idle(name)
        pool.release(name)
        try:
            left = admin.remove(name)
        except OSError as error:
            raise SemsearchError(messages.sentence(error, f"Removing {name}")) from None
        jobs.dismiss(name)
        index_picker.choose([])
        rest = f" Other files in its folder were left: {', '.join(left[:5])}." if left else ""
        messages.note(f"{name} was removed; the indexed files stay.{rest}")


def _compact(folder: Path, report: jobs.Report) -> jobs.Outcome:
    with Index.open(folder) as index:
        before = index.info()["bytes"]
        admin.compact(index, report)
    with Index.open(folder) as index:  # closed in between, so that SQLite merges its log
        after = index.info()["bytes"]
    larger = " There was nothing to free, and the vector cache was written." if after > before else ""
    return jobs.Outcome(f"{size(before)} before, {size(after)} now.{larger}")


def _verify(folder: Path, report: jobs.Report) -> jobs.Outcome:
    with Index.open(folder) as index:
        problems = index.analysis.verify(report)
    if not problems:
        return jobs.Outcome("Everything is in order.")
    fix = "Restore a dump or build the index again; compact rebuilds a damaged cache."
    return jobs.Outcome(f"{count(len(problems), 'problem')} found. {fix}", tuple(problems[:20]))


def _dump(folder: Path, report: jobs.Report) -> jobs.Outcome:
    place = tempfile.TemporaryDirectory(prefix="semsearch-")  # deleted with the message that offers the download
    file = Path(place.name, f"{folder.name}.dump")
    with Index.open(folder) as index:
        admin.dump(index, file, report)
    return jobs.Outcome(f"{size(file.stat().st_size)} are ready.", file=file, keep=place)


STATES = {"kept": "Kept to compare", "unfinished": "Not finished"}
ACTIONS: dict[str, tuple[str, Work, str, str]] = {  # icon, work, hint, why it cannot be stopped
    "Compact": (
        "compress",
        _compact,
        "Frees the space of deleted documents and builds the vector cache again. Searches may have to wait for it.",
        "the database rewrites its file in one step",
    ),
    "Verify": (
        "fact_check",
        _verify,
        "Reads everything and checks it: counts, checksums, caches against the store. Nothing is changed.",
        "",
    ),
    "Dump": (
        "archive",
        _dump,
        "Packs the whole index into one file to download. `semsearch restore` turns it into an index again.",
        "the database copies its file in one step",
    ),
}


def _begin(name: str, what: str, work: Work, unstoppable: str) -> None:
    with messages.refusing():
        folder, about = admin.folder(name), unstoppable or "Nothing was changed."
        jobs.start(name, what, lambda report: work(folder, report), stoppable=not unstoppable, about=about)
