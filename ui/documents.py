"""Documents: what an index holds, what was skipped and why; adding, updating and deleting, in the background."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from semsearch import Index

from . import adding, held, jobs, passages

URL: Any = "query-params"
ROWS = 200  # of the table at a time
NAMED = 5  # documents that are named before they are deleted


def page() -> None:
    """The page."""
    st.title("Documents")
    names = held.names()
    if not names:
        st.info("There is no index yet. Make one on the page Indexes & models.", icon=":material/info:")
        return
    first, second, third = st.columns(3)
    name = first.selectbox("Index", names, key="index", bind=URL) or names[0]
    glob = second.text_input("Paths", key="glob", bind=URL, placeholder="notes/**/*.md").strip()
    title = third.text_input("Title or name", key="title", bind=URL, placeholder="words of it").strip()
    with held.told():
        index = held.index(name)
        known = index.info()
        st.caption(_summary(known))
        adding.controls(name, known)
        _skipped(known["last_run"])
        _table(name, index, glob, title)


def _summary(known: dict[str, Any]) -> str:
    told = [_count(known["documents"]), f"{known['passages']:,} passages", size(known["bytes"])]
    last = known["last_run"]
    told += [f"last run {last['at'][:16].replace('T', ' ')} UTC"] if last else []
    return held.plain(" · ".join(told))


def _skipped(last: dict[str, Any] | None) -> None:
    """What the last run left out, and why."""
    skipped = (last or {}).get("skipped") or []
    if not skipped:
        return
    with st.expander(f"{len(skipped):,} skipped at the last run", icon=":material/block:"):
        rows = [{"what": each["path"], "why": each["reason"]} for each in skipped]
        st.dataframe(
            rows, hide_index=True, placeholder="", column_config={"why": st.column_config.Column(width="large")}
        )


def _table(name: str, index: Index, glob: str, title: str) -> None:
    """The documents that the filters let through, the chosen ones' deletion, and the passages of one."""
    found = _fitting(_listed(str(index.path), index.version, glob or None, index), title)
    if not found:
        st.info("No document fits. Loosen the filters." if glob or title else "This index holds no document yet.",
                icon=":material/info:")  # fmt: skip
        return
    pages = -(-len(found) // ROWS)
    at = 1
    if pages > 1:
        at = min(int(st.number_input(f"Page, of {pages:,}", 1, pages, 1, key="page", bind=URL)), pages)
    rows = found[(at - 1) * ROWS : at * ROWS]
    st.caption(_count(len(found)) + (f", {ROWS} a page" if pages > 1 else "")
               + ". Tick rows to see passages or to delete.")  # fmt: skip
    ids = [row["id"] for row in rows]
    key = f"table {name} {at} {glob} {title} {index.version}"
    st.dataframe([row_of(each) for each in rows], hide_index=True, key=key, selection_mode="multi-row",
                 on_select=lambda: choose(ids, key), column_config=COLUMNS, placeholder="")  # fmt: skip
    if "chosen" in st.session_state:
        st.session_state["chosen"] = [one for one in st.session_state["chosen"] if one in ids]
    chosen = st.multiselect("Chosen", ids, key="chosen", bind=URL, placeholder="Tick rows above, or write a name here")
    _deleting(name, chosen, [row["id"] for row in found] if glob or title else [])
    if len(chosen) == 1:
        passages.show(name, chosen[0])


COLUMNS = {
    "size": st.column_config.NumberColumn(format="bytes"),
    "date": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
    "id": st.column_config.TextColumn(width="medium"),
    "title": st.column_config.TextColumn(width="medium"),
    "metadata": st.column_config.TextColumn(width="large"),
}


@st.cache_resource(max_entries=16, show_spinner=False)  # shared and only read: a copy of 100,000 rows takes a while
def _listed(path: str, version: int, glob: str | None, _index: Index) -> Sequence[dict[str, Any]]:
    return _index.documents(path=glob)


def _fitting(documents: Sequence[dict[str, Any]], words: str) -> Sequence[dict[str, Any]]:
    """Those whose title or id holds every word."""
    wanted = words.casefold().split()
    if not wanted:
        return documents
    texts = ((each, f"{each['title'] or ''} {each['id']}".casefold()) for each in documents)
    return [each for each, text in texts if all(word in text for word in wanted)]


def row_of(document: dict[str, Any]) -> dict[str, Any]:
    """A document as the table has it."""
    mtime = document["mtime"]
    told = ", ".join(f"{key}: {_cell(value)}" for key, value in document["metadata"].items() if key != "title")
    return {
        "id": document["id"],
        "title": document["title"] or "",
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


def _deleting(name: str, chosen: Sequence[str], shown: Sequence[str]) -> None:
    """Delete the chosen documents, or all that the filters show, after a second word."""
    row = st.container(horizontal=True)
    for label, doomed in (("the chosen", chosen), ("all that the filters show", shown)):
        if doomed and row.button(f"Delete {label} ({len(doomed):,}) …", key=f"ask {label}", icon=":material/delete:"):
            st.session_state["doomed"] = (name, list(doomed))
    asked, doomed = st.session_state.get("doomed", ("", []))
    if asked != name or not doomed:
        return
    what = _count(len(doomed))
    named = ", ".join(doomed[:NAMED]) + (", …" if len(doomed) > NAMED else "")
    with st.container(border=True):
        st.markdown(
            f"Take **{what}** out of {held.plain(name)}? {held.plain(named)}  \nThe files stay where they are. An "
            "update brings what lies in followed folders back, unless it is excluded there."
        )
        row = st.container(horizontal=True)
        row.button(f"Delete {what}", key="delete", type="primary", on_click=_delete, args=(name, doomed))
        row.button("Keep", key="keep", on_click=_keep)


def _keep() -> None:
    st.session_state.pop("doomed", None)


def _delete(name: str, doomed: Iterable[str]) -> None:
    _keep()
    folder, ids = Index.folder(name), list(doomed)

    def work(_: jobs.Told) -> jobs.Outcome:
        with Index.open(folder) as index:
            return jobs.Outcome(f"{index.delete(ids):,} deleted; the files stay where they are.")

    jobs.begin(name, "Deleting documents", work, stoppable=False)


def _count(documents: int) -> str:
    return f"{documents:,} document{'' if documents == 1 else 's'}"


def size(bytes_: float) -> str:
    """
    >>> size(1_500_000)
    '1.5 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if bytes_ < 1000:
            return f"{bytes_:.0f} {unit}" if unit == "B" else f"{bytes_:.1f} {unit}"
        bytes_ /= 1000
    return f"{bytes_:.1f} TB"
