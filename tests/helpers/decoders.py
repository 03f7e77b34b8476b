"""Tiny decoders of random weights in folders of the Hugging Face kind, and a plain way to run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from semsearch.prompts import parse

RULES: Mapping[str, Any] = {"spaces": True, "ending": ".", "endings": ".?\"'", "overwrite": "?", "quotes": "'"}
EOL = parse('This sentence : "[X]" means in one word:"', **RULES)
COT = parse('After thinking step by step , this sentence : "[X]" means in one word:"', **RULES)
STH = parse('This sentence : "[X]" means something', **RULES)
TEXTS = (
    "A man is playing a guitar.",
    "Is the cat on the mat?",
    'She said "hello" to everyone',
    '"Quoted," he said',
    "'tis so",
    "",
    " a space before",
    ". a dot",
    "(in brackets)",
    "这是一个关于猫的句子。",
    "über allen Gipfeln",
    "x",
    "one sentence that goes on and on about nothing in particular " * 3,
)
WINDOW = 6  # tokens of a sliding window: far fewer than a text has
SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
}
GROUPED = {**SMALL, "num_key_value_heads": 2}
WINDOWED = {**GROUPED, "head_dim": 8, "sliding_window": WINDOW}
LOCAL = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
OPT = {**SMALL, "ffn_dim": 64, "word_embed_proj_dim": 32}
CONFIGS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "bloom": ("bloom", {"hidden_size": 32, "n_layer": 3, "n_head": 4}),
    "gemma": ("gemma", {**GROUPED, "head_dim": 8}),
    "gemma2": ("gemma2", {**WINDOWED, **LOCAL, "query_pre_attn_scalar": 8}),
    "gemma3": ("gemma3_text", {**WINDOWED, **LOCAL, "query_pre_attn_scalar": 8}),
    "gpt2": ("gpt2", {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 512}),
    "gpt_neox": ("gpt_neox", {**SMALL, "rotary_pct": 0.5}),
    "llama": ("llama", GROUPED),
    "mistral": ("mistral", WINDOWED),
    "opt": ("opt", OPT),
    "opt-350m": ("opt", {**OPT, "word_embed_proj_dim": 16, "do_layer_norm_before": False}),
    "phi3": ("phi3", {**GROUPED, "sliding_window": WINDOW}),
    "qwen2": ("qwen2", {**GROUPED, "use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1}),
    "qwen3": ("qwen3", {**GROUPED, "head_dim": 16}),
}


def made_once(folders: pytest.TempPathFactory) -> Callable[[str], Path]:
    """What gives the folder of a decoder of CONFIGS, which is made when it is first asked for."""
    return cache(lambda name: decoder(folders.mktemp(name), name))


def decoder(folder: Path, name: str) -> Path:
    """`folder` with config, safetensors and tokenizer of a decoder of the kind `name` of CONFIGS."""
    import torch
    import transformers

    tokenizer = _tokenizer()
    kind, told = CONFIGS[name]
    config = transformers.AutoConfig.for_model(kind, vocab_size=tokenizer.get_vocab_size(), **told)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    chance = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for _, each in sorted(model.named_parameters()):
            noise = torch.randn(each.shape, generator=chance)
            each.copy_(0.25 * noise if each.dim() > 1 else each + 0.1 * noise)
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def plain(folder: Path, rows: Sequence[Sequence[int]], layer: int) -> NDArray[np.float32]:
    """The last token of each row after `layer`, one row at a time through transformers, without any cache."""
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.inference_mode():
        outputs = [model(torch.tensor([row]), output_hidden_states=True, use_cache=False) for row in rows]
    return np.stack([each.hidden_states[layer][0, -1].numpy() for each in outputs])


def _tokenizer() -> Tokenizer:
    """Byte-level BPE that has <s> before every text, and tokens across the border of prompt and sentence."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<pad>", "<s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    written = [prompt.before + text + ending + prompt.after for prompt in (EOL, COT, STH) for text, ending in _bodies()]
    made.train_from_iterator(written, trainer)
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return made


def _bodies() -> list[tuple[str, str]]:
    return [EOL.sentence(text) for text in TEXTS]
