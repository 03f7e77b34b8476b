"""The test set of an index that was made by marking hits: how large it is, its questions, and files of it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from semsearch.evaluation import JudgedQuestions, Judgements, read_judgements
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import index_picker, messages, navigation, tables, widgets
from . import index_metrics

FEW = 10  # questions below which one of them moves a figure by more than a tenth
CHOSEN = "judged question"


def controls(name: str) -> JudgedQuestions | None:
    """What is judged in this index, with its questions and files; the test set, if there is one."""
    kept = Judgements(name)
    grades, questions = kept.grades(), kept.test_set()
    if not questions.queries:
        what = "No hit is marked as helpful yet" if grades else "No hit is marked yet"
        messages.info(f"{what}. Search in {name}, and use the thumbs at the right of each hit.", icon="thumb_up")
        navigation.link("", {index_picker.KEY: name}, label="Search")
    else:
        _summarise(questions)
    if grades:
        _listed(name, grades)
    _files(name, kept, grades)
    return questions if questions.queries else None


def _summarise(questions: JudgedQuestions) -> None:
    documents = [grade for of in questions.qrels.values() for grade in of.values()]
    helpful = sum(grade > 0 for grade in documents)
    many = len(questions.queries)
    marks = f"{count(len(documents), 'marked hit')}: {helpful:,} helpful, {len(documents) - helpful:,} not."
    st.markdown(f"**{count(many, 'question')}** with {marks}")
    if many < FEW:
        st.caption("With fewer than ten questions the figures are rough: each question moves them by a tenth and more.")
    if left := len(questions.left_out):
        st.caption(f"{count(left, 'question')} without a helpful hit left out: nothing could be found for it.")


def _listed(name: str, grades: dict[str, dict[str, int]]) -> None:
    rows: list[JsonObject] = [
        {"question": text, "helpful": sum(grade > 0 for grade in of.values()), "judged": len(of)}
        for text, of in grades.items()
    ]

    def choose(ticked: list[int]) -> None:
        st.session_state[CHOSEN] = rows[ticked[0]]["question"]

    with st.expander(f"The questions: {len(rows):,}"):
        st.caption("Tick one to search for it again, or to drop it.")
        tables.select(rows, {"question": tables.MEDIUM}, "judged questions", choose)
        chosen = st.session_state.get(CHOSEN)
        if chosen in grades:
            row = widgets.row()
            messages.caption(messages.one_line(chosen, 60), row)
            navigation.link("", {index_picker.KEY: name, "q": chosen}, label="Search again", icon="search", place=row)
            widgets.button("Drop this question", "delete", _forget, (name, chosen), place=row)


def _files(name: str, kept: Judgements, grades: dict[str, dict[str, int]]) -> None:
    with st.expander("Import and export"):
        st.caption(
            "Queries as JSON lines and judgements as TREC qrels: the files that `semsearch eval --queries F --qrels F` "
            "reads. Imported ones are added to yours, and replace those for the same document."
        )
        if grades:
            row = st.container(horizontal=True)
            queries, qrels = kept.written()
            _download(row, "Queries", "queries.jsonl", queries)
            _download(row, "Judgements", "qrels.txt", qrels)
            widgets.button(
                "Delete all judgements", "delete", _forget, (name, None), place=row, hint=f"Of {name}, for good."
            )
        left, right = st.columns(2)
        asked = left.file_uploader("Queries to import", ("jsonl", "tsv", "txt"), key="imported queries")
        judged = right.file_uploader("Judgements to import", ("txt", "tsv", "qrels"), key="imported judgements")
        if asked is not None and judged is not None:
            files = [(asked.name, asked.getvalue()), (judged.name, judged.getvalue())]
            widgets.button("Import", "upload", _import, (name, files), kind="primary")


def _download(place: messages.Place, label: str, file: str, content: str) -> None:
    icon = ":material/download:"
    (place or st).download_button(label, content, file, "text/plain", f"download {file}", None, "ignore", icon=icon)


def _import(name: str, files: Sequence[tuple[str, bytes]]) -> None:
    """The body of a click."""
    with messages.refusing():
        queries, qrels = (index_metrics.decoded(file, content) for file, content in files)
        added = Judgements(name).add(*read_judgements(queries, qrels, (files[0][0], files[1][0])))
        messages.note(f"{count(added, 'judgement')} imported into {name}.")


def _forget(name: str, question: str | None) -> None:
    """The body of a click."""
    with messages.refusing():
        Judgements(name).forget(question)
