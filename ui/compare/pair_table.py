"""Pairs of sentences, pasted or uploaded: cosine and strength by every encoder, held against scores of people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from semsearch import Encoder

from ..shared import csv_export, encoder_picker, jobs, pool
from ..shared.pairs import Pair
from ..shared.urls import URL
from . import correlation, one_pair, pair_scores, uploaded_pairs
from .pair_scores import Scored
from .uploaded_pairs import Given

Found = Mapping[str, Scored]


def show(names: Sequence[str]) -> None:
    """Where pairs are given, and what is found under it."""
    jobs.refused()
    asked: Given | None = None
    with pool.told():
        asked = uploaded_pairs.asked()
        if not asked:
            st.info("Paste pairs, or upload a file of them.", icon=":material/info:")
    if not asked:
        return
    chosen = encoder_picker.loaded(names)
    found = _found(chosen, asked)
    if not found:
        return
    pairs = asked.pairs
    if any(pair.gold is not None for pair in pairs):
        correlation.show(pairs, found)
    rows = table(pairs, found)
    order = _order(pairs, found)
    _listed(rows, order, found)
    _downloads([rows[at] for at in order], found)
    st.subheader("One pair", anchor="one-pair")
    pair = pairs[one_pair.number(st, "Pair", "pair", len(order), order[0] + 1) - 1]
    if pair.gold is not None:
        st.caption(f"gold score {pair.gold:g}")
    one_pair.show(chosen, pair.first, pair.second)


def _found(chosen: Mapping[str, Encoder], asked: Given) -> dict[str, Scored]:
    """What is known of the pairs, encoder by encoder: few are measured now, many where a person says so."""
    if len(asked.pairs) <= pair_scores.AT_ONCE:
        return dict(encoder_picker.each(dict(chosen), lambda encoder: pair_scores.at_once(encoder, asked.pairs)))
    known = {name: scored for name, encoder in chosen.items() if (scored := pair_scores.before(encoder, asked))}
    missing = {name: encoder for name, encoder in chosen.items() if name not in known}
    job = jobs.of(pair_scores.key(asked))
    if job and job.state == "running":
        _watch(asked, list(chosen.values()), len(known))
    elif missing:
        for problem in job.outcome.problems if job and job.outcome else ():
            st.error(pool.plain(problem), icon=":material/error:")
        st.button(
            f"Measure {len(asked.pairs):,} pairs with {pool.plain(_listing(list(missing)))}", type="primary",
            icon=":material/play_arrow:", on_click=pair_scores.begin, args=(missing, asked),
            help="It runs in the background, one encoder after the other; each is shown as soon as it is done.",
        )  # fmt: skip
    return known


@st.fragment(run_every=1.0)
def _watch(asked: Given, chosen: Sequence[Encoder], seen: int) -> None:
    """Until one more encoder has come to the end of the pairs: then the page is drawn anew."""
    st.caption(f"{seen} of {len(chosen)} encoders are done; the bar at the top of the page says how far it is.")
    done = sum(pair_scores.before(encoder, asked) is not None for encoder in chosen)
    if done != seen or not jobs.busy(pair_scores.key(asked)):
        st.rerun()


def _listing(names: Sequence[str]) -> str:
    """The names as a person says them.

    >>> _listing(["default", "/models/bert#mean", "hashing"])
    'default, bert#mean and hashing'
    """
    *most, last = (encoder_picker.short(name) for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def _order(pairs: Sequence[Pair], found: Found) -> list[int]:
    """The pairs as they are listed: the worst disagreements with people first, or as they were given."""
    st.subheader("Pairs")
    judges = [name for name, one in found.items() if any(off is not None for off in one.off)]
    if not judges:
        return list(range(len(pairs)))
    judge = judges[0]
    if len(judges) > 1:
        judge = st.selectbox("Worst disagreements first, of", judges, key="worst", bind=URL)
    off = found[judge].off
    return sorted(range(len(pairs)), key=lambda at: -abs(off[at] or 0.0))


def table(pairs: Sequence[Pair], found: Found) -> list[dict[str, Any]]:
    """A row a pair, as it is shown and downloaded."""
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


def _listed(rows: Sequence[dict[str, Any]], order: Sequence[int], found: Found) -> None:
    scored = any(row["score"] is not None for row in rows)
    columns: dict[str, Any] = {} if scored else {"score": None}
    columns |= {side: st.column_config.TextColumn(side, width="medium") for side in ("sentence1", "sentence2")}
    whose = [f"{what} {name}" for what in ("off", "cosine", "strength") for name in found]
    for name in found:
        label = encoder_picker.short(name)
        columns[f"cosine {name}"] = st.column_config.NumberColumn(f"cosine · {label}", format="%.3f")
        without = all(row[f"strength {name}"] is None for row in rows)
        columns[f"strength {name}"] = None if without else st.column_config.NumberColumn(
            f"strength · {label}", format="%.2f"
        )  # fmt: skip
        columns[f"off {name}"] = None if not scored else st.column_config.NumberColumn(
            f"ranks off · {label}", format="%+.0f %%",
            help="How much higher (+) or lower (−) the encoder ranks the pair than people do, in percent of all ranks.",
        )  # fmt: skip

    def chosen() -> None:
        at = st.session_state["listed"]["selection"]["rows"]
        if at:
            st.session_state["pair"] = order[at[0]] + 1

    st.caption("Click the left edge of a row to look at the pair below.")
    st.dataframe(
        [rows[at] for at in order], column_config=columns, hide_index=True, height=min(420, 40 + 35 * len(rows)),
        column_order=["pair", "sentence1", "sentence2", "score", *whose], key="listed",
        on_select=chosen, selection_mode="single-row",
    )  # fmt: skip


def _downloads(rows: Sequence[dict[str, Any]], found: Found) -> None:
    """Both files are written when they are asked for: 20,000 pairs take a while."""
    row = st.container(horizontal=True, vertical_alignment="center")
    row.download_button("JSON", lambda: _json(rows, found), "pairs.json", "application/json", on_click="ignore")
    row.download_button("CSV", lambda: csv_export.table(rows, list(rows[0])), "pairs.csv", "text/csv",
                        on_click="ignore")  # fmt: skip


def _json(rows: Sequence[dict[str, Any]], found: Found) -> str:
    whole = {name: {"spearman": one.spearman, "pearson": one.pearson} for name, one in found.items()}
    return json.dumps({"schema": 1, "models": whole, "pairs": rows}, ensure_ascii=False, indent=1)
