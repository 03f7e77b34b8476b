"""From a network back to a folder of safetensors that transformers, and `networks.loading`, can read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from semsearch.networks import adapters, loading, parts
from semsearch.networks.causal import CausalNetwork
from semsearch.networks.masked import MaskedNetwork

# what says how a text becomes tokens, whichever of it there is, and how a sentence-transformers folder is read
BESIDE = ("tokenizer*.json", "vocab.*", "merges.txt", "special_tokens_map.json", "*.model", "generation_config.json")
ADAPTER = "adapter"  # a folder: beside the model, transformers would add adapters that are added already
PIPELINE = ("modules.json", "config_sentence_transformers.json", "sentence_*_config.json")


def save(network: MaskedNetwork | CausalNetwork, source: Path, out: Path, *, pipeline: bool = False) -> None:
    """Write config.json and model.safetensors into `out`, and beside them the learned prompt and the modules.

    `source` is the folder that the network was loaded from; its tokenizer comes along, and of a `pipeline` what a
    sentence-transformers folder says of itself. Under another method that would have it read in the wrong way.
    Adapters are added to the weights, so that the folder is an ordinary model; alone they go into `out`/adapter.
    """
    (whole,) = network.whole
    if adapters.there(network):
        adapters.save(network, out / ADAPTER)
        whole = adapters.added(network, source)
    state = {name: value for name, value in whole.state_dict().items() if "pooler" not in name}
    for name, value in _pooler(network).items():
        state[_prefix(network) + name] = value
    with loading.quiet():
        whole.save_pretrained(out, state_dict={name: value.contiguous() for name, value in state.items()})
    if isinstance(network, MaskedNetwork) and network.prompt is not None:
        save_file({"vectors": network.prompt.detach().contiguous()}, out / parts.PROMPT)
    for name, module in network.then.items():
        _save_module(module, source / name, out / name)
    _copy(loading.home(source), out, BESIDE)
    if pipeline:
        _copy(source, out, PIPELINE)
        for folder in source.glob("*_Pooling"):
            shutil.copytree(folder, out / folder.name, dirs_exist_ok=True)


def _pooler(network: Any) -> dict[str, Any]:
    """Names and values of Linear and Tanh, as transformers has them."""
    linear = network.pooler[0] if network.pooler is not None else None
    return {} if linear is None else {f"pooler.dense.{name}": value for name, value in linear.state_dict().items()}


def _prefix(network: Any) -> str:
    """What stands before the names of the encoder's own parameters: "" or "bert."."""
    (whole,) = network.whole
    return "" if whole is network.model else f"{whole.base_model_prefix}."


def _save_module(module: nn.Module, source: Path, out: Path) -> None:
    """A dense layer or a layer norm, under the names it was read by."""
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "config.json", out)
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    name = "norm" if "dimension" in config else "linear"
    state = {key.replace("0.", f"{name}.", 1): value.contiguous() for key, value in module.state_dict().items()}
    save_file(state, out / parts.WEIGHTS)


def _copy(source: Path, out: Path, patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        for file in source.glob(pattern):
            if not (out / file.name).exists():
                shutil.copy(file, out)
