"""Search: one box, results below it as one types, all of it in the URL."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from semsearch import Query, SemsearchError
from semsearch.utils.quantities import count

from ..shared import examples, index_picker, last_search, messages, navigation, pool, scripts, widgets
from ..shared.messages import plain
from ..shared.widgets import URL
from . import filters, footer, history, hits, reader, refine, results, second_reading

MODES = ("hybrid", "semantic", "keyword")
GROUPS = ("document", "passage")
BOX, HINT = "What are you looking for?", 'Ask in your own words; "quotes" for exact words'
GREP = "A regular expression of RE2 that the text of a passage matches; (?i) at its beginning ignores case."
PAUSE, REST = "150ms", 0.25  # of typing, after which words are searched for; seconds until meaning is, too
QUESTION, CHOSEN = "question of the open document", "indexes searched"
CHIP = "text or passage number (#42); ^0.5 halves its weight"
WEIGHT = re.compile(r"^(.*\S)\s*\^\s*([0-9]*\.?[0-9]+)$", re.DOTALL)


def page() -> None:
    """The page."""
    navigation.uses(reader.OPEN, hits.SORT)
    if names := index_picker.names():
        _search(names)
    scripts.keys()


@st.fragment
def _search(names: Sequence[str]) -> None:
    """The box, what restricts the search, and the answer: nothing else of the page is drawn again for a question."""
    if not st.session_state.get("q") and (question := examples.clicked()):
        st.session_state["q"] = question
    row = st.container(horizontal=True, vertical_alignment="center", key="box")
    text = row.text_input(
        BOX, key="q", bind=URL, live=PAUSE, placeholder=HINT, label_visibility="collapsed", icon=":material/search:"
    )
    chosen = _indexes(names, row)
    hint = "semantic: by meaning. keyword: by the words themselves. hybrid: by both."
    mode = widgets.choice("Search by", MODES, "mode", hint, place=row, label_visibility="collapsed")
    messages.outcome_of_click()
    index_picker.warn_of_missing(names)
    if not chosen:
        widgets.button("Search all indexes", "select_all", index_picker.choose, ([],))
        return
    columns = st.container(horizontal=True, wrap=False, key="columns")
    with columns.container(key="narrow", width=240):
        facets = st.container()
        with st.expander("Advanced", icon=":material/tune:"):
            query = replace(_options(mode), text=text or "", mode=mode)  # type: ignore[arg-type]  # one of MODES
            query = _with_chips(replace(query, where=filters.controls(chosen, query.where)), chosen)
            asked = second_reading.switch(query)
    if st.session_state.get(QUESTION, query.text) != query.text:
        reader.open_at("")  # it belongs to the question before
    st.session_state[QUESTION] = query.text
    with columns.container(key="answer", width="stretch"), messages.errors():
        if query.text.strip() or query.more or query.like:
            _answer(query, asked, chosen, facets)
        else:
            messages.caption(_summary(chosen))
            if not reader.opened():
                examples.show(chosen)
            _show(hits.Shown(query, tuple(chosen), ()), "", facets)


def _indexes(names: Sequence[str], row: DeltaGenerator) -> Sequence[str]:
    """The indexes to search, behind a chip with their names."""
    alone = len(names) == 1 and index_picker.current() in ([], list(names))
    named = names if alone else index_picker.current()
    label = ", ".join(named) if named else f"All {len(names)} indexes"
    with row.popover(plain(messages.one_line(label, 24)), icon=":material/database:"):
        chosen = names if alone else index_picker.several(names, st, all_of_them=True, placeholder="All of them")
        parameters = {index_picker.KEY: list(chosen)[:1], "add": "true"}
        navigation.link("library", parameters, label="Add documents", icon="add")
    before, st.session_state[CHOSEN] = st.session_state.get(CHOSEN, chosen), chosen
    if before != chosen and _in_fragment():
        st.rerun()  # the links of the rail follow
    return chosen


def _answer(query: Query, asked: Query, chosen: Sequence[str], facets: DeltaGenerator) -> None:
    """The hits of `query`, while one types those of its words, and in their new order those that `asked` read again."""
    place = st.empty()
    read = second_reading.done(asked, chosen)
    if typing := read is None and _is_being_typed(query):
        query = replace(query, mode="keyword", alpha=None)
    if hits.ANSWERED not in st.session_state:  # the first question waits for the encoder, too
        place.html('<div class="skeleton"></div>')
    try:
        answer = read or results.answer(query, chosen)
    finally:
        place.empty()  # also where an error stands instead
    shown = hits.Shown(query, tuple(chosen), hits.ordered(answer.hits))
    if typing:
        _show(shown, footer.summary(answer), facets, whole=False)
        _rest(query.text, place)
    warnings = hits.warnings(answer)
    if not answer.hits:
        shown = footer.nothing_found(query, chosen, warnings) or shown
    elif warnings:
        messages.warning(*warnings)
    st.session_state[hits.ANSWERED] = query.text
    history.add(history.RECENT, query.text)
    last_search.remember(query)
    _show(shown, footer.summary(answer), facets)
    if asked.rerank is not None and read is None and answer.hits and asked.text.strip():
        second_reading.read(asked, chosen, place)
        _again()


def _is_being_typed(query: Query) -> bool:
    """Whether the text is another one than was answered by its meaning; a page that is opened has it all at once."""
    return query.mode != "keyword" and st.session_state.get(hits.ANSWERED, query.text) != query.text


def _rest(text: str, place: DeltaGenerator) -> None:
    """Wait until nobody types any more, and draw the page with what the text means: another letter ends this run."""
    end = time.monotonic() + REST
    while time.monotonic() < end:
        time.sleep(0.05)
        place.empty()  # where Streamlit looks for another run
    st.session_state[hits.ANSWERED] = text
    _again()


def _show(shown: hits.Shown, foot: str, facets: DeltaGenerator, *, whole: bool = True) -> None:
    """The hits at once, and again when what takes a moment is there, unless less than the `whole` is asked for."""
    if hits.show(shown, foot, facets) and whole:
        hits.finish(shown)
        _again()


def _in_fragment() -> bool:
    return bool((context := get_script_run_ctx()) and context.fragment_ids_this_run)


def _again() -> None:
    """Draw the box and the hits once more, or the whole page where it is being drawn."""
    st.rerun(scope="fragment" if _in_fragment() else "app")


def _options(mode: str) -> Query:
    """The query with the options of *Advanced*."""
    hint = "Off: meaning and words count alike."
    alpha = None
    if mode == "hybrid" and st.toggle("Weigh meaning against words", key="weigh", bind=URL, help=hint):
        alpha = st.slider("Words ↔ meaning", 0.0, 1.0, 0.5, 0.05, key="alpha", bind=URL)
    k = st.number_input("Hits", 1, hits.MOST, 10, key="k", bind=URL)
    group = widgets.choice("Show", GROUPS, "group")
    hint = "The chance that a hit is better than the best one of a question without an answer. From 0.9 on: likely."
    strength = st.slider("Minimum strength", 0.0, 1.0, 0.0, 0.05, key="min", bind=URL, help=hint)
    path = st.text_input("Paths", key="path", bind=URL, placeholder="e.g. notes/**/*.md").strip() or None
    must = tuple(st.text_input("Must contain", key="must", bind=URL, placeholder="e.g. battery").split())
    grep = st.text_input("Must match", key="grep", bind=URL, placeholder="e.g. ERR-[0-9]+", help=GREP).strip() or None
    written = "e.g. year > 2020 and lang = 'en'"
    where = st.text_input("Filter", key="where", bind=URL, placeholder=written).strip() or None
    chosen: dict[str, Any] = {"group": group}  # of GROUPS
    return Query(k=int(k), alpha=alpha, min_strength=strength, path=path, must=must, grep=grep, where=where, **chosen)


def _with_chips(query: Query, names: Sequence[str]) -> Query:
    """The query with the chips."""
    options: dict[str, Any] = {"accept_new_options": True, "bind": URL, "options": [], "placeholder": CHIP}
    more = st.multiselect("More like", key="more", **options)
    less = st.multiselect("Less like", key="less", **options)
    with messages.errors():
        towards, away = (tuple(_weighted_text(chip, names) for chip in chips) for chips in (more, less))
        return replace(query, more=towards, less=away)
    return query


def _weighted_text(chip: str, names: Sequence[str]) -> tuple[str, float]:
    """A chip as text and weight: a text, or the number of a passage; with ^ and a weight behind it, or of weight 1.

    Raises SemsearchError for a passage that is nowhere, and for a chip without a text or with a weight that is not
    above 0.

    >>> _weighted_text("slow cooking ^0.5", []), _weighted_text(" slow cooking", [])
    (('slow cooking', 0.5), ('slow cooking', 1.0))
    """
    weighted = WEIGHT.match(chip.strip())
    text, weight = (weighted[1], float(weighted[2])) if weighted else (chip.strip(), 1.0)
    if not text or not 0 < weight < 1000:
        raise SemsearchError(f"The chip {chip!r} needs a text and a weight above 0.", "Write: slow cooking ^0.5")
    return refine.passage(text, names) or text, weight


def _summary(names: Sequence[str]) -> str:
    infos = [pool.index(name).info() for name in names]
    documents, passages = (sum(each[part] for each in infos) for part in ("documents", "passages"))
    counts = f"{count(documents, 'document')}, {count(passages, 'passage')}"
    return f"{counts} in {', '.join(names)}"
