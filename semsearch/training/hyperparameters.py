"""Settings: how a run is done, as it was told and as it comes out with what the objective's paper has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from semsearch.errors import UsageError
from semsearch.training import objectives
from semsearch.training.bases import KINDS
from semsearch.training.objectives import Recipe

PRECISIONS = ("fp32", "bf16")
SEEDS = 2**64  # that torch knows
NEARLY = 1e-12  # 0 itself cannot be
# the least that a setting can be; None is what it is told by leaving it out
LEAST: Mapping[str, float] = {
    "batch": 1,
    "rate": NEARLY,
    "epochs": NEARLY,
    "steps": 1,
    "tokens": 1,
    "warmup": 0,
    "eval_every": 1,
    "average": 0,
    "micro": 0,
    "threads": 0,
    "seed": 0,
}


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run is done. What is None is as the objective's recipe, which is that of its paper.

    `micro`: texts that memory has to hold at once; the loss still sees the whole batch. `precision` is fp32 or bf16.
    `average` is the decay of a mean of the weights, which is then what is judged and saved; 0 is none. `dims`: lengths
    at which the beginning of a vector has to serve too (Matryoshka). `trains` and `serves` are templates in place of
    the recipe's, for a base that names none. `threads` 0 is as many as torch takes.
    """

    method: str
    base: str
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    batch: int | None = None
    rate: float | None = None
    epochs: float | None = None
    steps: int | None = None
    tokens: int | None = None
    warmup: float | None = None
    eval_every: int | None = None
    micro: int = 0
    precision: str = "fp32"
    device: str = "auto"
    dims: tuple[int, ...] = ()
    trains: str = ""
    serves: str = ""
    average: float | None = None
    threads: int = 0

    def recipe(self) -> Recipe:
        """The objective's, with what was told otherwise. Raises UsageError for a value that cannot be."""
        self._check()
        objectives.checked(self.method, self.options)
        usual: Recipe = objectives.kind(self.method).recipe
        told = {each.name: getattr(self, each.name, None) for each in fields(Recipe)}
        for name in ("trains", "serves"):
            told[name] = dict.fromkeys(KINDS, told[name]) if told[name] else None
        return replace(usual, **{name: value for name, value in told.items() if value is not None})

    def _check(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and not least <= value < math.inf:
                expected = "above 0" if least == NEARLY else f"{least:g} or more"
                expected += ", and finite" if value == math.inf else ""
                raise UsageError(f"{name} cannot be {value}.", f"It has to be {expected}.")
        if self.seed >= SEEDS:
            raise UsageError(f"seed cannot be {self.seed}.", f"It has to be below {SEEDS}.")
        if self.average is not None and self.average >= 1:
            raise UsageError(f"average cannot be {self.average}.", "It has to be below 1: 0.999 is usual, 0 is none.")
        if self.precision not in PRECISIONS:
            raise UsageError(f"training cannot compute in {self.precision}.", f"Choose from: {', '.join(PRECISIONS)}.")
