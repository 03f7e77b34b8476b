"""Titles and headings that complete what is typed into the box."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import streamlit as st

from semsearch import Query, SemsearchError
from semsearch.utils.untrusted import visible

from ..shared import pool
from ..shared.messages import one_line

TYPED = "typed into the box"
LEAST, MOST, LONGEST = 3, 8, 120  # letters typed; suggestions; letters of one
READ = 20  # documents, and passages, that are looked at


def typed(text: str) -> None:
    """Suggest completions of this text on the next run of the page."""
    st.session_state[TYPED] = text


def data(names: Sequence[str]) -> list[str]:
    """The suggestions for what was typed since the last run, those that begin so first."""
    text = " ".join(str(st.session_state.pop(TYPED, "")).split())[:LONGEST]
    if len(text) < LEAST:
        return []
    begun = text.casefold()
    titles = dict.fromkeys(
        visible(one_line(each, LONGEST)) for each in _titles(names, text) if begun in each.casefold()
    )
    return sorted(titles, key=lambda each: not each.casefold().startswith(begun))[:MOST]


def _titles(names: Sequence[str], text: str) -> Iterator[str]:
    for name in names:
        with suppress(SemsearchError):
            index = pool.index(name)
            documents = index.matching(words=text.split())[:READ]
            yield from (str(each["title"]) for each in index.documents(ids=documents) if each["title"])
            for hit in index.search(Query(text, k=READ, mode="keyword", group="passage")):
                yield from (each for each in (hit.heading, hit.metadata.get("title")) if isinstance(each, str))
