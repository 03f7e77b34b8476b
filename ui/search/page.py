"""Search: one box, results below it, all of it in the URL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import streamlit as st

from semsearch import Query, SemsearchError
from semsearch.utils.quantities import count

from ..shared import index_picker, messages, pool, scripts, widgets
from ..shared.messages import plain
from ..shared.widgets import URL
from . import document_view, filters, footer, hits, results, second_reading

MODES = ("hybrid", "semantic", "keyword")
GROUPS = ("document", "passage")
CHIP = "text or passage number (#42); ^0.5 halves its weight"
PASSAGE = re.compile(r"#(?:(.+)/)?([0-9]{1,18})")
WEIGHT = re.compile(r"^(.*\S)\s*\^\s*([0-9]*\.?[0-9]+)$", re.DOTALL)


def page() -> None:
    """The page."""
    st.title("Search")
    scripts.keys()
    names = index_picker.names()
    if not names:
        return
    label, hint = "What are you looking for?", "Ask in your own words, then press Enter"
    text = st.text_input(
        label, key="q", bind=URL, placeholder=hint, label_visibility="collapsed", icon=":material/search:"
    )
    with st.sidebar:
        alone = len(names) == 1 and index_picker.current() in ([], names)
        chosen = names if alone else index_picker.several(names, all_of_them=True, placeholder="All of them")
        query = _options(text)
        query = replace(query, where=filters.controls(chosen, query.where))
        read_again = second_reading.switch(query)
    if not chosen:
        widgets.button("Search all indexes", "select_all", index_picker.choose, ([],))
        return
    query = _with_chips(query, chosen)
    asked = replace(query, **{name: getattr(read_again, name) for name in second_reading.FIELDS})
    if not (query.text.strip() or query.more or query.like):
        st.caption(_summary(chosen))
        return
    with messages.errors():
        place = st.empty()
        read = second_reading.done(asked, chosen)
        answer = read or results.answer(query, chosen)
        hits.show(query, answer)
        if not answer.found:
            footer.nothing_found(query, chosen)
        footer.show(answer)
        document_view.draw_page()
        if asked.rerank is not None and read is None and answer.found and asked.text.strip():
            second_reading.read(asked, chosen, place)


def _options(text: str) -> Query:
    """The query with the options in the sidebar."""
    hint = "semantic: by meaning. keyword: by the words themselves. hybrid: by both."
    mode = widgets.choice("Search by", MODES, "mode", hint)
    hint = "Off: meaning and words count alike."
    alpha = None
    if mode == "hybrid" and st.toggle("Weigh meaning against words", key="weigh", bind=URL, help=hint):
        alpha = st.slider("Words ↔ meaning", 0.0, 1.0, 0.5, 0.05, key="alpha", bind=URL)
    k = st.number_input("Hits", 1, 200, 10, key="k", bind=URL)
    group = widgets.choice("Show", GROUPS, "group")
    hint = (
        "The chance that a hit is better than the best hit of a question without an answer here. From 0.9 on: likely."
    )
    strength = st.slider("Minimum strength", 0.0, 1.0, 0.0, 0.05, key="min", bind=URL, help=hint)
    path = st.text_input("Paths", key="path", bind=URL, placeholder="e.g. notes/**/*.md").strip() or None
    must = tuple(st.text_input("Must contain", key="must", bind=URL, placeholder="e.g. battery").split())
    where = (
        st.text_input("Filter", key="where", bind=URL, placeholder="e.g. year > 2020 and lang = 'en'").strip() or None
    )
    chosen: dict[str, Any] = {"mode": mode, "group": group}  # of MODES and GROUPS
    return Query(text or "", k=int(k), alpha=alpha, min_strength=strength, path=path, must=must, where=where, **chosen)


def _with_chips(query: Query, names: Sequence[str]) -> Query:
    """The query with the chips below the box."""
    left, right = st.columns(2)
    options: dict[str, Any] = {"accept_new_options": True, "bind": URL, "options": [], "placeholder": CHIP}
    more = left.multiselect("More like", key="more", **options)
    less = right.multiselect("Less like", key="less", **options)
    with messages.errors():
        towards, away = (tuple(_weighted_text(chip, names) for chip in chips) for chips in (more, less))
        return replace(query, more=towards, less=away)
    return query


def _weighted_text(chip: str, names: Sequence[str]) -> tuple[str, float]:
    """A chip as text and weight: a text, or the number of a passage; with ^ and a weight behind it, or of weight 1.

    The text of a passage is in the index that the chip names, or in the first that has the number. Raises
    SemsearchError for one that is nowhere, and for a chip without a text or with a weight that is not above 0.

    >>> _weighted_text("slow cooking ^0.5", []), _weighted_text(" slow cooking", [])
    (('slow cooking', 0.5), ('slow cooking', 1.0))
    """
    found = WEIGHT.match(chip.strip())
    text, weight = (found[1], float(found[2])) if found else (chip.strip(), 1.0)
    if not text or not 0 < weight < 1000:
        raise SemsearchError(f"The chip {chip!r} needs a text and a weight above 0.", "Write: slow cooking ^0.5")
    passage = PASSAGE.fullmatch(text)
    if passage is None:
        return text, weight
    known = [passage[1]] if passage[1] else names
    for name in known:
        with suppress(SemsearchError):
            return str(pool.index(name).get(int(passage[2]))["text"]), weight
    raise SemsearchError(f"There is no passage #{passage[2]} in {', '.join(known)}.", "Remove that chip.")


def _summary(names: Sequence[str]) -> str:
    with messages.errors():
        infos = [pool.index(name).info() for name in names]
        documents, passages = (sum(each[part] for each in infos) for part in ("documents", "passages"))
        counts = f"{count(documents, 'document')}, {count(passages, 'passage')}"
        return f"{counts} in {plain(', '.join(names))}"
    return ""
