"""MTEB gives an encoder the figures that semsearch gives it, on real data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

if not os.environ.get("SEMSEARCH_DATA"):
    pytest.skip("SEMSEARCH_DATA is not set", allow_module_level=True)
os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytest.importorskip("mteb", reason="needs mteb: pip install -e '.[dev]'")
import mteb
from datasets import Dataset, DatasetDict
from mteb.abstasks import AbsTaskRetrieval, AbsTaskSTS
from mteb.abstasks.task_metadata import TaskMetadata

from semsearch import Document, Encoder, Index
from semsearch.chunking.splitter import Splitter
from semsearch.evaluation import retrieval
from semsearch.evaluation.sts import sts
from semsearch.evaluation.sts_benchmarks import sts_pairs, sts_task
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


@pytest.fixture(scope="module")
def model(default_encoder: Encoder) -> SemsearchModel:
    return SemsearchModel(default_encoder)


def scores(model: SemsearchModel, task: Any) -> dict[str, Any]:
    found = mteb.evaluate(model, task, cache=None, show_progress_bar=False, co2_tracker=False)
    (result,) = found.task_results
    (values,) = result.scores["test"]
    return dict(values)


def test_sts_is_that_of_semsearch_sts(model: SemsearchModel, default_encoder: Encoder) -> None:
    found = scores(model, LocalSts())
    pairs, gold = some_pairs()
    ours = sts(pairs, default_encoder, gold)
    assert 100 * found["cosine_spearman"] == pytest.approx(ours.spearman, abs=0.02)
    assert 100 * found["cosine_pearson"] == pytest.approx(ours.pearson, abs=0.02)
    if ALL:
        assert 100 * found["cosine_spearman"] == pytest.approx(sts_task("stsb", default_encoder).spearman.all, abs=0.02)
        print(found["cosine_spearman"], ours.spearman)


def test_retrieval_is_that_of_semsearch_eval(model: SemsearchModel, default_encoder: Encoder, tmp_path: Path) -> None:
    found = scores(model, LocalRetrieval())
    queries, qrels, documents = scifact()
    with Index.create(tmp_path / "scifact", encoder=default_encoder, splitter=Splitter("none")) as index:
        index.add(documents)
        ours = retrieval.evaluate(retrieval.ranked(index.search, "semantic"), queries, qrels)
    pairs = (
        ("ndcg_at_10", "nDCG@10"),
        ("recall_at_100", "recall@100"),
        ("mrr_at_10", "MRR@10"),
        ("map_at_100", "MAP@100"),
    )
    for theirs, name in pairs:
        assert found[theirs] == pytest.approx(ours[name], abs=0.002), name
        print(name, found[theirs], ours[name])


def test_mteb_records_which_encoder_it_was(model: SemsearchModel, default_encoder: Encoder) -> None:
    meta = model.mteb_model_meta
    assert (meta.name, meta.revision) == ("semsearch/all-MiniLM-L6-v2", default_encoder.fingerprint)
    assert (meta.embed_dim, meta.max_tokens, meta.framework) == (384, default_encoder.max_tokens, ["ONNX"])
