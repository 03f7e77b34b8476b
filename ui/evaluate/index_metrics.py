"""Measurements of an index: each function returns a run, with a row of figures for each mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from semsearch import Index, Progress, Query, Results, SemsearchError
from semsearch.evaluation import (
    evaluate,
    index_geometry,
    latency,
    own_sentences,
    read_qrels,
    read_queries,
    search_known_items,
)
from semsearch.types import JsonObject, Mode

from ..shared import runs
from ..shared.jobs import Report
from .encoder_metrics import figures

MODES: tuple[Mode, ...] = ("hybrid", "semantic", "keyword")
DEEP, SHALLOW = 100, 10
EXACT = "Searched exactly: every stored vector is compared, so there is no recall to measure."
Grades = dict[str, dict[str, int]]


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


def _lines(name: str, content: bytes) -> list[tuple[int, str]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise SemsearchError(f"{name}:{line}: not UTF-8.", "Save it as UTF-8.") from None
    return [(number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), 1)]


def on_queries(texts: Mapping[str, str], grades: Grades, index: Index, report: Report) -> JsonObject:
    """nDCG@10, recall@100, MRR@10 and MAP@100 of every mode, as `semsearch eval -n` gives them, and latency."""
    rows: list[JsonObject] = []
    per_query, queries = {}, {query: texts[query] for query in grades}
    for mode, answers, times in _answers(index, list(queries.values()), report):
        found = _graded(answers, texts, grades)
        per_query[mode] = found.pop("per_query")
        rows.append({"mode": mode, **found, **times})
    settings = {"k": DEEP, "sha256": runs.digest([*sorted(texts.items()), *sorted(grades.items())])}
    run = _run(index, "queries", settings, rows, per_query=per_query, queries=queries)
    return run if any(row[f"recall@{DEEP}"] for row in rows) else run | {"warnings": [_nothing_found(grades, answers)]}


def _graded(answers: Sequence[Results], texts: Mapping[str, str], grades: Grades) -> JsonObject:
    rankings = [[name for hit in results for name in (hit.document, *hit.near_copies)] for results in answers]
    return evaluate(lambda _: rankings, texts, grades, DEEP)


def _nothing_found(grades: Grades, answers: Sequence[Results]) -> str:
    """A likely reason why no query found a document that was judged relevant."""
    judged = next((name for of in grades.values() for name in of), "")
    found = next((hit.document for hits in answers for hit in hits), "")
    ids = f" A document of the index has the id {found!r}, one of the judgements {judged!r}."
    return "No query found a document that was judged relevant." + (ids if found and judged else "")


def on_itself(source: Path, sample: int, seed: int, index: Index, report: Report) -> JsonObject:
    """recall@1 and recall@10 of every mode: a sentence of the index `source` must find a passage that contains it."""
    with Index.open(source) as drawn_from:
        drawn = own_sentences(source.name, drawn_from.texts(), sample, seed)
    rows, missed = [], {}
    for at, mode in enumerate(MODES):
        found = search_known_items(index.search, drawn, mode, SHALLOW, _progress(report, at, mode))
        shares = {f"recall@{k}": found.recall(k) for k in (1, SHALLOW)}
        rows.append({"mode": mode, "queries": len(drawn), **shares, **latency(found.ms)})
        missed[mode] = found.missed
    settings = {"sample": sample, "seed": seed, "k": SHALLOW, "sha256": runs.digest(drawn)}
    return _run(index, "without labels", settings, rows, missed=missed)


def of_vectors(index: Index, sample: int) -> JsonObject:
    """Recall and latency of the vector index against exact search, as in `semsearch audit`."""
    found = index.audit(sample=sample, k=SHALLOW)
    row = {
        "mode": "semantic",
        "queries": found["queries"],
        "recall of exact": found["recall"],
        "recall, filtered": found["recall_filtered"],
        "ms": found["ms"],
        "ms, exact": found["ms_exact"],
    }
    run = _run(index, "vector index", {"sample": sample, "k": SHALLOW}, [row], audit=found)
    return run | {"warnings": [EXACT]} if found["exact"] else run


def of_space(index: Index, sample: int) -> JsonObject:
    """Geometry of the stored vectors, as in `semsearch eval geometry -n`."""
    found = index_geometry(index, sample)
    settings = {"sample": sample, "vectors": found.vectors, "total": found.total}
    return _run(index, "geometry", settings, [{"vectors": found.vectors, **figures(found)}])


def _answers(
    index: Index, texts: Sequence[str], report: Report
) -> Iterator[tuple[Mode, list[Results], dict[str, float]]]:
    """For every mode the documents found for every text, and the latency, after a warm-up."""
    for at, mode in enumerate(MODES):
        index.search(Query(texts[0], mode=mode, k=DEEP, group="document"))
        answers, progress = [], _progress(report, at, mode)
        for number, text in enumerate(texts):
            progress(number, len(texts))
            answers.append(index.search(Query(text, mode=mode, k=DEEP, group="document")))
        yield mode, answers, latency([sum(each.took_ms.values()) for each in answers])


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
