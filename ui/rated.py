"""Pairs of sentences, pasted or uploaded: cosine and strength by every encoder, held against scores of people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from . import charts, encoders, groups, held, measured, onepair, pairs, spreadsheet
from .measured import Scored
from .pairs import Pair

ACROSS = 2
DRAWN = 2_000  # points of one chart
URL: Any = "query-params"
EXAMPLE = """sentence1,sentence2,score
A plane is taking off.,An air plane is taking off.,5
A man is playing a large flute.,A man is playing a flute.,3.8"""
Found = Mapping[str, Scored]


def show(names: Sequence[str]) -> None:
    """Where pairs are given, and what is found under it."""
    given: list[Pair] = []
    with held.told():
        given = _given()
        if not given:
            st.info("Paste pairs, or upload a file of them.", icon=":material/info:")
    if not given:
        return
    chosen = encoders.loaded(names)
    found = dict(encoders.each(chosen, lambda encoder: measured.scored(encoder, given)))
    if not found:
        return
    if any(pair.gold is not None for pair in given):
        _against_gold(given, found)
    rows = table(given, found)
    order = _order(given, found)
    _listed(rows, order, found)
    _downloads([rows[at] for at in order], found)
    st.subheader("One pair")
    pair = given[onepair.number(st, "Pair", "pair", len(order), order[0] + 1) - 1]
    if pair.gold is not None:
        st.caption(f"gold score {pair.gold:g}")
    onepair.show(chosen, pair.first, pair.second)


def _given() -> list[Pair]:
    """The pairs of the file, or else of the box."""
    left, right = st.columns([3, 2])
    text = left.text_area(
        "Pairs, one a line", key="pairs", height=168, placeholder=EXAMPLE,
        help="CSV, tab-separated or JSON lines: sentence1, sentence2 and, if people gave one, a score. "
        "A heading is optional. Ctrl+Enter compares them.",
    )  # fmt: skip
    file = right.file_uploader("… or a file", type=["csv", "tsv", "txt", "jsonl", "ndjson"], key="file")
    right.caption("A file goes before what is in the box. It is read here and stored nowhere.")
    return pairs.read(pairs.decoded(file.getvalue()) if file is not None else text or "")


def _against_gold(given: Sequence[Pair], found: Found) -> None:
    known = [at for at, pair in enumerate(given) if pair.gold is not None]
    st.subheader("Against the scores of people")
    rows = [{"encoder": name, "spearman": one.spearman, "pearson": one.pearson} for name, one in found.items()]
    percent = {name: st.column_config.NumberColumn(f"{name.capitalize()}, %", format="%.2f") for name in MEASURES}
    st.dataframe(rows, column_config=percent, hide_index=True)
    without = len(given) - len(known)
    st.caption(
        f"{len(known):,} pairs with a score" + (f"; {without:,} without one are left out here." if without else ".")
    )
    if any(row["spearman"] is None for row in rows):
        st.caption("A correlation needs two pairs or more, and scores and cosines that are not all the same.")
    if len(known) < 2:
        return
    shown = known[:: -(-len(known) // DRAWN)]
    if len(shown) < len(known):
        st.caption(f"The charts draw {len(shown):,} of these pairs, evenly chosen; boxes and numbers come from all.")
    for name, one in found.items():
        for place, chart in zip(st.columns(ACROSS), _drawn(name, one, given, known, shown), strict=True):
            place.altair_chart(chart)


MEASURES = ("spearman", "pearson")


def _drawn(name: str, one: Scored, given: Sequence[Pair], known: Sequence[int], shown: Sequence[int]) -> Sequence[Any]:
    """The scatter, and the distribution of predictions by gold score."""
    points = [
        {"number": at + 1, "first": given[at].first, "second": given[at].second, "gold": given[at].gold,
         "cosine": round(one.cosines[at], 4)}
        for at in shown
    ]  # fmt: skip
    cosines, gold = [one.cosines[at] for at in known], [given[at].gold or 0.0 for at in known]
    predictions = groups.stretched(cosines)
    where = dict(zip(known, predictions, strict=True))
    dots = [{"gold": given[at].gold, "stretched": round(where[at], 4)} for at in shown]
    told = f"predictions by gold score: cosines of {min(cosines):.2f} … {max(cosines):.2f} drawn as 0 … 1"
    title = encoders.short(name)
    boxes = groups.boxes(gold, predictions)
    return (charts.scatter(points, title), charts.by_gold(dots, boxes, title, told))


def _order(given: Sequence[Pair], found: Found) -> list[int]:
    """The pairs as they are listed: the worst disagreements with people first, or as they were given."""
    st.subheader("Pairs")
    judges = [name for name, one in found.items() if any(off is not None for off in one.off)]
    if not judges:
        return list(range(len(given)))
    judge = judges[0]
    if len(judges) > 1:
        judge = st.selectbox("Worst disagreements first, of", judges, key="worst", bind=URL)
    off = found[judge].off
    return sorted(range(len(given)), key=lambda at: -abs(off[at] or 0.0))


def table(given: Sequence[Pair], found: Found) -> list[dict[str, Any]]:
    """A row a pair, as it is shown and downloaded."""
    rows = []
    for at, pair in enumerate(given):
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
        label = encoders.short(name)
        columns[f"cosine {name}"] = st.column_config.NumberColumn(f"cosine · {label}", format="%.3f")
        columns[f"strength {name}"] = st.column_config.NumberColumn(f"strength · {label}", format="%.2f")
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
    whole = {name: {"spearman": one.spearman, "pearson": one.pearson} for name, one in found.items()}
    said = json.dumps({"schema": 1, "models": whole, "pairs": rows}, ensure_ascii=False, indent=1)
    row = st.container(horizontal=True, vertical_alignment="center")
    row.download_button("JSON", said, "pairs.json", "application/json")
    row.download_button("CSV", spreadsheet.table(rows, list(rows[0])), "pairs.csv", "text/csv")
