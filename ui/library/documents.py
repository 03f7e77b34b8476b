"""The documents of an index, and what was skipped; adding, updating, tagging and deleting in the background."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Index, SemsearchError
from semsearch.analysis import day_of
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import examples, index_picker, messages, navigation, pool, tables, widgets
from ..shared.messages import plain, size
from ..shared.widgets import URL
from ..shared.work import jobs, tagging
from . import passages, skipped, sources

ROWS = 200  # of the table at a time
MOST_NAMED = 5  # documents in the confirmation of a deletion
STATES = {
    "current": "up to date",
    "changed": "changed on disk",
    "unfinished": "partly read",
    "gone": "file is gone",
    "unseen": "folder is missing",
    "kept": "in the index only",
}
STATE_HELP = """
- up to date: size and time of the file have not changed since it was read
- changed on disk: they have; an update reads the file again
- partly read: reading was stopped, or some records were skipped or deleted; every update reads the file again
- file is gone: an update deletes the document
- folder is missing: its source is not there or cannot be read; nothing is deleted
- in the index only: it was uploaded or added by a program, and comes from no source
- no text: nothing in it can be found
"""
COLUMNS = {  # all of them, in order
    "id": tables.MEDIUM,
    "title": None,  # buttons, which come first in the table
    "state": st.column_config.TextColumn(help=STATE_HELP),
    "passages": tables.COUNT,
    "size": tables.TEXT_BYTES,
    "date": st.column_config.DateColumn(format="YYYY-MM-DD", help=messages.DATE),
    "file changed": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm", help="UTC"),
    "metadata": tables.WIDE,
}


def show(row: DeltaGenerator) -> None:
    """The documents of the current index; `row` is for the buttons."""
    navigation.uses("add")
    name = index_picker.index()
    if name is None:
        return
    with messages.errors():
        index = pool.index(name)
        info = index.info()
        messages.caption(f"{name} · {_summary(info, busy=jobs.busy(name))}")
        sources.controls(name, info, row)
        _documents(name, index, info["documents"])
        skipped.show(index)


def _summary(info: JsonObject, *, busy: bool) -> str:
    documents, passages = count(info["documents"], "document"), count(info["passages"], "passage")
    documents += " so far" if busy else ""
    last = info["last_run"]
    run = [f"updated {last['at'][:16].replace('T', ' ')} UTC"] if last else []
    return " · ".join([documents, passages, size(info["bytes"]), *run])


def _documents(name: str, index: Index, total: int) -> None:
    """The documents that match the filters, buttons that delete the chosen ones, and the passages of one."""
    if not total and jobs.busy(name):
        examples.filling([name])
        return
    if not total:
        messages.info("This index contains no document yet.")
        return
    filters = _filters()
    matching = _passing(index, *filters)
    if not matching:
        messages.info("No document matches. Loosen the filters.")
        return
    ids = widgets.page_of(matching, ROWS, "page", bind=URL, width=160)
    per_page = f", {ROWS} a page" if len(matching) > ROWS else ""
    key = f"table {name} {ids[0]} {filters} {index.version}"
    click = partial(_read, name, ids)
    title: Any = st.column_config.ButtonColumn(
        width="large", help="Opens it", alignment="left", type="tertiary", on_click=click, key="read"
    )
    shown = [row | {"title": tables.literal(row["title"])} for row in rows(index, ids)]
    tables.select(shown, {**COLUMNS, "title": title}, key, lambda ticked: choose(ids, ticked), many=True)
    row = widgets.row()
    row.caption(f"{count(len(matching), 'document')}{per_page}. Click a title to read, tick rows to tag or delete.")
    hint = "As a file that a spreadsheet opens without running a formula: the chosen ones, or all pages of the table."
    if "chosen" in st.session_state:
        st.session_state["chosen"] = [each for each in st.session_state["chosen"] if each in ids]
    chosen = widgets.several("Chosen", ids, "chosen", bind=URL, placeholder="Tick rows above, or type a name here")
    wanted = chosen or matching
    label, file = f"CSV ({len(wanted):,})", f"{name}.csv"
    tables.download(label, file, lambda: tables.to_csv(rows(index, wanted), list(COLUMNS)), place=row, hint=hint)
    _selected(name, chosen, matching if len(matching) < total else [])
    if len(chosen) == 1:
        passages.show(name, chosen[0])


def _read(name: str, ids: Sequence[str]) -> None:
    """The document of the clicked row, in the reader."""
    with messages.refusing():
        passages_ = pool.index(name).passages(ids[st.session_state["read"]["row"]])
        if not passages_:
            raise SemsearchError("It has no text, so there is nothing to read.")
        navigation.go_on("", open=f"{name}/{passages_[0]['id']}")


def _filters() -> tuple[str, str, str, str]:
    """Words, path pattern, condition and state that documents must match; "" for any."""
    line = st.container(horizontal=True, vertical_alignment="bottom")
    words = line.text_input(
        "Title or name",
        key="title",
        bind=URL,
        placeholder="Words of a title or a name",
        icon=":material/search:",
        live="300ms",
        label_visibility="collapsed",
    )
    with line.popover("Filter", icon=":material/filter_alt:"):
        glob = st.text_input("Paths", key="glob", bind=URL, placeholder="e.g. notes/**/*.md")
        where = st.text_input("Filter", key="where", bind=URL, placeholder="e.g. year > 2020 and lang = 'en'")
        labels = list(STATES.values())
        state = st.selectbox("State", labels, None, help=STATE_HELP, key="state", bind=URL, placeholder="any")
    return words.strip(), glob.strip(), where.strip(), state or ""


def _passing(index: Index, words: str, glob: str, where: str, state: str) -> Sequence[str]:
    """Ids of the documents that match."""
    matching = _matching(pool.state(index), words, glob, where, index)
    if not state:
        return matching
    states = index.analysis.states(matching if len(matching) < ROWS else None)
    return [each for each in matching if STATES.get(states.get(each, "")) == state]


@st.cache_resource(max_entries=16, show_spinner=False)  # shared and only read: 100,000 ids need no copy
def _matching(state: tuple[str, int, int], words: str, glob: str, where: str, _index: Index) -> Sequence[str]:
    return _index.matching(words=words.split(), path=glob or None, where=where or None)


def rows(index: Index, ids: Sequence[str]) -> list[JsonObject]:
    """The table's rows of these documents; one that was deleted meanwhile has none."""
    states = index.analysis.states(ids)
    return [_row(each, states.get(each["id"], "")) for each in index.documents(ids=ids)]


def _row(document: JsonObject, state: str) -> JsonObject:
    mtime, metadata = document["mtime"], document["metadata"].items()
    return {
        "title": _title(document),
        "id": document["id"],
        "state": STATES.get(state, "") if document["passages"] else "no text",
        "passages": document["passages"],
        "size": document["size"],
        "date": day_of(document),
        "file changed": datetime.fromtimestamp(mtime / 1e9, UTC) if mtime else None,
        "metadata": ", ".join(f"{key}: {_cell(value)}" for key, value in metadata if key != "title"),
    }


def _title(document: JsonObject) -> str:
    """The title, or the name of its file; of a record without one, its file and what it is called there."""
    id_, path = str(document["id"]), document["path"]
    if document["title"] or not path or path == id_:
        return str(document["title"] or PurePosixPath(id_).name)
    return f"{path} · {id_.removeprefix(path).lstrip('#')}"


def _cell(value: object) -> str:
    return " | ".join(map(str, value)) if isinstance(value, list) else str(value)


def choose(ids: Sequence[str], ticked: Sequence[int]) -> None:
    """The ticked rows become the chosen documents."""
    st.session_state["chosen"] = [ids[row] for row in ticked if row < len(ids)]


def _selected(name: str, chosen: Sequence[str], matching: Sequence[str]) -> None:
    """What can be done with the chosen documents: tag them, delete them or all that match, after a confirmation."""
    row = widgets.row()
    if chosen:
        with row.popover(f"Tag the chosen ({len(chosen):,})", icon=":material/sell:"):
            tagging.form("library", name, list(chosen))
    for label, ids in (("the chosen", chosen), ("all that match the filters", matching)):
        if ids and row.button(f"Delete {label} ({len(ids):,}) …", key=f"ask {label}", icon=":material/delete:"):
            st.session_state["to delete"] = (name, list(ids))
    index, ids = st.session_state.get("to delete", ("", []))
    if index != name or not ids:
        return
    what = count(len(ids), "document")
    named = ", ".join(ids[:MOST_NAMED]) + (", …" if len(ids) > MOST_NAMED else "")
    with st.container(border=True):
        st.markdown(f"Delete **{what}** from {plain(name)}? {plain(named)}  \nThe files stay where they are.")
        hint = "Their files are excluded from their source. Off: the next update adds the documents again."
        exclude = st.checkbox("Leave their files out of later updates", value=True, key="exclude", help=hint)
        row, label, off, args = widgets.row(), f"Delete {what}", jobs.busy(name), (name, ids, exclude)
        widgets.button(label, "delete", _delete, args, place=row, key="delete", kind="primary", off=off)
        row.button("Cancel", key="keep", on_click=st.session_state.pop, args=("to delete", None))


def _delete(name: str, ids: Sequence[str], exclude: bool) -> None:
    st.session_state.pop("to delete", None)

    def work(report: jobs.Report) -> jobs.Outcome:
        with pool.open_copy(name) as index:
            deleted = index.delete(ids, report, exclude=exclude)
            return jobs.Outcome(f"{deleted:,} deleted; the files stay where they are.")

    jobs.begin(name, "Deleting documents", work, about="Nothing was deleted.")
