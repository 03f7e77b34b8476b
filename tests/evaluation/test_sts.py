"""STS: correlations of scipy, aggregation of SentEval, and published scores."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.encoders.encoder import Encoder
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import NotFound, UnknownName, UsageError
from semsearch.evaluation.sts import cosines, pearson, spearman, sts
from semsearch.evaluation.sts_benchmarks import aggregate, sts_pairs, sts_task

PAIRS = {"sts12": 3108, "sts13": 1500, "sts14": 3750, "sts15": 3000, "sts16": 1186, "stsb": 1379, "sickr": 4927}


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-50, 50)), min_size=2, max_size=60))
def test_correlations_equal_those_of_scipy(rows: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    a, b = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert math.isnan(spearman(a, b))
    else:
        assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)
        assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-12)


def test_aggregation_equals_that_of_senteval(golden: Path) -> None:
    toy = json.loads((golden / "eval_meta.json").read_text(encoding="utf-8"))["sts_aggregation"]
    values, gold = _toy(toy)
    found = aggregate("toy", values, gold)
    for name, official in toy["result"].items():
        if name == "all":
            for how in ("all", "mean", "wmean"):
                assert getattr(found.spearman, how) == pytest.approx(100 * official["spearman"][how], abs=1e-6)
                assert getattr(found.pearson, how) == pytest.approx(100 * official["pearson"][how], abs=1e-6)
        else:
            assert found.subsets[name] == pytest.approx((100 * official["spearman"], 100 * official["pearson"]))
            assert len(gold[name]) == official["nsamples"]


def _toy(toy: dict[str, Any]) -> tuple[dict[str, Any], dict[str, list[float]]]:
    words = {word: np.array(vector) for word, vector in toy["word_vectors"].items()}
    values, gold = {}, {}
    for name, content in toy["files"].items():
        kept = [(line.split("\t"), score) for line, score in zip(content["input"], content["gs"], strict=True) if score]
        sides = [[sum(words[word] for word in text.split()) for text in pair] for pair, _ in kept]
        values[name] = np.array([a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in sides])
        gold[name] = [float(score) for _, score in kept]
    return values, gold


@pytest.mark.parametrize("task", PAIRS)
def test_tasks_have_the_pairs_of_the_literature(data: Path, task: str) -> None:
    subsets = sts_pairs(task, data)
    assert sum(len(subset.pairs) for subset in subsets.values()) == PAIRS[task]
    assert all(0 <= score <= 5 for subset in subsets.values() for score in subset.gold)


@pytest.mark.slow
def test_the_minilm_encoder_keeps_its_score_on_a_fifth_of_sts_b_dev(data: Path, minilm_encoder: Encoder) -> None:
    (dev,) = sts_pairs("stsb", data, "dev").values()
    found = spearman(cosines(dev.pairs[::5], minilm_encoder), dev.gold[::5])
    assert 100 * found == pytest.approx(88.46, abs=0.2)  # with the score of its manifest on all of it


def test_a_task_of_one_subset_has_one_figure(data: Path, hashing: HashingEncoder) -> None:
    found = sts_task("stsb", hashing, data, "dev")
    assert found.spearman.all == found.spearman.mean == found.spearman.wmean


@pytest.mark.long
def test_the_minilm_encoder_keeps_the_score_of_its_manifest(data: Path, minilm_encoder: Encoder) -> None:
    found = sts_task("stsb", minilm_encoder, data, "dev")
    assert found.spearman.all == pytest.approx(minilm_encoder_parity()["stsb_dev"], abs=0.1)


def minilm_encoder_parity() -> Any:
    from semsearch.models import bundle, model_folders

    return bundle.read(model_folders.find("minilm")).parity


def test_pairs_get_cosine_strength_and_correlation(minilm_encoder: Encoder) -> None:
    pairs = [("A cat sleeps.", "A cat is sleeping."), ("A cat sleeps.", "A dog sleeps."), ("A cat sleeps.", "Rust.")]
    found = sts(pairs, minilm_encoder, gold=[5, 3, 0])
    assert found.pairs == tuple(pairs)
    assert list(found.cosines) == sorted(found.cosines, reverse=True)
    assert found.spearman == pytest.approx(100)
    strengths = [value for value in found.strengths if value is not None]
    assert len(strengths) == 3 and strengths[0] > 0.5 > strengths[2]


def test_without_gold_there_is_no_correlation(hashing: Any) -> None:
    found = sts([("a", "b")], hashing)
    assert found.spearman is None and found.pearson is None
    assert found.strengths == (None,)
    assert sts([], hashing).cosines == ()
    assert found.scores == found.cosines  # the name that the contract has


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"m\tx\ty\t1\t\ta\tb\n", "no pair has a score"),
        (b"m\tx\ty\t1\tnan\ta\tb\n", "a score is not a number"),
        (b"m\tx\ty\t1\thigh\ta\tb\n", "scores and sentences do not match"),
        (b"m\tx\ty\t1\t5\ta\n", r"sts-test\.csv:1: 6 columns"),
        (b"m\tx\ty\t1\t5\t\xff\tb\n", "is not UTF-8"),
        (b"", r"sts-test\.csv:1: 1 columns"),
    ],
)
def test_errors_in_a_tasks_file_are_named(tmp_path: Path, content: bytes, told: str) -> None:
    file = tmp_path / "STS" / "STSBenchmark" / "sts-test.csv"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    with pytest.raises(UsageError, match=told):
        sts_pairs("stsb", tmp_path)


def test_gold_scores_have_to_match_the_pairs(hashing: Any) -> None:
    with pytest.raises(UsageError, match="there are 1 pairs and 2 gold scores"):
        sts([("a", "b")], hashing, gold=[1, 2])


def test_unknown_tasks_splits_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'sts12'"):
        sts_pairs("sts122", tmp_path)
    with pytest.raises(UsageError, match="no split"):
        sts_pairs("sts12", tmp_path, "dev")
    with pytest.raises(NotFound, match="no STS tasks"):
        sts_pairs("stsb", tmp_path)
