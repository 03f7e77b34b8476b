"""On a card: the vectors, the training and the search of the CPU; scripts/encoders/gpu_session runs this on one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semsearch import Encoder

torch: Any = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)
TEXTS = ["A man plays the guitar.", "", "Someone is making music in the old town hall, and nobody listens.", "Is it?"]


@pytest.mark.parametrize(
    ("model", "template"),
    [
        ("tiny-bert", "cot-bert"),
        ("tiny-bert", "cot-bert-denoised"),
        ("tiny-roberta", "promptroberta-denoised"),
        ("tiny-llama", "prompteol"),
        ("tiny-llama", "prompteol-prepended"),
        ("tiny-llama", "prompteol-contrastive"),
        ("tiny-llama", "metaeol"),
        ("tiny-opt", "pretended-cot"),
    ],
)
@pytest.mark.parametrize(("dtype", "least"), [("fp32", 0.9999), ("bf16", 0.98), ("fp16", 0.999)])
def test_vectors_are_those_of_the_cpu(golden: Path, model: str, template: str, dtype: str, least: float) -> None:
    name = f"{golden / 'models' / model}#dtype={{}},template={template}"
    exact = Encoder.load(name.format("fp32"), device="cpu", cache=None).encode(TEXTS)
    card = Encoder.load(name.format(dtype), device="cuda", cache=None)
    assert card.info["device"].startswith("cuda")
    read = np.linalg.norm(exact, axis=1) > 0  # a denoised text without tokens has no direction
    assert (card.encode(TEXTS) * exact).sum(1)[read].min() > least


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("method", ["simcse", "cotbert", "sg-opt"])
def test_training_goes_as_on_the_cpu(golden: Path, tmp_path: Path, method: str, precision: str) -> None:
    from semsearch.training import Dataset, TrainingConfig, train

    texts = [f"text number {at} about {what}" for at in range(8) for what in ("cats", "bridges")]
    losses = {}
    for device in ("cpu", "cuda"):
        settings = TrainingConfig(
            method, str(golden / "models" / "tiny-bert"), steps=4, batch_size=8, device=device, precision=precision
        )
        train(settings, Dataset({"anchor": texts}, None, "test"), tmp_path / device)
        losses[device] = Encoder.load(tmp_path / device, device="cpu", cache=None).encode(texts)
    assert (losses["cpu"] * losses["cuda"]).sum(1).min() > (0.99 if precision == "fp32" else 0.95)


def test_a_flat_index_on_the_card_finds_what_the_cpu_finds() -> None:
    faiss: Any = pytest.importorskip("faiss")
    if not hasattr(faiss, "StandardGpuResources"):
        pytest.skip("FAISS is built for the CPU")
    from semsearch.vector_index.backends import _gpu

    vectors = np.random.default_rng(0).normal(size=(5_000, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index, card = faiss.IndexFlatIP(64), _gpu.Card()
    index.add(vectors)
    card._compared = _gpu.PAYS
    scores, ids = card.search(index, vectors[:20], 10)
    exact = index.search(vectors[:20], 10)
    np.testing.assert_array_equal(ids, exact[1])
    np.testing.assert_allclose(scores, exact[0], atol=1e-5)
    assert card.device.startswith("cuda") and not card.warnings
