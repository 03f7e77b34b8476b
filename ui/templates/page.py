"""Templates: those of the papers, what is off with one of your own, what it costs, and how well it scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from semsearch import Encoder, templates
from semsearch.evaluation import TemplateCheck, check_template

from ..shared import encoder_picker, jobs, pool
from ..shared.model_picker import here
from ..shared.urls import URL
from . import grid_search, score

KINDS = ("all", "bert", "roberta", "causal")
SENTENCE = "A man is playing a guitar."
MOST = 500  # letters of a template
PAUSE = "300ms"  # of typing, after which the template is looked at
EXAMPLE = 'This sentence : "[X]" means [MASK] .'
USUAL = "cot-minilm"  # its tokenizer is that of BERT
READ = {  # which token becomes the vector, by method
    "cls": "[CLS], the first token",
    "mean": "all tokens, averaged",
    "first_last": "all tokens of two layers, averaged",
    "static": "the word vectors of all tokens, averaged",
    "promptbert": "[MASK]",
    "optiprompt": "[MASK], among words that are learned vectors",
    "cot_bert": "the last of two [MASK]s",
    "n_mask": "all [MASK]s",
    "prompteol": "the last token",
    "pretended_cot": "the last token, one layer below the last",
}
ICONS = {
    "error": ":red[:material/error:]",
    "warning": ":orange[:material/warning:]",
    "note": ":blue[:material/info:]",
}


def page() -> None:
    """The page."""
    st.title("Templates")
    st.caption("A prompt model reads a sentence inside a template, and one token of it becomes the vector.")
    _library()
    st.subheader("A template of your own")
    left, right = st.columns([3, 2])
    text = left.text_input(
        "Template", EXAMPLE, key="t", bind=URL, max_chars=MOST, live=PAUSE,
        help="[X] is where the sentence stands, [MASK] a token that is read. Or a name from the library. It is "
        "checked as you type.",
    )  # fmt: skip
    model = _model(right)
    if not (text or "").strip():
        st.info("Write a template, or choose one above.", icon=":material/info:")
        return
    checked = _checked(text, model)
    if checked is not None:
        _findings(checked)
        _sample(checked)
    free = model if checked is not None and checked.kind and not built_in(model) else ""
    given = score.show(text, free, checked)
    jobs.refused()
    grid_search.show(free, checked.kind if checked else "", given)


def _library() -> None:
    kind = st.segmented_control(
        "For models of this kind", KINDS, default="all", required=True, key="for", bind=URL,
        help="BERT and RoBERTa read a [MASK], causal models (OPT, LLaMA) their last token.",
    )  # fmt: skip
    rows = library(kind or "all")
    names = [row["name"] for row in rows]

    def choose() -> None:
        at = st.session_state["library"]["selection"]["rows"]
        if at:
            st.session_state["t"] = names[at[0]]

    st.dataframe(
        rows, hide_index=True, height=min(330, 40 + 35 * len(rows)), key="library", on_select=choose,
        selection_mode="single-row", column_config=COLUMNS,
    )  # fmt: skip
    st.caption(f"{len(rows)} templates. Click the left edge of a row to look at it below.")


COLUMNS = {
    "name": st.column_config.TextColumn(width=150),
    "text": st.column_config.TextColumn(width=370),
    "token read": st.column_config.TextColumn(width=190),
    "for": st.column_config.TextColumn(width=100),
    "paper": st.column_config.TextColumn(width=190),
    "link": st.column_config.LinkColumn(display_text="open", width="small"),
}


def library(kind: str = "all") -> list[dict[str, Any]]:
    """The templates that are made for a kind of model, as the table has them."""
    rows = []
    for one in templates().values():
        if kind != "all" and not {kind, "any"} & set(one.kinds):
            continue
        parts = [part.strip() for part in one.source.split(", ")]
        rows.append({
            "name": one.name,
            "text": " / ".join(dict.fromkeys(one.text.values())),
            "token read": READ.get(one.method, one.method),
            "for": ", ".join(one.kinds),
            "paper": ", ".join(part for part in parts if not part.startswith("https:")),
            "link": next((part for part in parts if part.startswith("https:")), None),
            "about": " ".join(part for part in (one.description, one.note) if part),
        })  # fmt: skip
    return rows


def _model(place: Any) -> str:
    known = [USUAL, *(entry["name"] for entry in Encoder.catalogue() if "folder" not in entry)]
    known = [name for name in known if name != "hashing"]  # it reads no template
    chosen = place.selectbox(
        "Model", known, key="tm", bind=URL, accept_new_options=True, placeholder="A name, or a folder",
        help="Its tokenizer says what the template costs. A Torch model, such as the folder of a BERT, can also be "
        "scored below; an encoder that was trained or exported has its template built in.",
    )  # fmt: skip
    return (chosen or "").strip()


def _checked(text: str, model: str) -> TemplateCheck | None:
    """What the linter says; without the model, where that cannot be read."""
    if model and here(model):
        with encoder_picker.told(model):
            return _linted(text, model)
    with pool.told():
        return _linted(text, "")
    return None


@st.cache_data(max_entries=256, show_spinner=False)
def _linted(text: str, model: str) -> TemplateCheck:
    return check_template(text, model=model or None, sentence=SENTENCE)


def built_in(model: str) -> bool:
    """Whether it comes with semsearch, and so reads one template alone."""
    return any(one["name"] == model and "folder" in one for one in Encoder.catalogue())


def _findings(checked: TemplateCheck) -> None:
    faults = [finding for finding in checked.findings if finding.code != "cost"]
    if not faults:
        st.markdown(":green[:material/check_circle:] Nothing is off with it.")
    for finding in faults:
        told = pool.plain(f"{finding.message[:1].upper()}{finding.message[1:]} {finding.fix}".strip())
        st.markdown(f"{ICONS[finding.severity]} **{finding.severity}** · {told}")
    method = READ.get(checked.template.method, checked.template.method)
    st.caption(f"Read here: {pool.plain(method)}.")


def _sample(checked: TemplateCheck) -> None:
    """What becomes of a sentence, and what the template takes of a model's room."""
    told = checked.sample
    if told is None:
        return
    if "cost" not in told:
        st.code(told["text"], language=None, wrap_lines=True)
        st.caption("Choose a model to see the tokens, and how many the template takes.")
        return
    st.code(tokens(told["tokens"]), language=None, wrap_lines=True)
    st.caption(f"Tokens of the template stand in [ ]. It takes **{told['cost']}** of {told['max_tokens']} tokens, and "
               f"leaves {told['left']} to the sentence.")  # fmt: skip


def tokens(parts: Sequence[dict[str, Any]]) -> str:
    """A sentence's own tokens bare, the template's in brackets.

    >>> tokens([{"token": "it", "part": "prompt"}, {"token": "is", "part": "sentence"}])
    '[it] is'
    """
    return " ".join(each["token"] if each["part"] == "sentence" else f"[{each['token']}]" for each in parts)
