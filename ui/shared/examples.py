"""Questions that an index can answer, drawn from its own documents."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence

import streamlit as st

from semsearch import Index, SemsearchError

from . import index_picker, messages, navigation, pool, widgets
from .work import background, jobs, progress

SHOWN = 3
CLICKED, IN_DOUBT = "example clicked", 5.0  # seconds
TRIED = 12  # searches
PASSAGES = 400  # that they are drawn from
ASKING = r"(?:How|Why|What|When|Where|Who|Which)\b"
QUESTION = re.compile(rf"(?:^|[.!?\n]\s*)((?:{ASKING}|(?:Can|Do|Does|Is|Are)\b)[\w ,’-]{{12,80}}\?)")
SUBJECT = re.compile(r"(?:^|[.!?]\s+)(An?) ((?:[a-z]+[ -]){0,2}[a-z]{4,}) (is|was) (?:an?|the) ")
PLAIN = re.compile(r"[\w ,’'-]+\??")
TITLE_WORDS = range(2, 10)


def show(names: Sequence[str]) -> None:
    """Three examples as buttons; where there is no document yet, how far the work is, or where to add some."""
    filled = [name for name in names if len(pool.index(name))]
    if not filled:
        empty(names)
        return
    name = filled[0]
    index = pool.index(name)
    grown = 0 if jobs.busy(name) else len(index).bit_length()  # other examples only when it is filled, or has doubled
    key = ("examples", *pool.state(index)[:2], grown)
    drawn_questions = background.result(key, lambda: questions(index), "Looking for questions that it can answer …")
    if drawn_questions:
        st.caption("For example")
        row = st.container(horizontal=True)
        for each in drawn_questions:
            widgets.button(each, "search", _ask, (each,), place=row, key=f"example {each}")


def _ask(question: str) -> None:
    st.session_state["q"] = question
    st.session_state[CLICKED] = question, time.monotonic() + IN_DOUBT


def clicked() -> str:
    """The example that has just been clicked: a run that was asked for before it would put it out of the box again."""
    question, until = st.session_state.get(CLICKED, ("", 0.0))
    return str(question) if time.monotonic() < until else ""


def empty(names: Sequence[str]) -> None:
    """How far the work is that fills these indexes, or the way to documents."""
    if any(jobs.busy(name) for name in names):
        filling(list(names))
        return
    messages.info("There is no document in here yet.")
    parameters = {index_picker.KEY: list(names)[:1], "add": "true"}
    navigation.link("library", parameters, label="Add documents", icon="add")


@st.fragment(run_every=0.5)
def filling(names: list[str]) -> None:
    """How far the work is, until the first documents can be searched."""
    running = [job for name in names if (job := jobs.last(name)) and job.state == "running"]
    with messages.errors():
        if not running or any(len(pool.index(name)) for name in names):
            st.rerun()
        messages.info(
            f"{running[0].what}: {progress.status(running[0])}. The first passages can be searched soon.", icon="bolt"
        )


def questions(index: Index) -> list[str]:
    """Up to three, each of another document, which is the first hit of a search for it."""
    asked: dict[str, str] = {}
    for document, text in list(_drawn(index))[:TRIED]:
        if len(asked) < SHOWN and document not in asked and text not in asked.values():
            try:
                hits = index.search(text, k=1)
            except SemsearchError:
                return list(asked.values())
            if hits and hits[0].document == document:
                asked[document] = text
    return list(asked.values())


def _drawn(index: Index) -> Iterator[tuple[str, str]]:
    """Documents and questions about them, the best kind first."""
    sample = index.analysis.sample_vectors(PASSAGES, letters=600)
    texts: dict[str, str] = {}
    for document, text in zip(sample.documents, sample.texts, strict=True):
        texts[document] = f"{texts[document]}\n{text}" if document in texts else text
    titles = {str(row["id"]): str(row["title"] or "") for row in index.documents(ids=list(texts))}
    headings = ((name, each["heading"]) for name in list(texts)[:TRIED] for each in index.passages(name)[1:])
    yield from drawn(texts, titles, {name: (heading or "").split(" > ")[-1] for name, heading in headings})


def drawn(
    texts: Mapping[str, str], titles: Mapping[str, str], headings: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Questions that stand in the texts; titles that ask; what a text defines; other titles and headings.

    >>> list(drawn({"a": "A bowline is a knot that holds.", "b": "…"}, {"b": "How soap is made"}, {"a": "Two knots"}))
    [('b', 'How soap is made'), ('a', 'What is a bowline?'), ('a', 'Two knots')]
    """
    yield from ((name, asked[1].strip()) for name, text in texts.items() if (asked := QUESTION.search(text)))
    named = [(name, title) for each in (titles, headings) for name, title in each.items()]
    named = [(name, title) for name, title in named if len(title.split()) in TITLE_WORDS and PLAIN.fullmatch(title)]
    yield from ((name, title) for name, title in named if re.match(ASKING, title))
    for name, text in texts.items():
        if asked := SUBJECT.search(text):
            yield name, f"What {asked[3]} {asked[1].lower()} {asked[2]}?"
    yield from ((name, title) for name, title in named if not re.match(ASKING, title))
