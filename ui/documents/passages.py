"""The passages of one document, and how it was split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any

import streamlit as st

from semsearch import Index, SemsearchError

from ..shared import pool

MOST_COUNTED = 1_000  # passages whose tokens are counted: some tenths of a second
AT_ONCE = 50  # in the browser
NO_LIMIT = 100_000  # tokens; an encoder that reads more has no limit worth a word
VIEWS = ("text", "table")
STYLE = """<style>
.cut { border-left: 4px solid rgb(0 114 178); padding: 0 0 0 0.8rem; margin: 0 0 0.9rem; }
.cut:nth-of-type(even) { border-left-color: rgb(230 159 0); }
.cut .where { font-size: 0.8rem; opacity: 0.75; overflow-wrap: anywhere; }
.cut .words { white-space: pre-line; overflow-wrap: anywhere; line-height: 1.5; }
.cut .again { background: rgb(250 190 40 / 28%); border-radius: 3px; }
</style>"""


def show(name: str, document: str) -> None:
    """The document as it was cut, or a table of its passages, with places and tokens."""
    with pool.told():
        index = pool.index(name)
        found, known = index.passages(document), index.info()
        tokens = _tokens(index, [each["text"] for each in found])
        limit = (known["spaces"] or [{"encoder": {}}])[0]["encoder"].get("max_tokens", NO_LIMIT)
        st.subheader(pool.plain(document))
        st.caption(pool.plain(_told(known["recipe"].get("splitter", {}), found, tokens)))
        if not found:
            st.info("It holds no text, so nothing of it can be found.", icon=":material/info:")
            return
        _warn(tokens, limit)
        view = st.segmented_control("Show as", VIEWS, default=VIEWS[0], required=True, key="view")
        rows = [_row(at, each, found, tokens) for at, each in enumerate(found)]
        if view == "text":
            st.html(_cut(rows[:AT_ONCE], limit))
            if len(rows) > AT_ONCE:
                st.caption(f"The first {AT_ONCE} of {len(rows):,}. The table has them all.")
        else:
            _table(rows, limit)


def _table(rows: Sequence[dict[str, Any]], limit: int) -> None:
    kept = [key for key in rows[0] if any(row[key] not in (None, "") for row in rows)]
    if not any(row["repeated"] for row in rows):
        kept.remove("repeated")
    told: dict[str, Any] = {"text": st.column_config.TextColumn(width="large")}
    if limit < NO_LIMIT:
        told["tokens"] = st.column_config.ProgressColumn(
            help=f"The encoder reads {limit:,}, its own marks included.", format="%d", max_value=limit
        )
    st.dataframe([{key: row[key] for key in kept} for row in rows], hide_index=True, placeholder="",
                 column_config=told)  # fmt: skip


def _row(at: int, passage: dict[str, Any], found: Sequence[dict[str, Any]], tokens: list[int] | None) -> dict[str, Any]:
    told = {key: passage[key] for key in ("start", "end", "line", "page", "heading")}
    again = max(0, found[at - 1]["end"] - passage["start"]) if at else 0
    return {"#": passage["id"], **told, "tokens": tokens[at] if tokens else None, "repeated": again,
            "text": passage["text"]}  # fmt: skip


def _cut(rows: Sequence[dict[str, Any]], limit: int) -> str:
    """The passages as HTML, one below the other; what one repeats of the one before is marked."""
    return STYLE + "".join(
        f'<div class="cut"><div class="where">{escape(" · ".join(_places(row, limit)))}</div><div class="words">'
        f"{_again(row)}{escape(row['text'][row['repeated'] :])}</div></div>"
        for row in rows
    )


def _again(row: dict[str, Any]) -> str:
    return f'<span class="again">{escape(row["text"][: row["repeated"]])}</span>' if row["repeated"] else ""


def _places(row: dict[str, Any], limit: int) -> Iterator[str]:
    yield f"#{row['#']}"
    if row["page"] is not None:
        yield f"page {row['page']}"
    if row["line"] is not None:
        yield f"line {row['line']}"
    if row["tokens"] is not None:
        yield f"{row['tokens']:,} of {limit:,} tokens" if limit < NO_LIMIT else f"{row['tokens']:,} tokens"
    if row["heading"]:
        yield row["heading"]


def _tokens(index: Index, texts: list[str]) -> list[int] | None:
    """None for very many texts, and where the encoder is not to be had."""
    if len(texts) > MOST_COUNTED:
        return None
    try:
        return list(index.encoder.count_tokens(texts))
    except SemsearchError:
        return None


def _warn(tokens: Sequence[int] | None, limit: int) -> None:
    over = sum(each > limit for each in tokens or ())
    if over:
        st.warning(
            f"{over:,} passages are longer than the {limit:,} tokens that the encoder reads: what comes after has no "
            "part in their vectors. Cut everything anew with a smaller size.", icon=":material/content_cut:",
        )  # fmt: skip


def _told(splitter: dict[str, Any], found: Sequence[dict[str, Any]], tokens: list[int] | None) -> str:
    """How it was cut, in a line."""
    kind = splitter.get("kind", "sentences")
    how = "kept whole" if kind == "none" else f"cut by {kind}, {splitter.get('size')} tokens at most"
    how += f", {splitter['overlap']} of them repeated" if kind != "none" and splitter.get("overlap") else ""
    told = f"{len(found):,} passage{'' if len(found) == 1 else 's'}: {how}"
    if tokens:
        told += f"; {sum(tokens):,} tokens, from {min(tokens):,} to {max(tokens):,}"
    repeated = sum(before["end"] > after["start"] for before, after in pairwise(found))
    return told + (f"; {repeated:,} begin with the end of the one before" if repeated else "")
