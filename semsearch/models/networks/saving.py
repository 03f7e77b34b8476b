"""Saved networks: folders of safetensors that transformers and `networks.loading` can read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor, nn

from semsearch.models import safetensors_files, st_config
from semsearch.models.bundle import Bundle
from semsearch.models.networks import adapters, loading, parts, piped
from semsearch.models.networks.adapters import Network
from semsearch.models.networks.masked import MaskedNetwork

# files copied along where they exist: the tokenizer, and the licence of the weights
BESIDE = ("tokenizer*.json", "vocab.*", "merges.txt", "special_tokens_map.json", "*.model", "generation_config.json")
TERMS = ("LICENSE*", "LICENCE*", "NOTICE*")
ADAPTER = "adapter"  # a subfolder: beside the model, transformers would add the merged adapters again


def save(network: Network, bundle: Bundle, out: Path) -> None:
    """Write config.json and model.safetensors into `out`, and beside them the learned prompt and the modules.

    `bundle` describes method and prompts; tokenizer and licence are copied from its folder. If sentence-transformers
    supports that method, its files are written too (networks.piped). Adapters are merged into the weights, so that
    the folder is an ordinary model, and also saved alone in `out`/adapter.
    """
    source, home = bundle.folder, (bundle.folder / bundle.weights).parent
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
        save_file({"vectors": network.prompt.detach().contiguous()}, out / safetensors_files.PROMPT)
    for name, module in network.then.items():
        _save_module(module, source / name, out / name)
    _copy(home, out, BESIDE)
    _copy(source, out, TERMS)
    piped.save(bundle, network.width, out)


def clear(folder: Path) -> None:
    """Delete what `save` wrote into `folder`, so that no file of an earlier encoder is read as part of a new one."""
    for pattern in ("*.safetensors", "*.index.json", "config*.json", *BESIDE, st_config.MODULES, piped.SIZES):
        for file in folder.glob(pattern):
            file.unlink()
    for inner in (*folder.glob("[0-9]*_*/config.json"), folder / ADAPTER / "adapter_config.json"):
        if inner.is_file():
            shutil.rmtree(inner.parent)


def _pooler(network: Network) -> dict[str, Tensor]:
    """The pooler's parameters under the names of transformers."""
    if not isinstance(network.pooler, nn.Sequential):
        return {}
    prefix = "pooler." if network.model.config.model_type == "albert" else "pooler.dense."
    return {prefix + name: value for name, value in network.pooler[0].state_dict().items()}


def _prefix(network: Network) -> str:
    """The prefix of the encoder's parameter names in its checkpoint: "" or "bert."."""
    (whole,) = network.whole
    return "" if whole is network.model else f"{whole.base_model_prefix}."


def _save_module(module: nn.Module, source: Path, out: Path) -> None:
    """Write a dense layer or a layer norm under the parameter names of its source."""
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
