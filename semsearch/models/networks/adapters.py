"""Low-rank adapters (LoRA) beside the frozen weights of a network, through peft.

Source: LoRA, Hu et al. 2021, https://arxiv.org/abs/2106.09685, section 4.1: W + α / r · B A. `save` writes the
files of peft, so that `PeftModel.from_pretrained(AutoModel.from_pretrained(BASE), FOLDER)` loads the same network.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from semsearch.models import safetensors_files, st_config
from semsearch.models.networks import loading
from semsearch.models.networks.masked import Network

NAME = "default"  # peft's name of the only adapter of a layer
PREFIX = "base_model.model."  # of parameter names in peft's files


def add(network: Network, *, rank: int, alpha: int, dropout: float) -> None:
    """Put an adapter of float32 beside every linear layer of the model under `network`; everything else is frozen."""
    from peft import LoraConfig, inject_adapter_in_model  # seconds: only where it is used

    (whole,) = network.whole
    modules = network.model.modules()
    linear = {each for each in modules if isinstance(each, nn.Linear) or type(each).__name__ == "Conv1D"}  # of GPT-2
    layers = [name for name, each in whole.named_modules() if each in linear]
    config = LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=dropout, bias="none", target_modules=layers)
    network.requires_grad_(False)
    inject_adapter_in_model(config, whole)
    for value in network.model.parameters():
        if value.requires_grad:
            value.data = value.data.float()


def added(network: Network, source: Path) -> PreTrainedModel:
    """A new model of the files in `source`, with the adapters of `network` merged into its weights.

    It has the precision of the network's weights, or of the files if the network is quantised to 4 bits.
    """
    (whole,) = network.whole
    dtype = next(adapted(network))[1].get_base_layer().weight.dtype
    home = source / st_config.transformer(source)
    saved = safetensors_files.precision(home, safetensors_files.find(home))
    precision = next((name for name, each in loading.DTYPES.items() if each == dtype), saved)
    fresh = loading.load_pretrained(type(whole).from_pretrained, home, precision, spare=("pooler",))
    with torch.no_grad():
        for name, layer in adapted(network):
            weight = fresh.get_submodule(name).get_parameter("weight")
            weight.copy_(weight.float() + layer.get_delta_weight(NAME).to("cpu", torch.float32))
    return fresh


def save(network: Network, out: Path) -> None:
    """Write the adapters alone into the new folder `out`, under peft's names."""
    out.mkdir(parents=True)
    tensors: dict[str, Tensor] = {}
    for name, layer in adapted(network):
        for part in ("lora_A", "lora_B"):
            tensors[f"{PREFIX}{name}.{part}.weight"] = getattr(layer, part)[NAME].weight.detach().cpu().contiguous()
    save_file(tensors, out / "adapter_model.safetensors", {"format": "pt"})
    network.whole[0].peft_config[NAME].save_pretrained(out)


def adapted(network: Network) -> Iterator[tuple[str, Any]]:
    """The name in the checkpoint of every layer with an adapter, and the layer (peft has no type for it)."""
    (whole,) = network.whole
    for name, each in whole.named_modules():
        if NAME in getattr(each, "lora_A", {}):
            yield name, each
