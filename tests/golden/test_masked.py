"""Encoders with [MASK] and without give what the authors' own code gives, from our token ids up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import models

from semsearch.models.tokenization import Tokenizer
from semsearch.prompts import Prompt, library

pytest.importorskip("torch")
ENDINGS = {"period": "", "excl": "-excl", "quest": "-quest", "sep": "-sep", "none": "-none"}
CASES = {  # array: (model, template, options beside the template's)
    "promptbert.bert.eval.T1": ("tiny-bert", "promptbert", {}),
    "promptbert.bert.eval.T2": ("tiny-bert", "promptbert-t2", {}),
    "promptbert.bert.eval_denoise.T1": ("tiny-bert", "promptbert-denoised", {}),
    "promptbert.bert.eval_sup.T1": ("tiny-bert", "promptbert-sup", {}),
    "promptbert.roberta.eval.T1": ("tiny-roberta", "promptroberta", {}),
    "promptbert.roberta.eval_denoise.T1": ("tiny-roberta", "promptroberta-denoised-released", {}),
    "baseline.bert.avg": ("tiny-bert", "mean", {}),
    "baseline.bert.avg_first_last": ("tiny-bert", "first-last-embeddings", {}),
    "baseline.bert.static": ("tiny-bert", "static", {}),
    "baseline.bert.static_remove_biases": ("tiny-bert", "static-debiased", {}),
    "optiprompt.bert.eval.T2": ("tiny-bert", "optiprompt", {"place": "released"}),
    "cotbert.bert.eval": ("tiny-bert", "cot-bert", {}),
    "cotbert.bert.eval_pad_denoise": ("tiny-bert", "cot-bert", {"denoise": "pad"}),
    "cotbert.roberta.eval": ("tiny-roberta", "cot-roberta", {}),
    "multimask.bert.m3.period.cat": ("tiny-bert", "masks-3", {"combine": "cat"}),
    **{
        f"multimask.bert.m{count}.{name}.avg": ("tiny-bert", f"masks-{count}{suffix}", {})
        for count in (1, 2, 3)
        for name, suffix in ENDINGS.items()
    },
}
MINILM = {
    "prompt.T1": ("promptbert", {}),
    "prompt.T2": ("promptbert-t2", {}),
    "prompt_denoise.T1": ("promptbert-denoised", {}),
    "pool.avg": ("mean", {}),
    "pool.avg_first_last": ("first-last-embeddings", {}),
    "static": ("static", {}),
    "static_remove_biases": ("static-debiased", {}),
    "cot": ("cot-bert", {}),
    "cot_pad_denoise": ("cot-bert", {"denoise": "pad"}),
    "multimask.m1.period": ("masks-1", {}),
    "multimask.m3.period": ("masks-3", {}),
    "multimask.m1.excl": ("masks-1-excl", {}),
    "multimask.m1.none": ("masks-1-none", {}),
}
NOT_HERE = {"llm."}  # arrays of decoders: test_causal.py


@pytest.fixture(scope="module")
def sentences(golden: Path) -> list[str]:
    found: list[str] = json.loads((golden / "sentences.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def arrays(golden: Path) -> Mapping[str, Any]:
    return dict(np.load(golden / "embeddings.npz"))


def encoder(folder: Path, template: str, options: Mapping[str, Any]) -> tuple[Any, Prompt]:
    """The model in `folder` under a template of the library, and its prompt."""
    from semsearch.encoders.torch_backend import MaskedBackend

    one = library.find(template)
    prompt = one.prompts["passage"]
    bundle = models.described(folder, one.method, prompt, **{**one.options, **options})
    own = models.ROBERTA if "roberta" in folder.name else models.BERT
    return MaskedBackend(replace(bundle, max_tokens=300, tokens=own), device="cpu"), prompt


def folder_of(model: str, golden: Path, arrays: Mapping[str, Any], template: str, scratch: Path) -> Path:
    """The golden model; with its learned prompt beside it where the method has one."""
    if template != "optiprompt":
        return golden / "models" / model
    import torch
    from safetensors.torch import save_file

    folder = Path(shutil.copytree(golden / "models" / model, scratch / model))
    save_file({"vectors": torch.tensor(arrays["optiprompt.bert.p_mbv"]).float()}, folder / "prompt.safetensors")
    return folder


@pytest.mark.parametrize("name", CASES)
def test_vectors_are_those_of_the_authors_code(
    name: str, golden: Path, arrays: Mapping[str, Any], sentences: Sequence[str], tmp_path: Path
) -> None:
    model, template, options = CASES[name]
    running, prompt = encoder(folder_of(model, golden, arrays, template, tmp_path), template, options)
    assert np.abs(running.vectors(sentences, prompt) - arrays[f"{name}.emb"]).max() < 1e-4


@pytest.mark.parametrize("name", CASES)
def test_token_ids_are_those_of_the_authors_code(
    name: str, golden: Path, arrays: Mapping[str, Any], sentences: Sequence[str]
) -> None:
    model, template, _ = CASES[name]
    own = models.ROBERTA if "roberta" in model else models.BERT
    tokenizer = Tokenizer(golden / "models" / model / "tokenizer.json", 300, own)
    rows = tokenizer.ids(sentences, library.find(template).prompts["passage"])
    for row, ids, mask in zip(rows, arrays[f"{name}.input_ids"], arrays[f"{name}.attention_mask"], strict=True):
        assert row == ids[: len(row)].tolist()
        assert mask[len(row) :].sum() == 0


def test_no_golden_array_is_left_out(arrays: Mapping[str, Any]) -> None:
    there = {name.removesuffix(".emb") for name in arrays if name.endswith(".emb")}
    assert {name for name in there if not name.startswith(tuple(NOT_HERE))} == set(CASES)


@pytest.mark.parametrize("name", MINILM)
def test_real_weights_give_the_authors_vectors(name: str, golden: Path, sentences: Sequence[str]) -> None:
    template, options = MINILM[name]
    running, prompt = encoder(models.minilm(), template, options)
    want = np.load(golden / "minilm.npz")[name]
    assert np.abs(running.vectors(sentences[: len(want)], prompt) - want).max() < 1e-4
