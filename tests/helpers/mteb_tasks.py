"""Tasks of MTEB on local data. Imported by the tests that run them alone: MTEB takes seconds to load."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import mteb
from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTaskRetrieval, AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata

from semsearch import Document
from semsearch.evaluation import retrieval
from semsearch.evaluation.sts_benchmarks import sts_pairs
from semsearch.integrations.mteb import SemsearchModel

DATA = Path(os.environ["SEMSEARCH_DATA"])
FEW = 40  # documents beside the relevant ones; SEMSEARCH_MTEB_ALL=1 takes all of them, and all pairs and queries
ALL = bool(os.environ.get("SEMSEARCH_MTEB_ALL"))


def described(name: str, kind: str, score: str) -> TaskMetadata:
    facts: dict[str, Any] = dict.fromkeys(("date", "domains", "task_subtypes", "license", "annotations_creators"))
    facts |= dict.fromkeys(("dialect", "sample_creation", "bibtex_citation", "reference"))
    return TaskMetadata(
        name=name,
        description="Local data.",
        dataset={"path": "local/data", "revision": "1"},
        type=kind,
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score=score,
        **facts,
    )


class LocalSts(AbsTaskSTS):
    metadata = described("LocalSTSBenchmark", "STS", "cosine_spearman")
    min_score, max_score = 0, 5

    def load_data(self, *_: Any, **__: Any) -> None:
        pairs, gold = some_pairs()
        columns = {"sentence1": [a for a, _ in pairs], "sentence2": [b for _, b in pairs], "score": gold}
        self.dataset = DatasetDict({"test": Dataset.from_dict(columns)})
        self.data_loaded = True


class LocalRetrieval(AbsTaskRetrieval):
    metadata = described("LocalSciFact", "Retrieval", "ndcg_at_10")

    def load_data(self, *_: Any, **__: Any) -> None:
        queries, qrels, documents = scifact()
        asked = {name: queries[name] for name in qrels}
        self.queries = {"test": asked}
        self.corpus = {"test": {one.id: {"title": "", "text": one.text} for one in documents}}
        self.relevant_docs = {"test": qrels}
        self.data_loaded = True


def some_pairs() -> tuple[list[tuple[str, str]], list[float]]:
    (found,) = sts_pairs("stsb").values()
    most = None if ALL else 5 * FEW
    return list(found.pairs)[:most], list(found.gold)[:most]


def scifact() -> tuple[dict[str, str], dict[str, dict[str, int]], list[Document]]:
    """Queries, judgements and documents: of ten queries, with some documents that answer none of them."""
    collection = retrieval.Collection.read(DATA / "scifact")
    documents, qrels = list(collection.documents()), dict(collection.qrels)
    if not ALL:
        qrels = dict(list(qrels.items())[:10])
        wanted = {name for grades in qrels.values() for name in grades}
        documents = [one for at, one in enumerate(documents) if one.id in wanted or at < FEW]
    return dict(collection.queries), qrels, documents


def scores(model: SemsearchModel, task: Any) -> dict[str, Any]:
    found = mteb.evaluate(model, task, cache=None, show_progress_bar=False, co2_tracker=False)
    (result,) = found.task_results
    (values,) = result.scores["test"]
    return dict(values)
