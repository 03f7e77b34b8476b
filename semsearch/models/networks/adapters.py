"""Adapters: small matrices that learn beside the weights of a network, which stay as they are, through peft.

Source: LoRA, Hu et al. 2021, https://arxiv.org/abs/2106.09685, section 4.1: W + α / r · B A. `save` writes them as peft
reads them, so that `PeftModel.from_pretrained(AutoModel.from_pretrained(BASE), FOLDER)` is the same network.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from semsearch.models import safetensors_files
from semsearch.models.networks import loading

NAME = "default"  # of the one adapter that a layer has here, in peft
PREFIX = "base_model.model."  # that peft puts before the names in its files


def add(network: Any, *, rank: int, alpha: int, dropout: float) -> None:
    """Put an adapter of float32 beside every linear layer of the model under `network`; nothing else learns."""
    from peft import LoraConfig, inject_adapter_in_model  # seconds: only where it is used

    (whole,) = network.whole
    inside = set(network.model.modules())
    layers = [name for name, each in whole.named_modules() if each in inside and _linear(each)]
    told = LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=dropout, bias="none", target_modules=layers)
    network.requires_grad_(False)
    inject_adapter_in_model(told, whole)
    for value in network.model.parameters():
        if value.requires_grad:
            value.data = value.data.float()


def there(network: Any) -> bool:
    """Whether `network` has adapters."""
    return next(_adapted(network), None) is not None


def added(network: Any, source: Path) -> Any:
    """A new model, of the files in `source`, whose weights have the adapters of `network` added to them.

    It has the precision of the network's weights, or of the files' where the network holds its own in 4 bits.
    """
    (whole,) = network.whole
    held = next(_adapted(network))[1].get_base_layer().weight.dtype
    home = loading.home(source)
    precision = next((name for name, dtype in loading.DTYPES.items() if dtype == held), "")
    fresh = loading.load_pretrained(
        type(whole),
        home,
        precision or safetensors_files.precision(home, safetensors_files.find(home)),
        spare=("pooler",),
    )
    with torch.no_grad():
        for name, layer in _adapted(network):
            weight = fresh.get_submodule(name).weight
            weight.copy_(weight.float() + layer.get_delta_weight(NAME).to("cpu", torch.float32))
    return fresh


def save(network: Any, out: Path) -> None:
    """Write the adapters alone into the new folder `out`, as peft names them."""
    out.mkdir(parents=True)
    found: dict[str, Tensor] = {}
    for name, layer in _adapted(network):
        for part in ("lora_A", "lora_B"):
            found[f"{PREFIX}{name}.{part}.weight"] = getattr(layer, part)[NAME].weight.detach().cpu().contiguous()
    save_file(found, out / "adapter_model.safetensors", {"format": "pt"})
    network.whole[0].peft_config[NAME].save_pretrained(out)


def _adapted(network: Any) -> Iterator[tuple[str, Any]]:
    """Every layer with an adapter, by its name in the checkpoint."""
    for name, each in network.whole[0].named_modules():
        if NAME in getattr(each, "lora_A", {}):
            yield name, each


def _linear(module: nn.Module) -> bool:
    """GPT-2 has layers of its own kind that do the same."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"
