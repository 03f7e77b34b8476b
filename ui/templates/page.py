"""Templates: the library; one of your own with its problems, its cost in tokens, and its score."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from semsearch import Encoder
from semsearch.evaluation import TemplateCheck, check_template
from semsearch.prompts import Template, templates
from semsearch.types import JsonObject

from ..shared import encoder_picker, messages, tables, widgets
from ..shared.messages import plain
from ..shared.widgets import URL
from . import grid_search, score

KINDS = ("all", "bert", "roberta", "causal")
SENTENCE = "A man is playing a guitar."
MOST = 500  # characters of a template
PAUSE = "300ms"  # of typing, after which the template is checked
EXAMPLE = 'This sentence : "[X]" means [MASK] .'
USUAL = "default"  # its tokenizer is that of BERT
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
    "token_prepending": "the last token, behind a sentence that stands after its own embedding",
    "contrastive_prompting": "the last token, less what a second prompt calls irrelevant",
    "metaeol": "the last tokens under several prompts, averaged",
}
ICONS = {"error": ":red[:material/error:]", "warning": ":orange[:material/warning:]"}


def page() -> None:
    """The page."""
    st.caption("A prompt-based encoder reads a sentence in a template; one token, such as [MASK], becomes the vector.")
    _library()
    st.header("A template of your own")
    left, right = st.columns([3, 2])
    hint = (
        "[X] is where the sentence stands, [MASK] a token that is read. Or a name from the library. It is checked as "
        "you type."
    )
    text = left.text_input("Template", EXAMPLE, MOST, "t", help=hint, bind=URL, live=PAUSE)
    model = _model(right)
    if not (text or "").strip():
        messages.info("Type a template, or choose one above.")
        return
    checked = _checked(text, model)
    if checked is not None:
        _findings(checked)
        _sample(checked)
    free = model if checked is not None and checked.kind and not built_in(model) else ""
    pairs = score.show(text, free, checked)
    messages.outcome_of_click()
    grid_search.show(free, checked.kind if checked else "", pairs)


def _library() -> None:
    hint = "BERT and RoBERTa read a [MASK], causal models (OPT, LLaMA) their last token."
    rows = library(widgets.choice("Kind of model", KINDS, "for", hint))
    tables.select(rows, COLUMNS, "library", lambda ticked: grid_search.use(rows[ticked[0]]["name"]))
    st.caption(f"{len(rows)} templates. Tick a row to look at it below.")


COLUMNS = {
    "name": st.column_config.TextColumn(width=150),
    "text": st.column_config.TextColumn(width=370),
    "token read": st.column_config.TextColumn(width=190),
    "for": st.column_config.TextColumn(width=100),
    "paper": st.column_config.TextColumn(width=190),
    "link": st.column_config.LinkColumn(display_text="open", width="small"),
}


def library(kind: str = "all") -> list[JsonObject]:
    """The templates for a kind of model, as rows of the table."""
    return [_row(one) for one in templates().values() if kind == "all" or {kind, "any"} & set(one.kinds)]


def _row(one: Template) -> JsonObject:
    parts = [part.strip() for part in one.source.split(", ")]
    links = [part for part in parts if part.startswith("https:")]
    return {
        "name": one.name,
        "text": " / ".join(dict.fromkeys(one.text.values())),
        "token read": READ.get(one.method, one.method),
        "for": ", ".join(one.kinds),
        "paper": ", ".join(part for part in parts if part not in links),
        "link": links[0] if links else None,
        "about": " ".join(part for part in (one.description, one.note) if part),
    }


def _model(place: DeltaGenerator) -> str:
    names = [entry["name"] for entry in Encoder.catalogue() if "folder" not in entry and entry["name"] != "hashing"]
    hint = (
        "Its tokenizer counts the tokens of the template. A Torch model, such as the folder of a BERT, can also be "
        "scored below; an encoder that was trained or exported has its template built in."
    )
    return encoder_picker.box("Model", [USUAL, *names], "tm", hint, place=place, index=0, bind=URL)


def _checked(text: str, model: str) -> TemplateCheck | None:
    """The findings of the linter; without the model, where that cannot be read."""
    if model and encoder_picker.is_local(model):
        with encoder_picker.errors_of(model):
            return _linted(text, model)
    with messages.errors():
        return _linted(text, "")
    return None


@st.cache_data(max_entries=256, show_spinner=False)
def _linted(text: str, model: str) -> TemplateCheck:
    return check_template(text, model=model or None, sentence=SENTENCE)


def built_in(model: str) -> bool:
    """Whether it is part of semsearch, and so has one fixed template."""
    return any(one["name"] == model and "folder" in one for one in Encoder.catalogue())


def _findings(checked: TemplateCheck) -> None:
    faults = [finding for finding in checked.findings if finding.code != "cost"]
    if not faults:
        st.markdown(":green[:material/check_circle:] No problem was found.")
    for finding in faults:
        text = plain(f"{finding.message[:1].upper()}{finding.message[1:]} {finding.fix}".strip())
        severity = "error" if finding.severity == "error" else "warning"
        st.markdown(f"{ICONS[severity]} **{severity}** · {text}")
    method = READ.get(checked.template.method, checked.template.method)
    st.caption(f"Token read: {plain(method)}.")


def _sample(checked: TemplateCheck) -> None:
    """A sentence in the template, and the tokens that the template takes."""
    sample = checked.sample
    if sample is None:
        return
    text, cost = sample["text"], "Choose a model to see the tokens, and how many of them the template takes."
    if "cost" in sample:
        text = tokens(sample["tokens"])
        cost = (
            f"Tokens of the template are in [ ]. It takes **{sample['cost']}** of {sample['max_tokens']} tokens, and "
            f"leaves {sample['left']} for the sentence."
        )
    st.code(text, language=None, wrap_lines=True)
    st.caption(cost)


def tokens(parts: Sequence[JsonObject]) -> str:
    """A sentence's own tokens bare, the template's in brackets.

    >>> tokens([{"token": "it", "part": "prompt"}, {"token": "is", "part": "sentence"}])
    '[it] is'
    """
    return " ".join(each["token"] if each["part"] == "sentence" else f"[{each['token']}]" for each in parts)
