"""The saved state of a run, from which it continues bit for bit: one safetensors file, replaced atomically.

Nothing is pickled. The file has the trained parameters, AdamW's moments, their moving average where there is one, the
state of the random number generators, and the counters. The order of the examples follows from seed and epoch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from semsearch.errors import Corrupt
from semsearch.training.optimisation import rng
from semsearch.training.optimisation.averaging import WeightAverage
from semsearch.training.runs import START_ANEW
from semsearch.utils.atomic_write import sync_file, sync_folder

FILE = "state.safetensors"
RNG_KEYS = ("chance.cpu", "chance.cuda")
MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # AdamW's state of a parameter
JSON_KEYS = {"score": "dev", "grad_cache_size": "micro", "idle_batches": "idle"}  # on disk, where it differs


@dataclass(frozen=True, slots=True)
class RunState:
    """The counters of a run: steps done, the best validation score and its step, seconds spent.

    `score` is that of the last validation, `losses` those since the last line of the metrics, `grad_cache_size` the
    texts encoded at once (reduced where memory was full), `idle_batches` how many batches had no gradient.
    """

    step: int = 0
    best: float | None = None
    best_step: int = 0
    seconds: float = 0.0
    score: float | None = None
    losses: tuple[float, ...] = ()
    grad_cache_size: int = 0
    idle_batches: int = 0


def save(
    home: Path,
    at: RunState,
    average: WeightAverage,
    parameters: Mapping[str, nn.Parameter],
    optimiser: torch.optim.Optimizer,
) -> None:
    """Replace the state in the folder `home`."""
    device = next(iter(parameters.values())).device
    tensors = dict(zip(RNG_KEYS, rng.state(str(device)), strict=False))
    for name, value in parameters.items():
        tensors[f"value.{name}"] = value.detach().contiguous()
        for key, moment in optimiser.state.get(value, {}).items():
            tensors[f"{key}.{name}"] = moment.contiguous()
    tensors |= {f"average.{name}": value.contiguous() for name, value in average.values.items()}
    new = home / f".{FILE}.new"
    counters = {JSON_KEYS.get(name, name): value for name, value in asdict(at).items()}
    save_file(tensors, new, {"progress": json.dumps(counters)})
    sync_file(new)
    new.replace(home / FILE)
    sync_folder(home)


def load(
    home: Path, average: WeightAverage, parameters: Mapping[str, nn.Parameter], optimiser: torch.optim.Optimizer
) -> RunState:
    """Restore parameters, moments, average and random numbers. Raises Corrupt where the file belongs to another run."""
    try:
        with safe_open(home / FILE, "pt") as file:
            names = set(file.keys())
            counters = json.loads(file.metadata()["progress"])
            for name, value in parameters.items():
                value.data.copy_(file.get_tensor(f"value.{name}"))
                moments = {key: file.get_tensor(f"{key}.{name}") for key in MOMENTS if f"{key}.{name}" in names}
                if moments:
                    optimiser.state[value] = {key: tensor.to(value.device) for key, tensor in moments.items()}
            for name, mean in average.values.items():
                mean.copy_(file.get_tensor(f"average.{name}"))
            device = next(iter(parameters.values())).device
            rng.restore(str(device), [file.get_tensor(name) for name in RNG_KEYS if name in names])
            names_of = {key: name for name, key in JSON_KEYS.items()}
            values = {names_of.get(key, key): value for key, value in counters.items()}
            return RunState(**{**values, "losses": tuple(values.get("losses", ()))})
    except Exception as error:  # safetensors, json, a missing key, a wrong shape: each raises another class
        raise Corrupt(f"{home / FILE} does not fit this run: {error}.", *START_ANEW) from error
