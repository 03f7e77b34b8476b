"""Decoders give the vectors that the authors' own code gives, from the prompted text up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.models import described

from semsearch.prompts import library

causal_encoder: Any = pytest.importorskip("semsearch.encoders.torch_backend")

TEMPLATES = {
    "PromptEOL": "prompteol",
    "pretcot.PromptEOL": "prompteol",
    "pretcot.PromptSTH": "promptsth",
    "pretcot.PromptSUM": "promptsum",
    "pretcot.Pretended_CoT": "pretended-cot",
    "pretcot.Knowledge_Enhancement": "knowledge-enhancement",
}
LAYERS = range(4)


@pytest.fixture(scope="module")
def arrays(golden: Path) -> Any:
    return np.load(golden / "embeddings.npz")


@pytest.fixture(scope="module")
def sentences(golden: Path) -> list[str]:
    found: list[str] = json.loads((golden / "sentences.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("prefix_cache", [True, False], ids=["prefix once", "prefix every time"])
@pytest.mark.parametrize("key", TEMPLATES)
@pytest.mark.parametrize("model", ["tiny-opt", "tiny-llama"])
def test_tokens_and_vectors_are_the_authors(
    golden: Path, arrays: Any, sentences: list[str], model: str, key: str, prefix_cache: bool
) -> None:
    encoder, prompt = _encoder(golden / "models" / model, TEMPLATES[key], prefix_cache)
    name = f"llm.{model}.{key}"
    ids, mask = arrays[f"{name}.input_ids"], arrays[f"{name}.attention_mask"].astype(bool)
    assert encoder._tokenizer.ids(sentences, prompt) == [
        row[real].tolist() for row, real in zip(ids, mask, strict=True)
    ]
    assert np.abs(encoder.vectors(sentences, prompt) - arrays[f"{name}.emb"]).max() <= 1e-4
    assert bool(encoder.info["prefix_tokens"]["query"]) == prefix_cache


@pytest.mark.parametrize("prefix_cache", [True, False], ids=["prefix once", "prefix every time"])
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("model", ["tiny-opt", "tiny-llama"])
def test_every_layer_can_be_read(
    golden: Path, arrays: Any, sentences: list[str], model: str, layer: int, prefix_cache: bool
) -> None:
    wanted = arrays[f"llm.{model}.PromptEOL.last_token_all_layers"]
    for told in (layer, layer - len(LAYERS)):
        encoder, prompt = _encoder(golden / "models" / model, "prompteol", prefix_cache, layer=told)
        assert np.abs(encoder.vectors(sentences, prompt) - wanted[:, layer]).max() <= 1e-4


def _encoder(folder: Path, name: str, prefix_cache: bool, **options: Any) -> tuple[Any, Any]:
    template = library.find(name)
    prompt = template.prompts["query"]
    bundle = described(folder, template.method, prompt, **{**template.options, **options})
    return causal_encoder.CausalBackend(bundle, device="cpu", prefix_cache=prefix_cache), prompt
