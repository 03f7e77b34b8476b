"""Learned prompts, and the modules after the pooling in a sentence-transformers folder."""

from __future__ import annotations

import json
import re
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from semsearch.errors import NotFound, SemsearchError
from semsearch.models.safetensors_files import PROMPT
from semsearch.types import JsonObject

WEIGHTS = "model.safetensors"
ACTIVATIONS = {"Tanh": nn.Tanh, "Identity": nn.Identity, "ReLU": nn.ReLU, "GELU": nn.GELU, "SiLU": nn.SiLU}


def prompt(folder: Path, dtype: torch.dtype) -> Tensor:
    """The learned vectors (p, h) of `folder`. Raises NotFound."""
    try:
        return load_file(folder / PROMPT)["vectors"].to(dtype)
    except (OSError, KeyError) as error:
        raise NotFound(f"{folder} has no learned prompt ({PROMPT}).", "Train one: the method optiprompt.") from error


def module(folder: Path, dtype: torch.dtype) -> nn.Module:
    """The module saved in `folder`: a dense layer or a layer norm.

    Raises NotFound if a file is missing, SemsearchError for another kind of module.
    """
    try:
        config: JsonObject = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        weights = load_file(folder / WEIGHTS)
    except OSError as error:
        raise NotFound(f"the module {folder} lacks {Path(error.filename or WEIGHTS).name}.", _CONVERT) from error
    if "dimension" in config:
        made, name = nn.Sequential(nn.LayerNorm(config["dimension"])), "norm"
    else:
        linear = nn.Linear(config["in_features"], config["out_features"], bias=config.get("bias", True))
        made, name = nn.Sequential(linear, _activation(config, folder)), "linear"
    made.load_state_dict({re.sub(rf"^{name}\.", "0.", key): value for key, value in weights.items()})
    return made.to(dtype)


_CONVERT = "A folder with pickled weights (pytorch_model.bin) has to be saved again with safetensors."


def _activation(config: JsonObject, folder: Path) -> nn.Module:
    name = str(config.get("activation_function", "Tanh")).rpartition(".")[2]
    if name not in ACTIVATIONS:
        raise SemsearchError(f"the module {folder} has the activation {name}.", f"Known are {', '.join(ACTIVATIONS)}.")
    return ACTIVATIONS[name]()
