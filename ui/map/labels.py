"""Labels for the documents of an index, as in examples: documents that a person labels, or texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Index, Label, LabelAccuracy, SemsearchError
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import messages, pool, tables, widgets
from ..shared.messages import one_line
from ..shared.widgets import URL
from ..shared.work import background, tagging

EXAMPLES = "label.examples"  # of the session, by the name of the index
OFFERED, LISTED = 50, 50  # documents to choose from; at a time
LETTERS, SHOWN = 2_000, 100  # of an example, and shown of it
NONE, ALL = "no label", "all"
COLUMNS = {
    "document": tables.WIDE,
    "label": tables.MEDIUM,
    "probability": st.column_config.NumberColumn(format="%.2f", help="Of its label among all; calibrated."),
    "fit": st.column_config.NumberColumn(format="%.2f", help="How much it is like the examples."),
}


class Example(NamedTuple):
    """A text with its label; the document that it is from, or ""."""

    text: str
    label: str
    document: str = ""


def show(name: str, row: DeltaGenerator) -> None:
    """The examples, a form for more, and the documents as they are labelled by them."""
    hint = "Parts of the examples, each labelled by the others: that tells how many are right."
    folds = int(row.number_input("Folds", 2, 20, 5, key="folds", bind=URL, width=110, help=hint))
    hint = "Share of texts like the examples that may be left without a label; 0 labels every document."
    reject = float(row.number_input("Reject", 0.0, 1.0, 0.02, 0.01, key="reject", bind=URL, width=120, help=hint))
    index = pool.index(name)
    examples = _examples(name)
    _form(name, index)
    _listed(name, examples)
    counted = len({each.label for each in examples})
    if counted < 2:
        st.caption("Give examples of two labels or more; five of each say how well the labels can be told apart.")
        return
    pairs = [(each.text, each.label) for each in examples]
    work = lambda: index.analysis.label(pairs, folds=folds, reject=reject)  # noqa: E731
    key = ("label", pool.state(index), tuple(pairs), folds, reject)
    outcome = background.result(key, work, "Labelling documents …", queue="groups")
    if outcome is not None:
        _labelled(name, *outcome)


def _examples(name: str) -> list[Example]:
    kept: dict[str, list[Example]] = st.session_state.setdefault(EXAMPLES, {})
    return kept.setdefault(name, [])


def _form(name: str, index: Index) -> None:
    """Documents, or texts line by line, and the label that they are examples of."""
    with st.container(border=True):
        left, right = st.columns(2)
        words = left.text_input("Find documents", key="label.find", placeholder="words of their names or titles")
        matching = _matching(pool.state(index), words, index)
        more = len(matching) - OFFERED
        hint = f"{more:,} more match: type more words above." if more > 0 else None
        offered, empty = matching[:OFFERED], "Choose some"
        widgets.several("Documents", offered, "label.documents", place=left, placeholder=empty, help=hint)
        hint = "One on each line. A line with a tab is a text and its own label, as copied from a spreadsheet."
        right.text_area("Or texts", key="label.texts", height=122, help=hint)
        label = left.text_input("Their label", key="label.label", placeholder="e.g. kitchen")
        label = f"Add as {label.strip()}" if label.strip() else "Add examples"
        widgets.button(messages.plain(label), "add", _add, (name,), key="label.add", place=right, kind="primary")


@st.cache_resource(max_entries=8, show_spinner=False)
def _matching(state: tuple[str, int, int], words: str, _index: Index) -> Sequence[str]:
    return _index.matching(words=words.split())


def _add(name: str) -> None:
    """Add what is in the form to the examples, and clear it: the body of a click."""
    state, label = st.session_state, str(st.session_state["label.label"]).strip()
    with messages.refusing():
        index = pool.index(name)
        new = [Example(str(index.get(each)["text"])[:LETTERS], label, each) for each in state["label.documents"]]
        new += read(state["label.texts"], label)
        if not new:
            raise SemsearchError("There is no example.", "Choose documents, or type a text.")
        if not all(each.label for each in new):
            raise SemsearchError("The examples have no label.", "Type their label.")
        before = _examples(name)
        before += [each for each in new if each not in before]
        state["label.documents"], state["label.texts"] = [], ""


def read(written: str, label: str) -> list[Example]:
    """The texts, one on each line, with this label or the one after a tab.

    >>> [each[:2] for each in read("bread and yeast\\n\\n engine\\tmachines", "kitchen")]
    [('bread and yeast', 'kitchen'), ('engine', 'machines')]
    """
    lines = [line.strip().partition("\t") for line in written.splitlines() if line.strip()]
    return [Example(text.strip()[:LETTERS], own.strip() or label) for text, _, own in lines]


def _listed(name: str, examples: list[Example]) -> None:
    """The examples, with a way to remove some."""
    if not examples:
        return
    rows = [{"label": each.label, "example": each.document or one_line(each.text, SHOWN)} for each in examples]
    key = f"examples {name} {len(examples)} {hash(tuple(examples))}"
    st.caption(f"{count(len(examples), 'example')}. Tick some to remove them.")
    tables.select(rows, {"label": tables.MEDIUM, "example": tables.WIDE}, key, lambda _: None, many=True)
    ticked = st.session_state[key]["selection"]["rows"]
    row = widgets.row()
    label, args = f"Remove {count(len(ticked), 'example')}", (name, ticked)
    widgets.button(label, "delete", _remove, args, place=row, key="label.remove", off=not ticked)
    pairs = [{"text": each.text, "label": each.label} for each in examples]
    tables.download("Examples (CSV)", "examples.csv", lambda: tables.to_csv(pairs, ["text", "label"]), place=row)


def _remove(name: str, ticked: Sequence[int]) -> None:
    kept = [each for at, each in enumerate(_examples(name)) if at not in ticked]
    st.session_state[EXAMPLES][name] = kept


def _labelled(name: str, assigned: dict[str, Label], accuracy: LabelAccuracy) -> None:
    """How well the examples are labelled, and the label of each document."""
    st.header("Documents by their labels", anchor=False)
    messages.caption(summary(assigned, accuracy))
    every = rows(assigned)
    counted = {label: sum(row["label"] == label for row in every) for label in (*accuracy.by_label, NONE)}
    used = [label for label, many in counted.items() if many]
    shown = st.selectbox("Show", [ALL, *used], key="label.show", width=220)
    some = [row for row in every if shown in (ALL, row["label"])]
    tables.show(widgets.page_of(some, LISTED, f"label page {shown}", width=160), COLUMNS)
    line = widgets.row()
    whole = {"accuracy": asdict(accuracy), "labels": every}
    tables.downloads(f"{name}-labels", whole, every, list(COLUMNS), place=line)
    with line.popover("Write the labels to the metadata", icon=":material/sell:"):
        key = tagging.key_field("label", "label")
        values: dict[str | None, Sequence[str]] = {
            label: [row["document"] for row in every if row["label"] == label] for label in accuracy.by_label
        }
        labelled = sum(map(len, values.values()))
        tagging.button("label", f"Set {key or '…'} of {count(labelled, 'document')}", name, key, values)


def rows(labelled: dict[str, Label]) -> list[JsonObject]:
    """A row for each document, those whose label is surest first."""
    ordered = sorted(labelled.items(), key=lambda each: (each[1].label is None, -each[1].probability, each[0]))
    return [
        {
            "document": document,
            "label": one.label or NONE,
            "probability": round(one.probability, 3),
            "fit": round(one.fit, 3),
        }
        for document, one in ordered
    ]


def summary(assigned: dict[str, Label], accuracy: LabelAccuracy) -> str:
    """How many documents have a label, and how many of the examples the others label rightly."""
    none = sum(one.label is None for one in assigned.values())
    parts = [f"{len(assigned) - none:,} labelled, {none:,} unlike all examples"]
    if accuracy.accuracy is None:
        return f"{parts[0]}. A label needs two examples to be tested."
    parts.append(f"{accuracy.accuracy:.0%} of {accuracy.tested:,} examples right in {accuracy.folds} folds")
    wrong = {label: pair for label, pair in accuracy.by_label.items() if pair[0] < pair[1]}
    worst = sorted(wrong, key=lambda label: (wrong[label][0] / wrong[label][1], label))[:3]
    if worst:
        parts.append("least: " + ", ".join(f"{label} {wrong[label][0]} of {wrong[label][1]}" for label in worst))
    return "; ".join(parts) + "."
