"""Search: one box, results below it, all of it in the URL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from semsearch import Query, SemsearchError
from semsearch.utils.quantities import count

from ..shared import examples, index_picker, last_search, messages, navigation, pool, scripts, widgets
from ..shared.messages import plain
from ..shared.widgets import URL
from . import filters, footer, history, hits, reader, results, second_reading

MODES = ("hybrid", "semantic", "keyword")
GROUPS = ("document", "passage")
BOX, HINT = "What are you looking for?", "Ask in your own words, then press Enter"
ASKED = "question of the open document"
CHIP = "text or passage number (#42); ^0.5 halves its weight"
PASSAGE = re.compile(r"#(?:(.+)/)?([0-9]{1,18})")
WEIGHT = re.compile(r"^(.*\S)\s*\^\s*([0-9]*\.?[0-9]+)$", re.DOTALL)


def page() -> None:
    """The page."""
    st.title("Search")
    scripts.keys()
    navigation.uses(reader.OPEN)
    names = index_picker.names()
    if not names:
        return
    with st.sidebar:
        alone = len(names) == 1 and index_picker.current() in ([], names)
        chosen = names if alone else index_picker.several(names, all_of_them=True, placeholder="All of them")
        query = _options()
        query = replace(query, where=filters.controls(chosen, query.where))
        read_again = second_reading.switch(query)
    if not chosen:
        widgets.button("Search all indexes", "select_all", index_picker.choose, ([],))
        return
    with messages.errors():
        _box_and_hits(_with_chips(query, chosen), read_again, chosen)


@st.fragment
def _box_and_hits(options: Query, read_again: Query, chosen: Sequence[str]) -> None:
    """The box, and the answer to what is in it: a question is answered without a run of the whole page."""
    if st.session_state.pop(hits.REDRAW, False):
        st.rerun()
    text = st.text_input(
        BOX, key="q", bind=URL, placeholder=HINT, label_visibility="collapsed", icon=":material/search:"
    )
    query = replace(options, text=text or "")
    if st.session_state.get(ASKED, query.text) != query.text:
        reader.open_at("")  # it belongs to the question before
    st.session_state[ASKED] = query.text
    messages.outcome_of_click()
    if not (query.text.strip() or query.more or query.like):
        with messages.errors():
            st.caption(_summary(chosen))
            if not reader.opened():
                examples.show(chosen)
            _show(hits.Shown(query, tuple(chosen), ()), "")
        return
    with messages.errors():
        _answer(query, replace(query, **{name: getattr(read_again, name) for name in second_reading.FIELDS}), chosen)


def _answer(query: Query, asked: Query, chosen: Sequence[str]) -> None:
    """The hits of `query`, and in their new order those that `asked` has read again."""
    place = st.empty()
    read = second_reading.done(asked, chosen)
    answer = read or results.answer(query, chosen)
    hits.warn(answer)
    shown = hits.Shown(query, tuple(chosen), hits.by_chance(answer.hits))
    if not answer.hits:
        shown = footer.nothing_found(query, chosen) or shown
    history.add(history.RECENT, query.text)
    last_search.remember(query)
    _show(shown, footer.summary(answer))
    if asked.rerank is not None and read is None and answer.hits and asked.text.strip():
        second_reading.read(asked, chosen, place)
        _again()


def _show(shown: hits.Shown, foot: str) -> None:
    """The hits at once, and again when what takes a moment is there."""
    if hits.show(shown, foot):
        hits.finish(shown)
        _again()


def _again() -> None:
    """Draw the box and the hits once more, or the whole page where it is being drawn."""
    in_fragment = bool((context := get_script_run_ctx()) and context.fragment_ids_this_run)
    st.rerun(scope="fragment" if in_fragment else "app")


def _options() -> Query:
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
    return Query(k=int(k), alpha=alpha, min_strength=strength, path=path, must=must, where=where, **chosen)


def _with_chips(query: Query, names: Sequence[str]) -> Query:
    """The query with the chips."""
    options: dict[str, Any] = {"accept_new_options": True, "bind": URL, "options": [], "placeholder": CHIP}
    with st.sidebar:
        more = st.multiselect("More like", key="more", **options)
        less = st.multiselect("Less like", key="less", **options)
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
    weighted = WEIGHT.match(chip.strip())
    text, weight = (weighted[1], float(weighted[2])) if weighted else (chip.strip(), 1.0)
    if not text or not 0 < weight < 1000:
        raise SemsearchError(f"The chip {chip!r} needs a text and a weight above 0.", "Write: slow cooking ^0.5")
    passage = PASSAGE.fullmatch(text)
    if passage is None:
        return text, weight
    places = [passage[1]] if passage[1] else names
    for name in places:
        with suppress(SemsearchError):
            return str(pool.index(name).get(int(passage[2]))["text"]), weight
    raise SemsearchError(f"There is no passage #{passage[2]} in {', '.join(places)}.", "Remove that chip.")


def _summary(names: Sequence[str]) -> str:
    infos = [pool.index(name).info() for name in names]
    documents, passages = (sum(each[part] for each in infos) for part in ("documents", "passages"))
    counts = f"{count(documents, 'document')}, {count(passages, 'passage')}"
    return f"{counts} in {plain(', '.join(names))}"
