"""What a run needs to go on bit for bit: one file of tensors and numbers, replaced as a whole.

safetensors and JSON; nothing is pickled. The file holds the parameters that learn, what AdamW remembers of each, their
mean where one is kept, the state of chance, and where the run stands. The order of the examples follows from seed and
epoch, so it is not kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from semsearch.errors import Corrupt
from semsearch.training import rng
from semsearch.training.averaging import Average
from semsearch.utils.atomic_write import sync_file, sync_folder

FILE = "state.safetensors"
CHANCE = ("chance.cpu", "chance.cuda")
REMEMBERED = ("step", "exp_avg", "exp_avg_sq")  # what AdamW keeps of a parameter
AGAIN = "Start anew with --force, or in another folder."


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands: steps done, the best score on dev and when it was reached, seconds spent.

    `dev` is the last score, `losses` those since the last line of the metrics, `micro` the texts a part where memory
    held no more, `idle` how many batches could teach nothing.
    """

    step: int = 0
    best: float | None = None
    best_step: int = 0
    seconds: float = 0.0
    dev: float | None = None
    losses: tuple[float, ...] = ()
    micro: int = 0
    idle: int = 0


def save(home: Path, at: Progress, average: Average, learned: Mapping[str, nn.Parameter], optimiser: Any) -> None:
    """Replace the state in the folder `home`."""
    device = next(iter(learned.values())).device
    tensors = dict(zip(CHANCE, rng.state(str(device)), strict=False))
    for name, value in learned.items():
        tensors[f"value.{name}"] = value.detach().contiguous()
        for key, kept in optimiser.state.get(value, {}).items():
            tensors[f"{key}.{name}"] = kept.contiguous()
    tensors |= {f"average.{name}": value.contiguous() for name, value in average.values.items()}
    new = home / f".{FILE}.new"
    save_file(tensors, new, {"progress": json.dumps(asdict(at))})
    sync_file(new)
    new.replace(home / FILE)
    sync_folder(home)


def load(home: Path, average: Average, learned: Mapping[str, nn.Parameter], optimiser: Any) -> Progress:
    """Put parameters, moments, mean and chance back as they were. Raises Corrupt where the file does not fit."""
    try:
        with safe_open(home / FILE, "pt") as kept:
            names = set(kept.keys())
            told = json.loads(kept.metadata()["progress"])
            for name, value in learned.items():
                value.data.copy_(kept.get_tensor(f"value.{name}"))
                found = {key: kept.get_tensor(f"{key}.{name}") for key in REMEMBERED if f"{key}.{name}" in names}
                if found:
                    optimiser.state[value] = {key: tensor.to(value.device) for key, tensor in found.items()}
            for name, mean in average.values.items():
                mean.copy_(kept.get_tensor(f"average.{name}"))
            device = next(iter(learned.values())).device
            rng.restore(str(device), [kept.get_tensor(name) for name in CHANCE if name in names])
            return Progress(**{**told, "losses": tuple(told.get("losses", ()))})
    except Exception as error:  # safetensors, json, a missing key, a wrong shape: each has a class of its own
        raise Corrupt(f"{home / FILE} does not fit this run: {error}.", AGAIN) from error


def there(home: Path) -> bool:
    """Whether a run stands in the folder `home`."""
    return (home / FILE).is_file()
