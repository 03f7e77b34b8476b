"""Documents: what an index holds, what was skipped and why; adding, updating and deleting, in the background."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from semsearch import Index

from ..shared import csv_export, index_picker, pool
from ..shared.format import size
from ..shared.urls import URL
from . import add, delete, passages, skipped

ROWS = 200  # of the table at a time
STATES = {
    "current": "as on disk",
    "changed": "changed since",
    "unfinished": "partly read",
    "gone": "file is gone",
    "unseen": "folder is away",
    "kept": "kept here",
}
TOLD = """
- as on disk: size and time of the file are as when it was read
- changed since: they are not; an update reads it
- partly read: its reading was stopped, or some of it was skipped or deleted; every update reads it again
- file is gone: an update takes the document out
- folder is away: its whole folder is not there, or may not be looked into; nothing is taken out
- kept here: it was dropped or added, and comes from no followed file
- no text: nothing of it can be found
"""
COLUMNS = {
    "size": st.column_config.NumberColumn(format="bytes", help="Of the text that was read out of it"),
    "date": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm", help="Of the file, UTC"),
    "id": st.column_config.TextColumn(width="medium"),
    "title": st.column_config.TextColumn(width="medium"),
    "state": st.column_config.TextColumn(help=TOLD),
    "metadata": st.column_config.TextColumn(width="large"),
}


def page() -> None:
    """The page."""
    st.title("Documents")
    names = pool.names()
    if not names:
        st.info("There is no index yet. Make one on the page Indexes & models.", icon=":material/info:")
        return
    name = index_picker.index(names)
    if name is None:
        return
    with pool.told():
        index = pool.index(name)
        known = index.info()
        st.caption(_summary(known))
        add.controls(name, known)
        skipped.show(index)
        _documents(name, index, known["documents"])


def _summary(known: dict[str, Any]) -> str:
    told = [delete.count(known["documents"]), f"{known['passages']:,} passages", size(known["bytes"])]
    last = known["last_run"]
    told += [f"last run {last['at'][:16].replace('T', ' ')} UTC"] if last else []
    return pool.plain(" · ".join(told))


def _documents(name: str, index: Index, total: int) -> None:
    """The documents that the filters let through, the chosen ones' deletion, and the passages of one."""
    if not total:
        st.info("This index holds no document yet. Add a folder, or drop files.", icon=":material/info:")
        return
    asked = _filters()
    found = _found(index, *asked)
    if not found:
        st.info("No document fits. Loosen the filters.", icon=":material/info:")
        return
    at, pages = 1, -(-len(found) // ROWS)
    if pages > 1:
        at = min(int(st.number_input(f"Page, of {pages:,}", 1, pages, 1, key="page", bind=URL)), pages)
    ids = found[(at - 1) * ROWS : at * ROWS]
    st.caption(delete.count(len(found)) + (f", {ROWS} a page" if pages > 1 else "")
               + ". Tick rows to see passages or to delete.")  # fmt: skip
    _table(ids, rows(index, ids), f"table {name} {at} {asked} {index.version}")
    st.download_button(
        f"CSV ({len(found):,})", lambda: csv_export.table(rows(index, found), list(rows(index, found[:1])[0])),
        f"{name}.csv", "text/csv", icon=":material/download:", key="csv", on_click="ignore",
        help="The table, all pages of it, as a file that a spreadsheet opens without running a formula.",
    )  # fmt: skip
    if "chosen" in st.session_state:
        st.session_state["chosen"] = [one for one in st.session_state["chosen"] if one in ids]
    chosen = st.multiselect("Chosen", ids, key="chosen", bind=URL, placeholder="Tick rows above, or write a name here")
    delete.buttons(name, chosen, found if len(found) < total else [])
    if len(chosen) == 1:
        passages.show(name, chosen[0])


def _filters() -> tuple[str, str, str, str]:
    """Words, path pattern, condition and state that documents have to fit; "" for any."""
    first, second, third, fourth = st.columns(4)
    words = first.text_input("Title or name", key="title", bind=URL, placeholder="words of it")
    glob = second.text_input("Paths", key="glob", bind=URL, placeholder="notes/**/*.md")
    where = third.text_input("Filter", key="where", bind=URL, placeholder="year > 2020 and lang = 'en'")
    state = fourth.selectbox("State", list(STATES.values()), index=None, key="state", bind=URL, placeholder="any",
                             help=TOLD)  # fmt: skip
    return words.strip(), glob.strip(), where.strip(), state or ""


def _found(index: Index, words: str, glob: str, where: str, state: str) -> Sequence[str]:
    """Ids of the documents that fit."""
    fitting = _matching(pool.state(index), words, glob, where, index)
    if not state:
        return fitting
    states = index.states(fitting if len(fitting) < ROWS else None)
    return [each for each in fitting if STATES.get(states.get(each, "")) == state]


@st.cache_resource(max_entries=16, show_spinner=False)  # shared and only read: 100,000 ids need no copy
def _matching(state: tuple[str, int, int], words: str, glob: str, where: str, _index: Index) -> Sequence[str]:
    return _index.matching(words=words.split(), path=glob or None, where=where or None)


def _table(ids: Sequence[str], shown: Sequence[dict[str, Any]], key: str) -> None:
    st.dataframe(shown, hide_index=True, key=key, selection_mode="multi-row", on_select=lambda: choose(ids, key),
                 column_config=COLUMNS, placeholder="")  # fmt: skip


def rows(index: Index, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The table's rows of these documents; one that was deleted meanwhile has none."""
    states = index.states(ids)
    return [row_of(each, states.get(each["id"], "")) for each in index.documents(ids=ids)]


def row_of(document: dict[str, Any], state: str) -> dict[str, Any]:
    """A document as the table has it."""
    mtime = document["mtime"]
    told = ", ".join(f"{key}: {_cell(value)}" for key, value in document["metadata"].items() if key != "title")
    return {
        "id": document["id"],
        "title": document["title"] or "",
        "state": STATES.get(state, "") if document["passages"] else "no text",
        "passages": document["passages"],
        "size": document["size"],
        "date": datetime.fromtimestamp(mtime / 1e9, UTC) if mtime else None,
        "metadata": told,
    }


def _cell(value: Any) -> str:
    return " | ".join(map(str, value)) if isinstance(value, list) else str(value)


def choose(ids: Sequence[str], key: str) -> None:
    """Take the rows that are ticked in the table `key` for the chosen documents."""
    st.session_state["chosen"] = [ids[row] for row in st.session_state[key]["selection"]["rows"] if row < len(ids)]
