"""Post-processing steps in PyTorch: fitted modules, loaded from and saved into an encoder's folder.

    post/0/config.json, post/0/model.safetensors     the first step; truncation has no files

All steps compute in float32 for any precision of the encoder, since whitening divides by small standard deviations.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from semsearch.errors import Corrupt, NotFound
from semsearch.models import postprocessing
from semsearch.models.bundle import Bundle
from semsearch.models.networks.flow import Flow
from semsearch.models.safetensors_files import WHOLE
from semsearch.types import JsonMapping, JsonObject

CONFIG = "config.json"


class Whitening(nn.Module):
    """(u - mean) kernel: (n, d) -> (n, k). See semsearch.evaluation.papers.whitening."""

    kind = "whitening"
    mean: Tensor
    kernel: Tensor

    def __init__(self, dim: int, keeps: int) -> None:
        super().__init__()
        self.dim, self.config = keeps, {"dim": dim, "keeps": keeps}
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("kernel", torch.zeros(dim, keeps))

    @classmethod
    def of(cls, mean: NDArray[np.floating], kernel: NDArray[np.floating]) -> Whitening:
        """mean (d,) and kernel (d, k), in float32."""
        made, parts = cls(*kernel.shape), {"mean": mean, "kernel": kernel}
        made.load_state_dict({name: torch.from_numpy(np.array(each, dtype=np.float32)) for name, each in parts.items()})
        return made

    def forward(self, vectors: Tensor) -> Tensor:
        white: Tensor = (vectors - self.mean) @ self.kernel
        return white


class Truncation(nn.Module):
    """The first `dim` components."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, vectors: Tensor) -> Tensor:
        return vectors[:, : self.dim]


Fitted: TypeAlias = Whitening | Flow
FITTED: Mapping[str, type[Fitted]] = {"whitening": Whitening, "flow": Flow}


def step(module: Fitted, fitted: JsonMapping) -> postprocessing.Step:
    """The manifest entry of a fitted module. `fitted` describes its training data and result."""
    return postprocessing.Step(module.kind, module.dim, identity(module), dict(fitted))


def identity(module: Fitted) -> str:
    """The sha256 of a module's configuration and parameters, independent of their layout in a file."""
    digest = hashlib.sha256(json.dumps([module.kind, module.config], sort_keys=True).encode())
    for name, value in sorted(module.state_dict().items()):
        numbers = value.detach().cpu().contiguous().numpy()
        digest.update(json.dumps([name, str(numbers.dtype), numbers.shape]).encode())
        digest.update(numbers.tobytes())
    return digest.hexdigest()


def load_steps(bundle: Bundle, device: str) -> nn.Sequential:
    """The steps of `bundle`, in order. Raises NotFound, and Corrupt if one was changed."""
    modules = [_load_step(bundle, at, one) for at, one in enumerate(bundle.post)]
    return nn.Sequential(*modules).to(device).train(False).requires_grad_(False)


def save(modules: nn.Sequential, out: Path) -> None:
    """Write the steps into the folder of an encoder."""
    for at, module in enumerate(modules):
        if not isinstance(module, Whitening | Flow):
            continue
        folder = out / postprocessing.FOLDER / str(at)
        folder.mkdir(parents=True)
        content = {"kind": module.kind, **module.config}
        (folder / CONFIG).write_text(json.dumps(content) + "\n", encoding="utf-8")
        save_file({name: value.contiguous() for name, value in module.state_dict().items()}, folder / WHOLE)


def _load_step(bundle: Bundle, at: int, one: postprocessing.Step) -> nn.Module:
    if one.kind == postprocessing.TRUNCATE:
        return Truncation(one.dim)
    folder = bundle.folder / postprocessing.FOLDER / str(at)
    try:
        config: JsonObject = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        made = FITTED[config.pop("kind")](**config)
        made.load_state_dict(load_file(folder / WHOLE))
    except OSError as error:
        raise NotFound(f"the encoder {bundle.name} lacks its {one.kind}: {folder}.", _AGAIN) from error
    except Exception as error:  # json, safetensors, a missing key, a wrong shape: each has its own class
        raise Corrupt(f"the {one.kind} of encoder {bundle.name} cannot be read: {folder}.", _AGAIN) from error
    if identity(made) != one.sha256:
        raise Corrupt(f"the {one.kind} of encoder {bundle.name} is not what was written: {folder}.", _AGAIN)
    return made


_AGAIN = "Copy the encoder's folder again."
