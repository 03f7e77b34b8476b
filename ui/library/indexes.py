"""The indexes: what there is, how to check, rename and remove them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Index, SemsearchError, admin
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import index_picker, messages, pool, widgets
from ..shared.messages import plain, size
from ..shared.work import jobs
from . import reembed, restore

COLUMNS, ALL = 3, 0.995  # cards beside each other; the share that is all
Work = Callable[[Path, jobs.Report], jobs.Outcome]


def show(row: DeltaGenerator) -> None:
    """A card for each index, what can be done with the current one, and a way in for one from elsewhere."""
    name = index_picker.index()
    names = admin.names()
    for start in range(0, len(names), COLUMNS):
        for place, each in zip(st.columns(COLUMNS), names[start : start + COLUMNS], strict=False):
            with place.container(border=True, height="stretch", key=f"card {each}"):
                _card(each, current=each == name)
    with row.popover("Restore or copy", icon=":material/unarchive:"):
        restore.form()
    with messages.errors():
        if name is not None:
            _index(name, pool.index(name).info())
    messages.caption(f"Indexes in {pool.home()}. For those of another home: semsearch --home DIR ui")


def _card(name: str, *, current: bool) -> None:
    """An index in a few lines; of one that cannot be read, the reason."""
    label, icon = plain(messages.one_line(name, 40)), "radio_button_checked" if current else "database"
    widgets.button(label, icon, index_picker.choose, ([name],), key=f"choose {name}", kind="tertiary")
    try:
        index = pool.index(name)
        info = index.info()
    except SemsearchError as error:
        messages.caption(f"cannot be read: {messages.sentence(error)}")
        return
    space = info["spaces"][0]
    last = (info["last_run"] or {}).get("at", "")[:16].replace("T", " ")
    health = "being written" if jobs.busy(name) else f"updated {last} UTC" if last else "never updated from a folder"
    skipped, lacking = len((info["last_run"] or {}).get("skipped", ())), info["passages"] - space["vectors"]
    wrong = [f"{count(skipped, 'file')} skipped"] if skipped else []
    wrong += [f"{count(lacking, 'passage')} not encoded"] if lacking > 0 else []
    documents, passages = count(info["documents"], "document"), count(info["passages"], "passage")
    messages.caption(f"{documents}, {passages}, {size(info['bytes'])}")
    messages.caption(f"{space['encoder']['name']}{_read(pool.state(index), index)} · {_backend(space)}")
    messages.caption(" · ".join([health, *(wrong or ["nothing skipped"] * bool(last))]))


@st.cache_data(max_entries=64, show_spinner=False)
def _read(state: tuple[str, int, int], _index: Index) -> str:
    """The share of the texts that the encoder reads, where that is not all."""
    share = admin.share_read(_index) if len(_index) else None
    return "" if share is None or share > ALL else f", which reads {share:.0%} of the texts"


def _backend(space: JsonObject) -> str:
    """The name of a back end; the plain ones compare every vector."""
    backend = str(space["backend"])
    return "exact search" if backend.split()[0] in ("flat", "exact") else backend


def _index(name: str, info: JsonObject) -> None:
    """The facts about the chosen index, and the buttons and forms that act on it."""
    st.header(plain(name), anchor=False)
    splitter = info["recipe"]["splitter"]
    overlap = f"{splitter['overlap']} tokens overlap" if splitter["overlap"] else "no overlap"
    split = f"split at {splitter['kind']}, {splitter['size']} tokens, {overlap}"
    for space in info["spaces"]:
        encoder = space["encoder"]
        encoded = f"{encoder['name']}, {space['dim']} dimensions, fingerprint {encoder['fingerprint'][:12]}"
        why = f": {space['why']}" if space["why"] != "empty" else ""  # as it was when it was chosen
        if space["state"] == "current":
            messages.caption(f"{encoded} · {_backend(space)}{why} · {split}")
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
