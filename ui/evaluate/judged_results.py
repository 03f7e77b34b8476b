"""The result of judged hits in plain words: every figure with a sentence, and which of two searches is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import stdev

import streamlit as st

from semsearch.evaluation import JudgedQuestions, Judgements, SearchComparison, compare_searches
from semsearch.types import JsonObject
from semsearch.utils.quantities import count

from ..shared import index_picker, messages, navigation, runs, tables
from ..shared.messages import plain

MEASURE = "judged hits"
BY = "nDCG@10"  # the figure by which searches are compared
TEST = (
    "p is how often chance alone would make a difference as large, by a paired randomisation test (Smucker et al. "
    "2007), corrected for the number of comparisons (Holm 1979). A difference counts below 0.05."
)
CHOSEN = "weak question"
TIME, UNJUDGED = "ms, of half and of 95 %", "unjudged"
SAYS = {
    "nDCG@10": "How close the order of the first ten hits is to the best one; 1 is perfect.",
    "recall@10": "The share of the documents that help that is among the first ten hits.",
    "MRR@10": "How early the first hit that helps comes: 1 is always first, 0.5 always second.",
    TIME: "Half of the searches are done by the first, 95 of 100 by the second.",
    UNJUDGED: "The share of the first ten hits without a mark, which counts as not helpful: mark more to be sure.",
}


def show(names: Sequence[str]) -> None:
    """The newest runs of these indexes, in words."""
    newest = runs.newest_first(MEASURE)
    latest: dict[str, JsonObject] = {}
    for run in newest.values():
        if (index := str(run.get("index"))) in names and _is_whole(run):
            latest.setdefault(index, run)
    latest = {name: latest[name] for name in names if name in latest}
    if not latest:
        return
    st.header("How good it is")
    for name, run in latest.items():
        _figures(name, run)
        if run["settings"].get("sha256") != digest(Judgements(names[0]).test_set()):
            st.caption("The marks have changed since then: measure again.")
    st.header("Which is better")
    for name, run in latest.items():
        _compared({row["mode"]: _scores(run, row["mode"]) for row in run["rows"]}, name if len(latest) > 1 else "")
    _indexes(latest)
    st.caption(TEST)
    for name, run in latest.items():
        _weakest(name, run)


def digest(questions: JudgedQuestions) -> str:
    """A digest of judged questions, by which a run is told from one of another test set."""
    return runs.digest(sorted((text, sorted(questions.qrels[id_].items())) for id_, text in questions.queries.items()))


def _figures(name: str, run: JsonObject) -> None:
    """The modes by the figures, the best of each marked, with what each figure says."""
    messages.caption(f"{name} · {run.get('encoder')} · measured {runs.finished_at(run)} UTC")
    rows = [figures(row, list(run["per_query"][row["mode"]].values())) for row in run["rows"]]
    best = {what: max(row[what] for row in run["rows"]) for what in SAYS if what not in (TIME, UNJUDGED)}
    for row, plain_row in zip(rows, run["rows"], strict=True):
        row |= {what: f"{row[what]} ★" for what, most in best.items() if plain_row[what] == most}
    columns = {what: st.column_config.TextColumn(what, help=says, alignment="right") for what, says in SAYS.items()}
    tables.show(rows, columns, width="content")
    st.caption("★ is the best of its column; ± is half of the interval in which 95 of 100 such tests would find it.")


def figures(row: JsonObject, per_query: Sequence[Mapping[str, float]]) -> JsonObject:
    """A row of the table: each figure with half of its 95 % interval, by the deviation of its questions.

    >>> row = {"mode": "hybrid", "nDCG@10": 0.5, "recall@10": 0.75, "MRR@10": 1.0, "judged@10": 0.25, "ms": 3.0}
    >>> figures(row | {"ms, 95 %": 9.5}, [{"nDCG@10": 0.4}, {"nDCG@10": 0.6}])["nDCG@10"]
    '0.50 ± 0.20'
    """
    made: JsonObject = {"mode": row["mode"]}
    for what in ("nDCG@10", "recall@10", "MRR@10"):
        values = [each[what] for each in per_query if what in each]
        spread = 1.96 * stdev(values) / len(values) ** 0.5 if len(values) > 1 else None
        made[what] = f"{row[what]:.2f}" + ("" if spread is None else f" ± {spread:.2f}")
    return made | {TIME: f"{row['ms']:.0f}, {row['ms, 95 %']:.0f}", UNJUDGED: f"{100 * (1 - row['judged@10']):.0f} %"}


def _compared(scores: Mapping[str, Sequence[float]], where: str) -> None:
    if where:
        messages.caption(f"The modes in {where}:")
    for one in compare_searches(scores):
        st.markdown(f"{_sign(one)} **{plain(in_words(one))}** · {plain(_evidence(one))}")


def _indexes(latest: Mapping[str, JsonObject]) -> None:
    """The indexes against each other, where they were asked the same questions."""
    same = {
        name: run
        for name, run in latest.items()
        if run["settings"].get("sha256") == next(iter(latest.values()))["settings"].get("sha256")
    }
    if len(same) > 1:
        messages.caption("The indexes, each with its encoder, in hybrid mode:")
        _compared({name: _scores(run, "hybrid") for name, run in same.items()}, "")


def in_words(one: SearchComparison) -> str:
    """Which of two searches is better, or why that cannot be said."""
    if one.verdict == "better":
        return f"{one.first} is better than {one.second}"
    if one.verdict == "worse":
        return f"{one.second} is better than {one.first}"
    return f"{one.first} and {one.second}: {_doubt(one)}"


def _doubt(one: SearchComparison) -> str:
    differing = one.difference.better + one.difference.worse
    if one.verdict == "too few":
        return "too few questions differ to tell" if differing else "the same for every question"
    return "the difference may be chance"


def _evidence(one: SearchComparison) -> str:
    counts = one.difference
    mean, better, worse = counts.mean, counts.better, counts.worse
    if one.verdict == "worse":  # told from the side of the better one
        mean, better, worse = -mean, worse, better
    queries = f"better for {count(better, 'question')}, worse for {worse:,}, the same for {counts.same:,}"
    return f"{BY} {mean:+.3f}; {queries}; p = {one.p:.3f}"


def _sign(one: SearchComparison) -> str:
    return ":material/trophy:" if one.verdict in ("better", "worse") else ":material/balance:"


def _weakest(name: str, run: JsonObject) -> None:
    """The questions by their figures, the weakest first: where the search fails, or hits are unjudged."""
    modes = [row["mode"] for row in run["rows"]]
    rows: list[JsonObject] = [
        {"question": text}
        | {f"{BY}, {mode}": run["per_query"][mode][query][BY] for mode in modes}
        | {"unjudged": 1 - min(run["per_query"][mode][query]["judged@10"] for mode in modes)}
        for query, text in run["queries"].items()
    ]
    rows.sort(key=lambda row: min(row[f"{BY}, {mode}"] for mode in modes))
    columns = {f"{BY}, {mode}": st.column_config.NumberColumn(format="%.2f") for mode in modes}
    columns["unjudged"] = st.column_config.NumberColumn(
        "unjudged, at most", format="percent", help="Of the first ten hits, in any mode."
    )

    def choose(ticked: list[int]) -> None:
        st.session_state[CHOSEN] = rows[ticked[0]]["question"]

    with st.expander(f"The questions one by one, in {plain(name)}"):
        st.caption("The weakest first. Tick one to search for it, and to mark the hits that have no mark yet.")
        tables.select(rows, {"question": tables.MEDIUM, **columns}, f"questions of {name}", choose)
        chosen = st.session_state.get(CHOSEN)
        if chosen in run["queries"].values():
            navigation.link("", {index_picker.KEY: name, "q": str(chosen)}, label="Search for it", icon="search")


def _scores(run: JsonObject, mode: str) -> list[float]:
    """The figure of every question, in the order of their texts."""
    by_text = {text: run["per_query"][mode][query][BY] for query, text in run["queries"].items()}
    return [by_text[text] for text in sorted(by_text)]


def _is_whole(run: JsonObject) -> bool:
    """Whether a file has what this page wrote into it."""
    queries, per_query = run.get("queries"), run.get("per_query")
    return (
        isinstance(queries, dict)
        and isinstance(per_query, dict)
        and all(
            set(per_query.get(row.get("mode"), ())) >= set(queries) and "judged@10" in row and "ms" in row
            for row in run["rows"]
        )
    )
