"""The passages of one document, and how it was split."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise

import streamlit as st

from semsearch import Index, SemsearchError
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import index_picker, messages, navigation, pool, tables, widgets
from ..shared.messages import plain

MOST_COUNTED = 1_000  # passages whose tokens are counted: some tenths of a second
NO_LIMIT = 100_000  # tokens; a limit beyond it is not worth mentioning


def show(name: str, document: str) -> None:
    """The passages of a document as a table, with places and tokens."""
    with messages.errors():
        index = pool.index(name)
        own, info = index.passages(document), index.info()
        tokens = _tokens(index, [each["text"] for each in own])
        limit = (info["spaces"] or [{"encoder": {}}])[0]["encoder"].get("max_tokens", NO_LIMIT)
        row = widgets.row()
        row.header(plain(document), anchor=False)
        if own:
            parameters = {index_picker.KEY: name, "open": f"{name}/{own[0]['id']}"}
            navigation.link("", parameters, label="Open in the reader", icon="chrome_reader_mode", place=row)
        messages.caption(_summary(info["recipe"].get("splitter", {}), own, tokens))
        if left := pool.left_out_beside(index, document):
            messages.caption(left)
        if not own:
            messages.info("It has no text, so nothing in it can be found.")
            return
        _warn(tokens, limit)
        _table([_row(at, each, own, tokens) for at, each in enumerate(own)], limit)


def _table(rows: Sequence[JsonObject], limit: int) -> None:
    keys = [key for key in rows[0] if any(row[key] not in (None, "") for row in rows)]
    if not any(row["repeated"] for row in rows):
        keys.remove("repeated")
    columns = {"text": tables.WIDE}
    if limit < NO_LIMIT:
        hint = f"The encoder reads {limit:,}, including its special tokens."
        columns["tokens"] = st.column_config.ProgressColumn(help=hint, format="%d", max_value=limit)
    tables.show([{key: row[key] for key in keys} for row in rows], columns)


def _row(at: int, passage: JsonObject, passages: Sequence[JsonObject], tokens: list[int] | None) -> JsonObject:
    place = {key: passage[key] for key in ("start", "end", "line", "page", "heading")}
    repeated = max(0, passages[at - 1]["end"] - passage["start"]) if at else 0
    counted = {"tokens": tokens[at] if tokens else None, "repeated": repeated}
    return {"#": passage["id"], **place, **counted, "text": passage["text"]}


def _tokens(index: Index, texts: list[str]) -> list[int] | None:
    """None for very many texts, and where the encoder cannot be loaded."""
    with suppress(SemsearchError):
        return list(index.encoder.count_tokens(texts)) if len(texts) <= MOST_COUNTED else None
    return None


def _warn(tokens: Sequence[int] | None, limit: int) -> None:
    over = sum(each > limit for each in tokens or ())
    if over:
        messages.warning(
            f"{count(over, 'passage')} of more than the {limit:,} tokens that the encoder reads: the rest is "
            "not part of the vector. Split everything again with a smaller size."
        )


def _summary(splitter: JsonObject, passages: Sequence[JsonObject], tokens: list[int] | None) -> str:
    """The splitting of the document in one line."""
    kind = splitter.get("kind", "sentences")
    how = "not split" if kind == "none" else f"split at {kind}, at most {splitter.get('size')} tokens"
    how += f", {splitter['overlap']} of them repeated" if kind != "none" and splitter.get("overlap") else ""
    text = f"{count(len(passages), 'passage')}: {how}"
    if tokens:
        text += f"; {sum(tokens):,} tokens, from {min(tokens):,} to {max(tokens):,}"
    repeated = sum(before["end"] > after["start"] for before, after in pairwise(passages))
    return text + (f"; {repeated:,} begin with the end of the one before" if repeated else "")
