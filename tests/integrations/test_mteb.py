"""MTEB gives an encoder the figures that semsearch gives it, on real data."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from semsearch import Encoder, Index
from semsearch.chunking.splitter import Splitter
from semsearch.evaluation import retrieval
from semsearch.evaluation.sts import sts
from semsearch.evaluation.sts_benchmarks import sts_task

if not os.environ.get("SEMSEARCH_DATA"):
    pytest.skip("SEMSEARCH_DATA is not set", allow_module_level=True)
os.environ.setdefault("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def tasks() -> ModuleType:
    """Not imported above: every worker of the suite reads this file, and one runs it."""
    pytest.importorskip("mteb", reason="needs mteb: pip install -e '.[dev]'")
    return import_module("helpers.mteb_tasks")


@pytest.fixture(scope="module")
def model(tasks: ModuleType, minilm_encoder: Encoder) -> Any:
    return tasks.SemsearchModel(minilm_encoder)


def test_sts_is_that_of_semsearch_sts(tasks: ModuleType, model: Any, minilm_encoder: Encoder) -> None:
    found = tasks.scores(model, tasks.LocalSts())
    pairs, gold = tasks.some_pairs()
    ours = sts(pairs, minilm_encoder, gold)
    assert 100 * found["cosine_spearman"] == pytest.approx(ours.spearman, abs=0.02)
    assert 100 * found["cosine_pearson"] == pytest.approx(ours.pearson, abs=0.02)
    if tasks.ALL:
        assert 100 * found["cosine_spearman"] == pytest.approx(sts_task("stsb", minilm_encoder).spearman.all, abs=0.02)
        print(found["cosine_spearman"], ours.spearman)


def test_retrieval_is_that_of_semsearch_eval(
    tasks: ModuleType, model: Any, minilm_encoder: Encoder, tmp_path: Path
) -> None:
    found = tasks.scores(model, tasks.LocalRetrieval())
    queries, qrels, documents = tasks.scifact()
    with Index.create(tmp_path / "scifact", encoder=minilm_encoder, splitter=Splitter("none")) as index:
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


def test_mteb_records_which_encoder_it_was(model: Any, minilm_encoder: Encoder) -> None:
    meta = model.mteb_model_meta
    assert (meta.name, meta.revision) == ("semsearch/all-MiniLM-L6-v2", minilm_encoder.fingerprint)
    assert (meta.embed_dim, meta.max_tokens, meta.framework) == (384, minilm_encoder.max_tokens, ["ONNX"])
