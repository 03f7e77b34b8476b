"""Pairs of sentences, pasted or uploaded: cosine and strength by every encoder, compared with human scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from semsearch import Encoder
from semsearch.types import JsonObject

from ..shared import encoder_picker, jobs, messages, tables, widgets
from ..shared.messages import count, plain
from ..shared.pairs import Pair
from ..shared.widgets import URL
from . import correlation, one_pair, pair_scores, uploaded_pairs
from .pair_scores import Scored
from .uploaded_pairs import PairSet

Found = Mapping[str, Scored]


def show(names: Sequence[str]) -> None:
    """The box for pairs, and the results below it."""
    messages.outcome_of_click()
    given: PairSet | None = None
    with messages.errors():
        given = uploaded_pairs.current()
        if not given:
            messages.info("Paste pairs, or upload a file of them.")
    if not given:
        return
    chosen = encoder_picker.load(names)
    found = _found(chosen, given)
    if not found:
        return
    pairs = given.pairs
    if any(pair.gold is not None for pair in pairs):
        correlation.show(pairs, found)
    rows = table(pairs, found)
    order = _order(pairs, found)
    _listed(rows, order, found)
    _downloads([rows[at] for at in order], found)
    st.subheader("One pair", anchor="one-pair")
    pair = pairs[one_pair.number(None, "Pair", "pair", len(order), order[0] + 1) - 1]
    if pair.gold is not None:
        st.caption(f"gold score {pair.gold:g}")
    one_pair.show(chosen, pair.first, pair.second)


def _found(chosen: Mapping[str, Encoder], given: PairSet) -> dict[str, Scored]:
    """The scores encoder by encoder: few pairs are measured at once, many after a click."""
    if len(given.pairs) <= pair_scores.AT_ONCE:
        return dict(encoder_picker.measure_each(chosen, lambda encoder: pair_scores.at_once(encoder, given.pairs)))
    known = {name: scored for name, encoder in chosen.items() if (scored := pair_scores.complete(encoder, given))}
    missing = {name: encoder for name, encoder in chosen.items() if name not in known}
    job = jobs.last(pair_scores.key(given))
    if job and job.state == "running":
        _watch(given, list(chosen.values()), len(known))
    elif missing:
        for problem in job.outcome.problems if job and job.outcome else ():
            messages.error(problem)
        label = f"Measure {count(len(given.pairs), 'pair')} with {plain(_enumeration(list(missing)))}"
        hint = "It runs in the background, one encoder after the other; each is shown as soon as it is done."
        widgets.button(label, "play_arrow", pair_scores.begin, (missing, given), hint=hint, kind="primary")
    return known


@st.fragment(run_every=1.0)
def _watch(given: PairSet, chosen: Sequence[Encoder], seen: int) -> None:
    """Draw the page again once one more encoder is done."""
    st.caption(f"{seen} of {len(chosen)} encoders are done; the bar at the top of the page shows the progress.")
    done = sum(pair_scores.complete(encoder, given) is not None for encoder in chosen)
    if done != seen or not jobs.busy(pair_scores.key(given)):
        st.rerun()


def _enumeration(names: Sequence[str]) -> str:
    """The names as a phrase.

    >>> _enumeration(["default", "/models/bert#mean", "hashing"])
    'default, bert#mean and hashing'
    """
    *most, last = (encoder_picker.short_name(name) for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def _order(pairs: Sequence[Pair], found: Found) -> list[int]:
    """The order of the list: the worst disagreements with people first; without gold scores as they came."""
    st.subheader("Pairs")
    judges = [name for name, one in found.items() if any(off is not None for off in one.off)]
    if not judges:
        return list(range(len(pairs)))
    judge = judges[0]
    if len(judges) > 1:
        judge = st.selectbox("Worst disagreements first, of", judges, key="worst", bind=URL)
    off = found[judge].off
    return sorted(range(len(pairs)), key=lambda at: -abs(off[at] or 0.0))


def table(pairs: Sequence[Pair], found: Found) -> list[JsonObject]:
    """One row per pair, for the page and for downloads."""
    rows = []
    for at, pair in enumerate(pairs):
        row = {"pair": at + 1, "sentence1": pair.first, "sentence2": pair.second, "score": pair.gold}
        for name, one in found.items():
            row |= {
                f"cosine {name}": one.cosines[at],
                f"strength {name}": one.strengths[at],
                f"off {name}": one.off[at],
            }
        rows.append(row)
    return rows


def _listed(rows: Sequence[JsonObject], order: Sequence[int], found: Found) -> None:
    has_gold = any(row["score"] is not None for row in rows)
    hint = "How much higher (+) or lower (−) the encoder ranks the pair than people do, in percent of all ranks."
    number = st.column_config.NumberColumn
    columns: dict[str, ColumnConfig | None] = {"sentence1": tables.MEDIUM, "sentence2": tables.MEDIUM}
    if not has_gold:
        columns["score"] = None
    for name in found:
        label = encoder_picker.short_name(name)
        columns[f"cosine {name}"] = number(f"cosine · {label}", format="%.3f")
        strengths = any(row[f"strength {name}"] is not None for row in rows)
        columns[f"strength {name}"] = number(f"strength · {label}", format="%.2f") if strengths else None
        off = number(f"ranks off · {label}", format="%+.0f %%", help=hint)
        columns[f"off {name}"] = off if has_gold else None

    def choose(ticked: list[int]) -> None:
        st.session_state["pair"] = order[ticked[0]] + 1

    st.caption("Click the left edge of a row to look at the pair below.")
    names = [f"{what} {name}" for what in ("off", "cosine", "strength") for name in found]
    shown = [{key: rows[at][key] for key in ("pair", "sentence1", "sentence2", "score", *names)} for at in order]
    tables.select(shown, columns, "listed", choose)


def _downloads(rows: Sequence[JsonObject], found: Found) -> None:
    row = widgets.row()
    tables.download("JSON", "pairs.json", lambda: _json(rows, found), place=row)
    tables.download("CSV", "pairs.csv", lambda: tables.to_csv(rows, list(rows[0])), place=row)


def _json(rows: Sequence[JsonObject], found: Found) -> str:
    whole = {name: {"spearman": one.spearman, "pearson": one.pearson} for name, one in found.items()}
    return tables.to_json({"schema": 1, "models": whole, "pairs": rows})
