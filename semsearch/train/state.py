"""What a run needs to go on bit for bit: one file of tensors and numbers, replaced as a whole.

safetensors and JSON; nothing is pickled. The file holds the parameters that learn, AdamW's moments, the best score so
far and the state of chance. The order of the examples follows from seed and epoch, so it is not kept.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from semsearch.durable import sync_file, sync_folder
from semsearch.errors import Corrupt

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "state.safetensors"
CHANCE, GPU_CHANCE = "chance.cpu", "chance.cuda"
MOMENTS = ("exp_avg", "exp_avg_sq")
AGAIN = "Start anew with --force, or in another folder."


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run stands: steps done, the best score on dev and when it was reached, seconds spent."""

    step: int = 0
    best: float | None = None
    best_step: int = 0
    seconds: float = 0.0


def save(folder: Path, at: Progress, learned: Mapping[str, nn.Parameter], optimiser: Any, settings: str) -> None:
    """Replace the state in `folder`. `settings` is what the run was told, to be compared on going on."""
    tensors: dict[str, torch.Tensor] = {CHANCE: torch.get_rng_state()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        tensors[GPU_CHANCE] = torch.cuda.get_rng_state()
    for name, value in learned.items():
        tensors[f"value.{name}"] = value.detach().contiguous()
        for moment in MOMENTS:
            if value in optimiser.state:
                tensors[f"{moment}.{name}"] = optimiser.state[value][moment].contiguous()
    numbers = {"step": at.step, "best": at.best, "best_step": at.best_step, "seconds": at.seconds}
    new = folder / f"{FILE}.new"
    save_file(tensors, new, {"progress": json.dumps(numbers), "settings": settings})
    sync_file(new)
    new.rename(folder / FILE)
    sync_folder(folder)


def load(folder: Path, learned: Mapping[str, nn.Parameter], optimiser: Any) -> Progress:
    """Put parameters, moments and chance back as they were. Raises Corrupt where the file does not fit."""
    try:
        with safe_open(folder / FILE, "pt") as kept:
            progress = Progress(**json.loads(kept.metadata()["progress"]))
            for name, value in learned.items():
                value.data.copy_(kept.get_tensor(f"value.{name}"))
                if progress.step and f"exp_avg.{name}" in kept.keys():  # noqa: SIM118  (it is no mapping)
                    moments = {moment: kept.get_tensor(f"{moment}.{name}").to(value.device) for moment in MOMENTS}
                    optimiser.state[value] = {"step": torch.tensor(float(progress.step)), **moments}
            torch.set_rng_state(kept.get_tensor(CHANCE))
            if GPU_CHANCE in kept.keys():  # noqa: SIM118
                torch.cuda.set_rng_state(kept.get_tensor(GPU_CHANCE))
    except (OSError, KeyError, ValueError, RuntimeError, TypeError) as error:
        raise Corrupt(f"{folder / FILE} does not fit this run: {error}.", AGAIN) from error
    return progress


def settings_of(folder: Path) -> str:
    """What the run in `folder` was told. Raises Corrupt."""
    try:
        with safe_open(folder / FILE, "pt") as kept:
            return str(kept.metadata()["settings"])
    except (OSError, KeyError, ValueError, RuntimeError, TypeError) as error:
        raise Corrupt(f"{folder / FILE} cannot be read: {error}.", AGAIN) from error
