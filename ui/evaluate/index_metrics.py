"""Measurements of an index: each function returns a run, with a row of figures for each mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from semsearch import Index, Progress, Query, Results, SemsearchError
from semsearch.evaluation import (
    JudgedQuestions,
    evaluate_search,
    latency,
    own_sentences,
    read_qrels,
    read_queries,
    search_known_items,
)
from semsearch.types import JsonObject, Mode

from ..shared import runs
from ..shared.work.jobs import Report
from .judged_results import digest

MODES: tuple[Mode, ...] = ("hybrid", "semantic", "keyword")
DEEP, SHALLOW = 100, 10
Grades = dict[str, dict[str, int]]
Qrels = Mapping[str, Mapping[str, int]]


def labelled(name: str, content: bytes, judged_name: str, judged: bytes) -> tuple[dict[str, str], Grades]:
    """Queries and judgements of two files. Raises SemsearchError that names the file and, where it is one, the line."""
    texts = dict(read_queries(_lines(name, content), name))
    for id_, text in texts.items():
        if not text:
            raise SemsearchError(f"{name}: query {id_!r} has no text.", "Write id<TAB>text.")
    grades = read_qrels(_lines(judged_name, judged), judged_name)
    if absent := [query for query in grades if query not in texts]:
        many = f"{len(absent)} of {len(grades)} judged queries are not in {name}, the first is {absent[0]!r}."
        raise SemsearchError(f"{judged_name}: {many}", "Upload files that belong together.")
    return texts, grades


def decoded(name: str, content: bytes) -> str:
    """The text of a file. Raises SemsearchError that names the file and the line."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise SemsearchError(f"{name}:{line}: not UTF-8.", "Save it as UTF-8.") from None


def _lines(name: str, content: bytes) -> list[tuple[int, str]]:
    text = decoded(name, content)
    return [(number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), 1)]


def on_queries(texts: Mapping[str, str], grades: Grades, index: Index, report: Report) -> JsonObject:
    """nDCG@10, recall@100, MRR@10 and MAP@100 of every mode, as `semsearch eval -n` gives them, and latency."""
    first: list[str] = []

    def find(query: Query) -> Results:
        hits = index.search(query)
        first[:] = first or [hit.document for hit in hits][:1]
        return hits

    rows, details = _by_mode(find, texts, grades, DEEP, report)
    settings = {"k": DEEP, "sha256": runs.digest([*sorted(texts.items()), *sorted(grades.items())])}
    run = _run(index, "queries", settings, rows, **details)
    return run if any(row[f"recall@{DEEP}"] for row in rows) else run | {"warnings": [_nothing_found(grades, first)]}


def on_judged(source: str, questions: JudgedQuestions, index: Index, report: Report) -> JsonObject:
    """nDCG@10, recall@10, MRR@10 and latency of every mode on the hits that were judged in the index `source`."""
    rows, details = _by_mode(index.search, questions.queries, questions.qrels, SHALLOW, report)
    for row in rows:
        del row[f"MAP@{SHALLOW}"]
    settings = {"judged in": source, "k": SHALLOW, "sha256": digest(questions)}
    return _run(index, "judged hits", settings, rows, **details)


def _by_mode(
    find: Callable[[Query], Results], texts: Mapping[str, str], grades: Qrels, k: int, report: Report
) -> tuple[list[JsonObject], JsonObject]:
    """The row of figures of every mode, and the figures of every query with its text."""
    rows: list[JsonObject] = []
    per_query = {}
    for at, mode in enumerate(MODES):
        figures = evaluate_search(find, texts, grades, mode, k, _progress(report, at, mode))
        per_query[mode] = figures.pop("per_query")
        rows.append({"mode": mode, **figures})
    return rows, {"per_query": per_query, "queries": {query: texts[query] for query in grades}}


def _nothing_found(grades: Grades, first: Sequence[str]) -> str:
    """A likely reason why no query found a document that was judged relevant."""
    judged = next((name for of in grades.values() for name in of), "")
    ids = "".join(f" A document of the index has the id {each!r}, one of the judgements {judged!r}." for each in first)
    return f"No query found a document that was judged relevant.{ids}"


def on_itself(source: Path, sample: int, seed: int, index: Index, report: Report) -> JsonObject:
    """recall@1 and recall@10 of every mode: a sentence of the index `source` must find a passage that contains it."""
    with Index.open(source) as drawn_from:
        drawn = own_sentences(source.name, drawn_from.analysis.texts(), sample, seed)
    rows, missed = [], {}
    for at, mode in enumerate(MODES):
        result = search_known_items(index.search, drawn, mode, SHALLOW, _progress(report, at, mode))
        shares = {f"recall@{k}": result.recall(k) for k in (1, SHALLOW)}
        rows.append({"mode": mode, "queries": len(drawn), **shares, **latency(result.ms)})
        missed[mode] = result.missed
    settings = {"sample": sample, "seed": seed, "k": SHALLOW, "sha256": runs.digest(drawn)}
    return _run(index, "without labels", settings, rows, missed=missed)


def _progress(report: Report, at: int, mode: Mode) -> Callable[[int, int], None]:
    """Reports the queries of one mode, the `at`-th, before each of them."""

    def tell(done: int, queries: int) -> None:
        text = f"{mode}: query {done + 1} of {queries}"
        report(Progress(at * queries + done, queries * len(MODES), "queries", text))

    return tell


def _run(index: Index, measure: str, settings: JsonObject, rows: Sequence[JsonObject], **details: object) -> JsonObject:
    info = index.info()
    encoder = info["spaces"][0]["encoder"] if info["spaces"] else {}
    about = {"index": index.name, "fingerprint": encoder.get("fingerprint")}
    counts = {"documents": info["documents"], "passages": info["passages"]}
    name = encoder.get("name", info["recipe"].get("encoder"))
    return runs.new(measure, name, settings, rows, **about, **counts, **details)
