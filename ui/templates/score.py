"""The score of a template on pairs of sentences that a person pastes, beside those that were tried before."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from uuid import uuid4

import streamlit as st

from semsearch import Encoder, SemsearchError, sts
from semsearch.evaluation import TemplateCheck

from ..shared import background, encoder_picker, pairs, pool
from ..shared.pairs import Pair

TRIED = "templates tried"
MOST = 2_000  # pairs
EXAMPLE = """A plane is taking off.\tAn air plane is taking off.\t5
A man is playing a large flute.\tA man is playing a flute.\t3.8
A man is slicing bread.\tA dog runs over the grass.\t0.2"""
Scored = dict[str, Any]
Triples = tuple[tuple[str, str, float], ...]


def show(text: str, model: str, checked: TemplateCheck | None) -> list[Pair]:
    """Where pairs are pasted, what the template makes of them, and what others made; the pairs."""
    st.subheader("Its score on your pairs")
    given: list[Pair] = []
    pasted = st.text_area(
        "Pairs, one a line",
        key="template pairs",
        height=130,
        placeholder=EXAMPLE,
        help="sentence1, sentence2, score: CSV, tab-separated or JSON lines. Ctrl+Enter takes them. Choose a "
        "template on one set of pairs and report it on another.",
    )
    with pool.told():
        given = scored_pairs(pasted or "")
    if not given:
        st.caption("Paste pairs with the scores that people gave. The more of them, the less chance decides.")
    elif not model:
        st.info(
            "Choose a Torch model above, such as the folder of a BERT: an encoder that runs without Torch has its "
            "template built in.",
            icon=":material/info:",
        )
    elif checked is None or any(finding.severity == "error" for finding in checked.findings):
        st.info("The template cannot be scored as it is: see the errors above.", icon=":material/info:")
    else:
        _scored(text, model, given, checked)
    _tried()
    return given


def scored_pairs(text: str) -> list[Pair]:
    """Pairs that all have a score, two or more, or none at all. Raises SemsearchError."""
    given = pairs.read(text)
    lacking = sum(pair.gold is None for pair in given)
    if lacking:
        raise SemsearchError(f"{lacking} of {len(given)} pairs have no score.", pairs.WRITE)
    if len(given) == 1:
        raise SemsearchError("one pair has no order.", "Paste two pairs or more.")
    if len(given) > MOST:
        raise SemsearchError(f"there are more than {MOST:,} pairs.", "Use fewer, or: semsearch templates search")
    return given


def _scored(text: str, model: str, given: Sequence[Pair], checked: TemplateCheck) -> None:
    with encoder_picker.told(model):
        found = _score(model, text, tuple((pair.first, pair.second, pair.gold or 0.0) for pair in given))
        if found is None:
            return
        told = checked.sample or {}
        row = {
            "template": text,
            "model": model,
            "pairs": len(given),
            "spearman": found["spearman"],
            "pearson": found["pearson"],
            "tokens": told.get("cost"),
        }
        tried = st.session_state.setdefault(TRIED, [])
        if row not in tried:
            tried.append(row)
        first, second, third = st.columns(3)
        for place, name in ((first, "spearman"), (second, "pearson")):
            value = found[name]
            place.metric(f"{name.capitalize()}, %", "none" if value is None else f"{value:.2f}")
        third.metric("Tokens of the template", told.get("cost", "?"))
        if found["spearman"] is None:
            st.caption("A correlation needs scores and cosines that are not all the same.")
        rows = [
            {"sentence1": pair.first, "sentence2": pair.second, "score": pair.gold, "cosine": cosine}
            for pair, cosine in zip(given, found["cosines"], strict=True)
        ]
        with st.expander("Pair by pair"):
            st.dataframe(rows, hide_index=True, column_config={"cosine": st.column_config.NumberColumn(format="%.3f")})


class PassedOver(SemsearchError):
    """Another template was typed before the turn of this one came."""


@st.cache_resource(show_spinner=False)
def _wanted() -> dict[str, str]:
    """What each session wants scored: its newest template alone."""
    return {}


def _score(model: str, text: str, triples: Triples) -> Scored | None:
    """The score, None as long as it is not there. Beside the page: loading a model takes seconds."""
    session = st.session_state.setdefault("scores for", uuid4().hex)
    wanted = _wanted()
    wanted[session] = text

    def work() -> Scored:
        if wanted[session] != text:
            raise PassedOver("passed over.")
        return score(model, text, triples)

    asked = ("template", model, text, hash(triples))
    for _ in range(2):  # what was passed over before is begun anew
        with suppress(PassedOver):
            found: Scored | None = background.result(asked, work, "Scoring the template …", line="templates")
            return found
    return None


def score(model: str, text: str, triples: Triples) -> Scored:
    """Cosines, Spearman and Pearson in percent (None where there is none) of a model under a template."""
    encoder = Encoder.load(model, template=text)
    found = sts([(a, b) for a, b, _ in triples], encoder, gold=[gold for *_, gold in triples])
    both = (found.spearman, found.pearson)
    spearman, pearson = (value if value is not None and value == value else None for value in both)
    return {"cosines": list(found.cosines), "spearman": spearman, "pearson": pearson}


def _tried() -> None:
    """All that was scored in this session, the best first."""
    tried: list[Scored] = st.session_state.get(TRIED, [])
    if len(tried) < 2:
        return
    st.markdown("**Tried so far**")
    rows = sorted(tried, key=lambda row: -(row["spearman"] if row["spearman"] is not None else -101.0))
    percent = {name: st.column_config.NumberColumn(f"{name}, %", format="%.2f") for name in ("spearman", "pearson")}
    st.dataframe(
        [row | {"model": encoder_picker.short(row["model"])} for row in rows],
        hide_index=True,
        placeholder="none",
        column_config={"template": st.column_config.TextColumn(width="large"), **percent},
    )
    st.button("Forget them", icon=":material/delete:", on_click=lambda: st.session_state.pop(TRIED, None))
