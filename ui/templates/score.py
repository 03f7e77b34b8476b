"""The score of a template on pasted pairs of sentences, beside those of templates tried before."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from semsearch import Encoder, SemsearchError, sts
from semsearch.evaluation import SentencePair as Pair
from semsearch.evaluation import TemplateCheck
from semsearch.types import JsonObject

from ..shared import encoder_picker, messages, pairs, tables, widgets
from ..shared.work import background

TRIED = "templates tried"
WANTED = "template to score"  # the newest one of a session, which alone is scored
MOST = 2_000  # pairs
MEASURES = ("spearman", "pearson")
EXAMPLE = """A plane is taking off.\tAn air plane is taking off.\t5
A man is playing a large flute.\tA man is playing a flute.\t3.8
A man is slicing bread.\tA dog runs over the grass.\t0.2"""


def show(text: str, model: str, checked: TemplateCheck | None) -> list[Pair]:
    """A box for pairs, the score of the template on them, and those of others. Returns the pairs."""
    st.header("Its score on your pairs")
    rated: list[Pair] = []
    hint = (
        "sentence1, sentence2, score: CSV, tab-separated or JSON lines. Ctrl+Enter applies them. Choose a template on "
        "one set of pairs and report it on another."
    )
    pasted = st.text_area("Pairs, one per line", "", 130, None, "template pairs", hint, placeholder=EXAMPLE)
    with messages.errors():
        rated = scored_pairs(pasted or "")
    if not rated:
        st.caption("Paste pairs with human scores. More pairs give a more reliable score.")
    elif not model:
        messages.info(
            "Choose a Torch model above, such as the folder of a BERT: an encoder that runs without Torch has its "
            "template built in."
        )
    elif checked is None or any(finding.severity == "error" for finding in checked.findings):
        messages.info("The template cannot be scored as it is: see the errors above.")
    else:
        _scored(text, model, rated, checked)
    _tried()
    return rated


def scored_pairs(text: str) -> list[Pair]:
    """Pairs that all have a score, two or more, or none at all. Raises SemsearchError."""
    rated = pairs.read_scored(text)
    if len(rated) == 1:
        raise SemsearchError("One pair has no order.", "Paste two pairs or more.")
    if len(rated) > MOST:
        raise SemsearchError(f"There are more than {MOST:,} pairs.", "Use fewer, or: semsearch templates search")
    return rated


def _scored(text: str, model: str, rated: Sequence[Pair], checked: TemplateCheck) -> None:
    with encoder_picker.errors_of(model):
        scores = _score(model, text, rated)
        if scores is None:
            return
        cost = (checked.sample or {}).get("cost")
        correlations = {name: scores[name] for name in MEASURES}
        row = {"template": text, "model": model, "pairs": len(rated), **correlations, "tokens": cost}
        tried = st.session_state.setdefault(TRIED, [])
        if row not in tried:
            tried.append(row)
        *places, last = st.columns(3)
        for place, (name, value) in zip(places, correlations.items(), strict=True):
            place.metric(f"{name.capitalize()}, %", "none" if value is None else f"{value:.2f}")
        last.metric("Tokens of the template", cost or "?")
        if scores["spearman"] is None:
            st.caption("A correlation needs scores and cosines that are not all the same.")
        rows = [
            {"sentence1": pair.first, "sentence2": pair.second, "score": pair.gold, "cosine": cosine}
            for pair, cosine in zip(rated, scores["cosines"], strict=True)
        ]
        with st.expander("Pair by pair"):
            tables.show(rows, {"cosine": st.column_config.NumberColumn(format="%.3f")})


class Superseded(SemsearchError):
    """Another template was typed before this one was scored."""


def _score(model: str, text: str, rated: Sequence[Pair]) -> JsonObject | None:
    """The score, or None while it is computed beside the page: loading a model takes seconds."""
    both, gold = pairs.split(rated)
    request = st.session_state.setdefault(WANTED, {})
    request["text"] = text

    def work() -> JsonObject:
        """Cosines, Spearman and Pearson in percent, None where there is none."""
        if request["text"] != text:
            raise Superseded("superseded.")
        scores = sts(both, Encoder.load(model, template=text), gold=gold)
        correlations = {name: getattr(scores, name) for name in MEASURES}
        numbers = {name: value if value == value else None for name, value in correlations.items()}
        return {"cosines": scores.cosines, **numbers}

    for _ in range(2):  # a template that was superseded before is begun again
        with suppress(Superseded):
            key = ("template", model, text, hash((both, gold)))
            return background.result(key, work, "Scoring the template …", queue="templates")
    return None


def _tried() -> None:
    """Every template scored in this session, the best first."""
    tried: list[JsonObject] = st.session_state.get(TRIED, [])
    if len(tried) < 2:
        return
    st.markdown("**Tried so far**")
    rows = sorted(tried, key=lambda row: -(row["spearman"] if row["spearman"] is not None else -101.0))
    columns = {"template": tables.WIDE, **{name: tables.percent(name) for name in MEASURES}}
    tables.show([row | {"model": encoder_picker.short_name(row["model"])} for row in rows], columns, placeholder="none")
    widgets.button("Clear", "delete", lambda: st.session_state.pop(TRIED, None))
