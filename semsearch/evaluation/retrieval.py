"""Retrieval quality: collections in BEIR's layout, and nDCG, recall, MRR and MAP of a search function.

Sources: the layout (`corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv`) is BEIR's, Thakur et al. 2021,
https://arxiv.org/abs/2104.08663. The measures are those of trec_eval, https://github.com/usnistgov/trec_eval, which
BEIR reports: a document without a judgement is not relevant, and a query without a relevant document counts as 0.
A test holds them against ir-measures. Left out: significance tests.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, TypeAlias

from semsearch.errors import NotFound, UsageError
from semsearch.types import Document

Grades: TypeAlias = Mapping[str, int]  # document id -> how relevant; 0 and below is not relevant
Qrels: TypeAlias = Mapping[str, Grades]  # by query id
Search: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[str]]]  # query texts -> document ids each, best first


def read_corpus(folder: Path) -> Iterator[Document]:
    """The documents of `folder/corpus.jsonl`, their title as first paragraph: BEIR searches title and text together."""
    for record in _records(folder / "corpus.jsonl"):
        title = str(record.get("title") or "").strip()
        text = "\n\n".join(part for part in (title, str(record.get("text") or "").strip()) if part)
        yield Document(id=str(record["_id"]), text=text, title=title or None)


def read_queries(folder: Path) -> dict[str, str]:
    """Text by query id, of every split, from `folder/queries.jsonl`."""
    return {str(record["_id"]): str(record["text"]) for record in _records(folder / "queries.jsonl")}


def read_qrels(folder: Path, split: str = "test") -> dict[str, dict[str, int]]:
    """Relevance by query id and document id, from `folder/qrels/<split>.tsv` (a header line, then three columns)."""
    qrels: dict[str, dict[str, int]] = {}
    with _existing(folder / "qrels" / f"{split}.tsv").open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows, None)
        for query, document, grade in (row for row in rows if row):
            qrels.setdefault(query, {})[document] = int(grade)
    return qrels


def evaluate(
    search: Search,
    queries: Mapping[str, str],
    qrels: Qrels,
    k: int = 100,
    *,
    own_document: Literal["keep", "drop"] = "keep",
) -> dict[str, Any]:
    """Means over the judged queries, in 0..1, and `per_query` by id: nDCG@10, recall@k, MRR@10, MAP@k.

    `search` gets all texts at once and gives k document ids each, where there are as many. Queries without a
    judgement are not searched. `own_document="drop"` is BEIR's rule for collections whose queries are documents of
    the corpus (ArguAna, Quora): a hit with the query's own id is no answer. Elsewhere equal ids are a coincidence
    (Cranfield numbers both from 1), so it is not the default. UsageError: a judged query without text, or a
    document named twice in one ranking.
    """
    _check_texts(queries, qrels)
    rankings = search([queries[query] for query in qrels])
    if len(rankings) != len(qrels):
        raise UsageError(f"search answered {len(rankings)} of {len(qrels)} queries.", "Return one ranking a query.")
    per_query: dict[str, dict[str, float]] = {}
    for (query, grades), ranking in zip(qrels.items(), rankings, strict=True):
        kept = [document for document in ranking if own_document == "keep" or document != query]
        if len(set(kept)) < len(kept):
            raise UsageError(f"the ranking of query {query!r} names a document twice.", "Group the hits by document.")
        per_query[query] = {
            "nDCG@10": ndcg(kept, grades, 10),
            f"recall@{k}": recall(kept, grades, k),
            "MRR@10": reciprocal_rank(kept, grades, 10),
            f"MAP@{k}": average_precision(kept, grades, k),
        }
    names = next(iter(per_query.values()), {})
    means = {name: fmean(values[name] for values in per_query.values()) for name in names}
    return {"queries": len(per_query), **means, "per_query": per_query}


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
    """1 / rank of the first relevant document within the first k ranks, else 0 (MS MARCO's MRR@k)."""
    relevant = _relevant(grades)
    return next((1 / rank for rank, document in enumerate(ranking[:k], 1) if document in relevant), 0.0)


def average_precision(ranking: Sequence[str], grades: Grades, k: int = 100) -> float:
    """Sum of the precision at the rank of each relevant document within k, over all relevant ones.

    trec_eval: map_cut_k. A relevant document that was not found adds 0.
    """
    relevant = _relevant(grades)
    ranks = [rank for rank, document in enumerate(ranking[:k], 1) if document in relevant]
    return sum(found / rank for found, rank in enumerate(ranks, 1)) / len(relevant) if relevant else 0.0


def _check_texts(queries: Mapping[str, str], qrels: Qrels) -> None:
    absent = [query for query in qrels if query not in queries]
    if absent:
        first = f"{len(absent)} judged queries have no text, the first is {absent[0]!r}."
        raise UsageError(first, "Use the queries that belong to these qrels.")


def _dcg(grades: Sequence[int]) -> float:
    return sum(max(grade, 0) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def _relevant(grades: Grades) -> set[str]:
    return {document for document, grade in grades.items() if grade > 0}


def _existing(file: Path) -> Path:
    if not file.is_file():
        raise NotFound(f"{file} does not exist.", "BEIR's layout is corpus.jsonl, queries.jsonl and qrels/<split>.tsv.")
    return file


def _records(file: Path) -> Iterator[dict[str, Any]]:
    with _existing(file).open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())
