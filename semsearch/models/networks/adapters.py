"""Low-rank adapters (LoRA) beside the frozen weights of a network, through peft.

Source: LoRA, Hu et al. 2021, https://arxiv.org/abs/2106.09685, section 4.1: W + α / r · B A. `save` writes the
files of peft, so that `PeftModel.from_pretrained(AutoModel.from_pretrained(BASE), FOLDER)` is the same network.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PreTrainedModel

from semsearch.models import safetensors_files
from semsearch.models.networks import loading
from semsearch.models.networks.causal import CausalNetwork
from semsearch.models.networks.masked import MaskedNetwork

Network: TypeAlias = MaskedNetwork | CausalNetwork
NAME = "default"  # peft's name of the only adapter of a layer
PREFIX = "base_model.model."  # of parameter names in peft's files


def add(network: Any, *, rank: int, alpha: int, dropout: float) -> None:
    """Put an adapter of float32 beside every linear layer of the model under `network`; everything else is frozen."""
    from peft import LoraConfig, inject_adapter_in_model  # seconds: only where it is used

    (whole,) = network.whole
    inside = set(network.model.modules())
    layers = [name for name, each in whole.named_modules() if each in inside and _linear(each)]
    config = LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=dropout, bias="none", target_modules=layers)
    network.requires_grad_(False)
    inject_adapter_in_model(config, whole)
    for value in network.model.parameters():
        if value.requires_grad:
            value.data = value.data.float()


def there(network: Network) -> bool:
    """Whether `network` has adapters."""
    return next(_adapted(network), None) is not None


def added(network: Network, source: Path) -> PreTrainedModel:
    """A new model of the files in `source`, with the adapters of `network` merged into its weights.

    It has the precision of the network's weights, or of the files if the network is quantised to 4 bits.
    """
    (whole,) = network.whole
    dtype = next(_adapted(network))[1].get_base_layer().weight.dtype
    home = loading.home(source)
    precision = next((name for name, each in loading.DTYPES.items() if each == dtype), "")
    fresh = loading.load_pretrained(
        type(whole),
        home,
        precision or safetensors_files.precision(home, safetensors_files.find(home)),
        spare=("pooler",),
    )
    with torch.no_grad():
        for name, layer in _adapted(network):
            weight = fresh.get_submodule(name).get_parameter("weight")
            weight.copy_(weight.float() + layer.get_delta_weight(NAME).to("cpu", torch.float32))
    return fresh


def save(network: Network, out: Path) -> None:
    """Write the adapters alone into the new folder `out`, under peft's names."""
    out.mkdir(parents=True)
    found: dict[str, Tensor] = {}
    for name, layer in _adapted(network):
        for part in ("lora_A", "lora_B"):
            found[f"{PREFIX}{name}.{part}.weight"] = getattr(layer, part)[NAME].weight.detach().cpu().contiguous()
    save_file(found, out / "adapter_model.safetensors", {"format": "pt"})
    network.whole[0].peft_config[NAME].save_pretrained(out)


def _adapted(network: Network) -> Iterator[tuple[str, Any]]:
    """Every layer with an adapter, as name in the checkpoint and layer (peft has no type for it)."""
    (whole,) = network.whole
    for name, each in whole.named_modules():
        if NAME in getattr(each, "lora_A", {}):
            yield name, each


def _linear(module: nn.Module) -> bool:
    """Whether it is a linear layer; GPT-2 has a class of its own."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"
