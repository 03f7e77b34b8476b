"""The passages of one document, and how it was split."""

from __future__ import annotations

from typing import Any

import streamlit as st

from semsearch import Index, SemsearchError

from . import held

MOST_COUNTED = 1_000  # passages whose tokens are counted: some tenths of a second


def show(name: str, document: str) -> None:
    """A table of them, with offsets, places and tokens."""
    with held.told():
        index = held.index(name)
        found = index.passages(document)
        tokens = _tokens(index, [each["text"] for each in found])
        st.subheader(held.plain(document))
        st.caption(held.plain(_told(index.info()["recipe"].get("splitter", {}), len(found), tokens)))
        rows = [_row(at, each, tokens) for at, each in enumerate(found)]
        kept = [key for key in rows[0] if any(row[key] not in (None, "") for row in rows)] if rows else []
        st.dataframe([{key: row[key] for key in kept} for row in rows], hide_index=True, placeholder="",
                     column_config={"text": st.column_config.TextColumn(width="large")})  # fmt: skip


def _row(at: int, passage: dict[str, Any], tokens: list[int] | None) -> dict[str, Any]:
    told = {key: passage[key] for key in ("start", "end", "line", "page", "heading")}
    return {"#": passage["id"], **told, "tokens": tokens[at] if tokens else None, "text": passage["text"]}


def _tokens(index: Index, texts: list[str]) -> list[int] | None:
    """None for very many texts, and where the encoder is not to be had."""
    if len(texts) > MOST_COUNTED:
        return None
    try:
        return list(index.encoder.count_tokens(texts))
    except SemsearchError:
        return None


def _told(splitter: dict[str, Any], passages: int, tokens: list[int] | None) -> str:
    kind = splitter.get("kind", "sentences")
    how = "kept whole" if kind == "none" else f"cut by {kind}, {splitter.get('size')} tokens at most"
    how += f", {splitter['overlap']} of them repeated" if kind != "none" and splitter.get("overlap") else ""
    told = f"{passages:,} passages: {how}"
    return told + (f"; {sum(tokens):,} tokens, the longest has {max(tokens):,}" if tokens else "")
