"""Pairs of sentences, pasted or uploaded: cosine and strength by every encoder, compared with human scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from semsearch import Encoder
from semsearch.evaluation import SentencePair as Pair
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import encoder_picker, messages, tables, widgets
from ..shared.messages import plain
from ..shared.widgets import URL
from ..shared.work import jobs
from . import correlation, one_pair, pair_scores, uploaded_pairs
from .pair_scores import Scored
from .uploaded_pairs import PairSet

FIGURES = {  # of an encoder: title, format and help of its column
    "off": (
        "ranks off",
        "%+.0f %%",
        "How much higher (+) or lower (−) the encoder ranks the pair than people do, in percent of all ranks.",
    ),
    "cosine": ("cosine", "%.3f", None),
    "strength": ("strength", "%.2f", None),
}


def show(names: Sequence[str]) -> None:
    """The box for pairs, and the results below it."""
    messages.outcome_of_click()
    with messages.errors():
        if pair_set := uploaded_pairs.current():
            _results(encoder_picker.load(names), pair_set)
        else:
            messages.info("Paste pairs, or upload a file of them.")


def _results(chosen: dict[str, Encoder], pair_set: PairSet) -> None:
    scores, pairs = _scored(chosen, pair_set), pair_set.pairs
    if not scores:
        return
    if any(pair.gold is not None for pair in pairs):
        correlation.show(pairs, scores)
    rows = _worst_first(table(pairs, scores), scores)
    _listed(rows, scores)
    tables.downloads("pairs", whole(rows, scores), rows)
    st.header("One pair", anchor="one-pair")
    pair = pairs[one_pair.number(None, "Pair", "pair", len(rows), rows[0]["pair"]) - 1]
    if pair.gold is not None:
        st.caption(f"gold score {pair.gold:g}")
    one_pair.show(chosen, pair.first, pair.second)


def _scored(chosen: Mapping[str, Encoder], pair_set: PairSet) -> dict[str, Scored]:
    """The scores encoder by encoder: few pairs are measured at once, many after a click."""
    pairs = pair_set.pairs
    if len(pairs) <= pair_scores.AT_ONCE:
        return dict(encoder_picker.measure_each(chosen, lambda encoder: pair_scores.at_once(encoder, pairs)))
    ready = {name: scored for name, encoder in chosen.items() if (scored := pair_scores.complete(encoder, pair_set))}
    missing = {name: encoder for name, encoder in chosen.items() if name not in ready}
    job = jobs.last(pair_scores.key(pair_set))
    if job and job.state == "running":
        _watch(pair_set, list(chosen.values()), len(ready))
    elif missing:
        for problem in job.outcome.problems if job and job.outcome else ():
            messages.error(problem)
        encoders = ", ".join(map(encoder_picker.short_name, missing))
        label = f"Measure {count(len(pairs), 'pair')} with {plain(encoders)}"
        hint = "It runs in the background, one encoder after the other; each is shown as soon as it is done."
        widgets.button(label, "play_arrow", pair_scores.begin, (missing, pair_set), hint=hint, kind="primary")
    return ready


@st.fragment(run_every=1.0)
def _watch(pair_set: PairSet, chosen: Sequence[Encoder], seen: int) -> None:
    """Draw the page again once one more encoder is done."""
    st.caption(f"{seen} of {len(chosen)} encoders are done; the end of the rail shows the progress.")
    done = sum(pair_scores.complete(encoder, pair_set) is not None for encoder in chosen)
    if done != seen or not jobs.busy(pair_scores.key(pair_set)):
        st.rerun()


def _worst_first(rows: Sequence[JsonObject], scores: Mapping[str, Scored]) -> Sequence[JsonObject]:
    """The rows, the worst disagreements with people first; without gold scores in their order."""
    st.header("Pairs")
    judges = [name for name in scores if any(row[f"off {name}"] is not None for row in rows)]
    if not judges:
        return rows
    judge = judges[0]
    if len(judges) > 1:
        judge = st.selectbox("Worst disagreements first, of", judges, key="worst", bind=URL)
    return sorted(rows, key=lambda row: -abs(row[f"off {judge}"] or 0.0))


def table(pairs: Sequence[Pair], scores: Mapping[str, Scored]) -> list[JsonObject]:
    """One row per pair, for the page and for downloads."""
    rows = []
    for at, pair in enumerate(pairs):
        row = {"pair": at + 1, "sentence1": pair.first, "sentence2": pair.second, "score": pair.gold}
        for name, one in scores.items():
            figures = {"cosine": one.cosines[at], "strength": one.strengths[at], "off": one.off[at]}
            row |= {f"{what} {name}": value for what, value in figures.items()}
        rows.append(row)
    return rows


def whole(rows: Sequence[JsonObject], scores: Mapping[str, Scored]) -> JsonObject:
    """The JSON to download."""
    models = {name: {"spearman": one.spearman, "pearson": one.pearson} for name, one in scores.items()}
    return {"schema": 1, "models": models, "pairs": rows}


def _listed(rows: Sequence[JsonObject], scores: Mapping[str, Scored]) -> None:
    """The table, whose ticked row is the pair shown below; columns without any value are left out."""
    columns = {"sentence1": tables.MEDIUM, "sentence2": tables.MEDIUM} | {
        f"{what} {name}": st.column_config.NumberColumn(
            f"{title} · {encoder_picker.short_name(name)}", format=form, help=hint
        )
        for what, (title, form, hint) in FIGURES.items()
        for name in scores
    }
    order = ("pair", "sentence1", "sentence2", "score", *columns)
    names = [name for name in dict.fromkeys(order) if any(row[name] is not None for row in rows)]

    def choose(ticked: list[int]) -> None:
        st.session_state["pair"] = rows[ticked[0]]["pair"]

    st.caption("Tick a row to look at the pair below.")
    tables.select([{name: row[name] for name in names} for row in rows], columns, "listed", choose)
