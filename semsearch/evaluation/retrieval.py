"""Retrieval quality: collections in BEIR's layout, and nDCG, recall, MRR and MAP of a search function.

Sources: the layout (`corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv`) is BEIR's, Thakur et al. 2021,
https://arxiv.org/abs/2104.08663. The measures are those of trec_eval, https://github.com/usnistgov/trec_eval, which
BEIR reports: a document without a judgement is not relevant, and a query without a relevant document counts as 0.
A test holds them against ir-measures. Left out: significance tests.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, TypeAlias

from semsearch.errors import NotFound, UsageError
from semsearch.types import Document, Hit, Mode, Query

HEADS = ("query-id", "query_id", "qid")  # how the first line of a BEIR file of judgements begins

Grades: TypeAlias = Mapping[str, int]  # document id -> how relevant; 0 and below is not relevant
Qrels: TypeAlias = Mapping[str, Grades]  # by query id
Search: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[str]]]  # query texts -> document ids each, best first


@dataclass(frozen=True, slots=True)
class Collection:
    """Judged queries over the documents of a folder in BEIR's layout. `queries` holds the text of every split."""

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
        return cls(name, root, split, read_queries(root), read_qrels(root, split))

    def documents(self) -> Iterator[Document]:
        """Those that have a text."""
        return (document for document in read_corpus(self.folder) if document.text)

    @property
    def files(self) -> list[Path]:
        """What was read."""
        return [self.folder / name for name in ("corpus.jsonl", "queries.jsonl", f"qrels/{self.split}.tsv")]


def read_corpus(folder: Path) -> Iterator[Document]:
    """The documents of `folder/corpus.jsonl`, their title as first paragraph: BEIR searches title and text together."""
    for record in _records(folder / "corpus.jsonl"):
        title = str(record.get("title") or "").strip()
        text = "\n\n".join(part for part in (title, str(record.get("text") or "").strip()) if part)
        yield Document(id=str(record["_id"]), text=text, title=title or None)


def read_queries(folder: Path) -> dict[str, str]:
    """Text by query id, of every split, from `folder/queries.jsonl`."""
    return {str(record["_id"]): str(record.get("text") or "") for record in _records(folder / "queries.jsonl")}


def read_qrels(folder: Path, split: str = "test") -> dict[str, dict[str, int]]:
    """Relevance by query id and document id, from `folder/qrels/<split>.tsv`."""
    file = _existing(folder / "qrels" / f"{split}.tsv")
    return judgements(_lines(file), file)


def judgements(lines: Iterable[tuple[int, str]], file: Path | str) -> dict[str, dict[str, int]]:
    """query id -> document id -> grade, out of numbered lines: TREC (`qid 0 docid grade`), or BEIR's three columns.

    Columns are parted by tabs, so that ids may hold blanks, or else by blanks. UsageError names `file` and line.
    """
    found: dict[str, dict[str, int]] = {}
    for number, line in lines:
        cells = line.split("\t") if line.count("\t") == 2 else line.split()
        if not cells or (number == 1 and cells[0] in HEADS):
            continue
        if len(cells) == 4:
            del cells[1]
        if len(cells) != 3 or re.fullmatch(r"-?[0-9]+", cells[2].strip()) is None:
            raise UsageError(f"{file}:{number}: not a judgement.", "Write `query 0 document grade`.")
        found.setdefault(cells[0], {})[cells[1]] = int(cells[2])
    if not found:
        raise UsageError(f"{file} holds no judgement.", "Write `query 0 document grade` a line.")
    return found


def ranked(find: Callable[[Query], Iterable[Hit]], mode: Mode, k: int = 100) -> Search:
    """Documents by rank for each text, as `find` gives them; copies folded into a hit stand right behind it."""

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
    absent = [query for query in qrels if not queries.get(query, "").strip()]
    if absent:
        first = f"{len(absent)} judged queries have no text, the first is {absent[0]!r}."
        raise UsageError(first, "Use the queries that belong to these qrels.")


def _dcg(grades: Sequence[int]) -> float:
    return sum(max(grade, 0) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def _relevant(grades: Grades) -> set[str]:
    return {document for document, grade in grades.items() if grade > 0}


def _existing(file: Path) -> Path:
    if file.is_file():
        return file
    there = ", ".join(sorted(other.stem for other in file.parent.glob("*.tsv"))) if file.suffix == ".tsv" else ""
    layout = "BEIR's layout is corpus.jsonl, queries.jsonl and qrels/<split>.tsv."
    raise NotFound(f"{file} does not exist.", f"Splits that are there: {there}." if there else layout)


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    with _existing(file).open(encoding="utf-8-sig") as lines:
        try:
            yield from enumerate((line.rstrip("\r\n") for line in lines), 1)
        except UnicodeDecodeError:
            raise UsageError(f"{file} is not UTF-8.", "Convert it: iconv -t utf-8") from None


def _records(file: Path) -> Iterator[dict[str, Any]]:
    for number, line in _lines(file):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{file}:{number}: broken JSON: {error}.", "Write one object a line.") from None
        if not isinstance(record, dict) or "_id" not in record:
            raise UsageError(f"{file}:{number}: a record needs an `_id`.", 'Write {"_id": "1", "text": "…"}.')
        yield record
