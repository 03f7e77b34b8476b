"""Retrieval quality: collections in BEIR's layout, and nDCG, recall, MRR and MAP of a search function.

Sources: the layout (`corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv`) is BEIR's, Thakur et al. 2021,
https://arxiv.org/abs/2104.08663. The measures are those of trec_eval, https://github.com/usnistgov/trec_eval, which
BEIR reports: an unjudged document counts as not relevant, and a query without a relevant document scores 0. A test
compares them with ir-measures. Whether a difference may be chance: `significance`.

Where many hits are unjudged, as in a test set that was made by marking the hits of one search, the figures of another
search say little: judged@k is the share that was judged (the Judged measure of ir-measures).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Literal, TypeAlias

from semsearch.errors import NotFound, UsageError
from semsearch.evaluation import judged_queries
from semsearch.types import Document, Hit, JsonObject, Mode, Query, Results

Grades: TypeAlias = Mapping[str, int]  # document id -> how relevant; 0 and below is not relevant
Qrels: TypeAlias = Mapping[str, Grades]  # by query id
Search: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[str]]]  # query texts -> document ids each, best first


def evaluate_search(
    find: Callable[[Query], Results],
    queries: Mapping[str, str],
    qrels: Qrels,
    mode: Mode,
    k: int = 10,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> JsonObject:
    """The means and `per_query` of `evaluate` for `find`, such as Index.search, in one mode, and three figures more.

    `judged@10` is the share of the first ten hits that have a judgement, also `per_query`; `ms` and `ms, 95 %` are
    median and 95th percentile of the milliseconds. `progress(done, total)` is called before each query. The first
    search is repeated, so that loading the encoder is not part of the times. Raises UsageError as `evaluate` does.
    """
    answers: list[Results] = []

    def recorded(query: Query) -> Results:
        progress(len(answers), len(qrels))
        answers.append(find(query) if answers else [find(query) for _ in range(2)][-1])
        return answers[-1]

    scores = evaluate(ranked(recorded, mode, k), queries, qrels, k)
    for (query, grades), hits in zip(qrels.items(), answers, strict=True):
        named = [next((name for name in (hit.document, *hit.near_copies) if name in grades), "") for hit in hits]
        scores["per_query"][query]["judged@10"] = judged_share(named, grades)
    shares = [each["judged@10"] for each in scores["per_query"].values()]
    times = latency([sum(hits.took_ms.values()) for hits in answers]) if answers else {}
    return scores | {"judged@10": fmean(shares) if shares else 0.0, **times}


@dataclass(frozen=True, slots=True)
class Collection:
    """Judged queries over the documents of a folder in BEIR's layout. `queries` are those of every split."""

    name: str
    folder: Path
    split: str
    queries: Mapping[str, str]
    qrels: Qrels

    @classmethod
    def read(cls, folder: Path, split: str = "test") -> Collection:
        """The queries and judgements of `folder`, or of `folder/beir`. Raises NotFound, UsageError."""
        root = next((root for root in (folder, folder / "beir") if (root / "corpus.jsonl").is_file()), folder)
        _existing(root / "corpus.jsonl")
        name = root.resolve().parent.name if root.name == "beir" else root.resolve().name
        return cls(name, root, split, beir_queries(root), beir_qrels(root, split))

    def documents(self) -> Iterator[Document]:
        """The documents that have text."""
        return (document for document in beir_corpus(self.folder) if document.text)

    @property
    def files(self) -> list[Path]:
        """The files of the collection."""
        return [self.folder / name for name in ("corpus.jsonl", "queries.jsonl", f"qrels/{self.split}.tsv")]


def beir_corpus(folder: Path) -> Iterator[Document]:
    """The documents of `folder/corpus.jsonl`, their title as first paragraph: BEIR searches title and text together."""
    for record in _records(folder / "corpus.jsonl"):
        title = str(record.get("title") or "").strip()
        text = "\n\n".join(part for part in (title, str(record.get("text") or "").strip()) if part)
        yield Document(id=str(record["_id"]), text=text, title=title or None)


def beir_queries(folder: Path) -> dict[str, str]:
    """Text by query id, of every split, from `folder/queries.jsonl`."""
    return {str(record["_id"]): str(record.get("text") or "") for record in _records(folder / "queries.jsonl")}


def beir_qrels(folder: Path, split: str = "test") -> dict[str, dict[str, int]]:
    """Relevance by query id and document id, from `folder/qrels/<split>.tsv`."""
    file = _existing(folder / "qrels" / f"{split}.tsv")
    return judged_queries.read_qrels(_lines(file), file)


def ranked(find: Callable[[Query], Iterable[Hit]], mode: Mode, k: int = 100) -> Search:
    """A search function over `find`, such as Index.search: document ids by rank, near copies right after their hit."""

    def search(texts: Sequence[str]) -> list[list[str]]:
        answers = (find(Query(text, k=k, mode=mode, group="document")) for text in texts)
        return [[name for hit in hits for name in (hit.document, *hit.near_copies)] for hits in answers]

    return search


def evaluate(
    search: Search,
    queries: Mapping[str, str],
    qrels: Qrels,
    k: int = 100,
    *,
    own_document: Literal["keep", "drop"] = "keep",
) -> JsonObject:
    """nDCG@10, recall@k, MRR@10 and MAP@k in 0 … 1: means over the judged queries, and `per_query` by id.

    `search` is called once with the texts of all judged queries and returns up to k document ids for each.
    `own_document="drop"` is BEIR's rule for collections whose queries are documents of the corpus (ArguAna, Quora): a
    hit with the query's own id is ignored. Elsewhere equal ids are a coincidence (Cranfield numbers both from 1), so
    it is not the default. Raises UsageError for a judged query without text, and for a document named twice in one
    ranking.
    """
    check_texts(queries, qrels)
    rankings = search([queries[query] for query in qrels])
    if len(rankings) != len(qrels):
        raise UsageError(f"search answered {len(rankings)} of {len(qrels)} queries.", "Return one ranking per query.")
    per_query: dict[str, dict[str, float]] = {}
    for (query, grades), answer in zip(qrels.items(), rankings, strict=True):
        ranking = [document for document in answer if own_document == "keep" or document != query]
        if len(set(ranking)) < len(ranking):
            raise UsageError(f"the ranking of query {query!r} names a document twice.", "Group the hits by document.")
        per_query[query] = {
            "nDCG@10": ndcg(ranking, grades, 10),
            f"recall@{k}": recall(ranking, grades, k),
            "MRR@10": reciprocal_rank(ranking, grades, 10),
            f"MAP@{k}": average_precision(ranking, grades, k),
        }
    return averaged(per_query)


def averaged(per_query: Mapping[str, Mapping[str, float]]) -> JsonObject:
    """The number of queries, the mean of each measure, and `per_query` itself."""
    names = next(iter(per_query.values()), {})
    means = {name: fmean(values[name] for values in per_query.values()) for name in names}
    return {"queries": len(per_query), **means, "per_query": per_query}


def check_texts(queries: Mapping[str, str], qrels: Qrels) -> None:
    """Raises UsageError for a judged query without text."""
    if missing := [query for query in qrels if not queries.get(query, "").strip()]:
        problem = f"{len(missing)} judged queries have no text; the first is {missing[0]!r}."
        raise UsageError(problem, "Use the queries that belong to these qrels.")


def ndcg(ranking: Sequence[str], grades: Grades, k: int = 10) -> float:
    """DCG over the first k ranks, sum of grade / log2(rank + 1), divided by that of the best possible order.

    Järvelin & Kekäläinen 2002, with the linear gain of trec_eval's ndcg_cut (not 2^grade - 1).
    """
    ideal = _dcg(sorted(grades.values(), reverse=True)[:k])
    return _dcg([grades.get(document, 0) for document in ranking[:k]]) / ideal if ideal else 0.0


def recall(ranking: Sequence[str], grades: Grades, k: int = 100) -> float:
    """Share of the relevant documents among the first k ranks (trec_eval: recall_k)."""
    relevant = _relevant(grades)
    return len(relevant.intersection(ranking[:k])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[str], grades: Grades, k: int = 10) -> float:
    """1 / rank of the first relevant document among the first k, else 0 (MS MARCO's MRR@k)."""
    relevant = _relevant(grades)
    return next((1 / rank for rank, document in enumerate(ranking[:k], 1) if document in relevant), 0.0)


def average_precision(ranking: Sequence[str], grades: Grades, k: int = 100) -> float:
    """Sum of the precision at the rank of each relevant document within k, over all relevant ones (map_cut_k)."""
    relevant = _relevant(grades)
    ranks = [rank for rank, document in enumerate(ranking[:k], 1) if document in relevant]
    return sum(hits / rank for hits, rank in enumerate(ranks, 1)) / len(relevant) if relevant else 0.0


def _dcg(grades: Sequence[int]) -> float:
    return sum(max(grade, 0) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def _relevant(grades: Grades) -> set[str]:
    return {document for document, grade in grades.items() if grade > 0}


def _existing(file: Path) -> Path:
    if file.is_file():
        return file
    splits = ", ".join(sorted(other.stem for other in file.parent.glob("*.tsv"))) if file.suffix == ".tsv" else ""
    layout = "BEIR's layout is corpus.jsonl, queries.jsonl and qrels/<split>.tsv."
    raise NotFound(f"{file} does not exist.", f"Splits that exist: {splits}." if splits else layout)


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    with _existing(file).open(encoding="utf-8-sig") as lines:
        try:
            yield from enumerate((line.rstrip("\r\n") for line in lines), 1)
        except UnicodeDecodeError:
            raise UsageError(f"{file} is not UTF-8.", "Convert it: iconv -t utf-8") from None


def _records(file: Path) -> Iterator[JsonObject]:
    for number, line in _lines(file):
        if line.strip():
            record = judged_queries.json_object(line, file, number)
            if "_id" not in record:
                raise UsageError(f"{file}:{number}: a record needs an `_id`.", 'Write {"_id": "1", "text": "…"}.')
            yield record


def judged_share(ranking: Sequence[str], grades: Grades) -> float:
    """Share of the first ten documents that have a grade of any height; 1 for an empty ranking, which hides nothing.

    >>> judged_share(["bread", "salt"], {"bread": 1})
    0.5
    """
    first = ranking[:10]
    return sum(document in grades for document in first) / len(first) if first else 1.0


def latency(took: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile of the milliseconds of one query or more.

    >>> latency([1.0, 3.0, 2.0])
    {'ms': 2.0, 'ms, 95 %': 2.9}
    >>> latency([0.52] * 3)
    {'ms': 0.52, 'ms, 95 %': 0.52}
    """
    slow = quantiles(took, n=20, method="inclusive")[-1] if len(took) > 1 else took[0]
    return {"ms": round(median(took), 3), "ms, 95 %": round(slow, 3)}
