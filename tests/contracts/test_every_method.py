"""Every method of methods/ keeps the promises of methods.BaseMethod; new files are found by themselves."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import models

from semsearch.encoders.encoder import Encoder
from semsearch.models import methods
from semsearch.models.batching import pad
from semsearch.prompts import Prompt, library
from semsearch.utils import plugins

torch = pytest.importorskip("torch")
WITHOUT_TEMPLATE = {"sentence_transformer"}  # folders say themselves how they are read
TEXTS = ("A cat.", "", "a much longer sentence about the cost of repairing an old bridge before winter", "Is it?")


@pytest.fixture(scope="module", params=plugins.names(methods))
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def engine(method: str, golden: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The method on a tiny model that it is made for, in Torch."""
    folder = tmp_path_factory.mktemp(method)
    causal = methods.make(method).kind == "causal"
    shutil.copytree(golden / "models" / ("tiny-llama" if causal else "tiny-bert"), folder, dirs_exist_ok=True)
    if method == "optiprompt":
        models.learn_prompt(folder, 7)
    if method in WITHOUT_TEMPLATE:
        models.make_pipeline(folder)
        return Encoder.load(folder, device="cpu").backend
    return Encoder.load(folder, template=template_of(method), device="cpu").backend


def template_of(method: str) -> str:
    """The first template of the library that uses `method`."""
    return next(name for name, one in library.templates().items() if one.method == method)


def test_the_library_has_a_template_for_it(method: str) -> None:
    assert method in {one.method for one in library.templates().values()} | WITHOUT_TEMPLATE


def test_padding_and_neighbours_change_nothing(engine: Any) -> None:
    prompt = engine.prompts["passage"]
    together = engine.vectors(TEXTS, prompt)
    alone = np.concatenate([engine.vectors([text], prompt) for text in TEXTS])
    assert np.abs(together - alone).max() < 1e-4
    assert np.isfinite(together).all()


def test_what_is_trained_is_what_is_run(engine: Any) -> None:
    """embed() has gradients down to the words, and gives the vectors that the encoder gives."""
    prompt = engine.prompts["passage"]
    first, *others = (batch_of(engine, each) for each in engine.method.readings(prompt))
    vectors = engine.method.embed(engine.network, replace(first, others=tuple(others)))
    assert np.abs(vectors.detach().numpy() - engine.vectors(TEXTS, prompt)).max() < 1e-4
    vectors.square().sum().backward()
    grad = engine.network.model.get_input_embeddings().weight.grad
    assert grad is not None and grad.abs().sum() > 0


def batch_of(engine: Any, prompt: Prompt) -> methods.Batch:
    ids, mask = (torch.from_numpy(each) for each in pad(engine._tokenizer.ids(TEXTS, prompt)))
    return methods.Batch(ids, mask, engine._tokenizer.frame(prompt))


def test_its_prompt_has_the_masks_that_it_reads(engine: Any) -> None:
    assert engine.method.masks in (engine.prompts["query"].masks, None)


def test_half_precision_is_near_full(method: str, engine: Any) -> None:
    half = Encoder.load(str(engine.bundle.folder), dtype="bf16", device="cpu", **_template(method))
    full = engine.encode(TEXTS[::2])
    assert half.info["precision"] == "bf16"
    assert half.fingerprint != engine.fingerprint
    assert (half.encode(list(TEXTS[::2])) * full).sum(1).min() > 0.95


def _template(method: str) -> dict[str, str]:
    return {} if method in WITHOUT_TEMPLATE else {"template": template_of(method)}
