"""The configuration of a training run: method, base model, and overrides of the paper's hyperparameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from semsearch.errors import UsageError
from semsearch.training import objectives
from semsearch.training.hyperparameters import Hyperparameters

KINDS = ("bert", "roberta", "causal")
PRECISIONS = ("fp32", "bf16")
SEEDS = 2**64  # that torch accepts
SMALLEST = 1e-12  # of values that have to be above 0
LEAST: Mapping[str, float] = {
    **dict.fromkeys(("learning_rate", "epochs"), SMALLEST),
    **dict.fromkeys(("batch_size", "steps", "max_length", "eval_every"), 1),
    **dict.fromkeys(("warmup", "ema_decay", "grad_cache_size", "threads", "seed", "save_seconds"), 0),
}


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """The configuration of a run. None stands for the value of the method's paper (see Hyperparameters).

    `steps` replaces `epochs`. `grad_cache_size`: texts that are encoded at once where memory is too small for a batch;
    the loss still sees the whole batch; 0: all of it. `precision` is fp32 or bf16. `matryoshka_dims`: lengths to which
    vectors can be truncated afterwards. `training_template` and `inference_template` replace those of the paper, for a
    base model that names none. `threads` 0 leaves the number to PyTorch. `save_seconds`: the longest time between two
    saved states, and so the most that a crash can lose.
    """

    method: str
    base: str
    seed: int = 0
    options: Mapping[str, object] = field(default_factory=dict)
    batch_size: int | None = None
    learning_rate: float | None = None
    epochs: float | None = None
    steps: int | None = None
    max_length: int | None = None
    warmup: float | None = None
    eval_every: int | None = None
    grad_cache_size: int = 0
    precision: str = "fp32"
    device: str = "auto"
    matryoshka_dims: tuple[int, ...] = ()
    training_template: str = ""
    inference_template: str = ""
    ema_decay: float | None = None
    threads: int = 0
    save_seconds: float = 600.0

    def hyperparameters(self) -> Hyperparameters:
        """The paper's, with the overrides. Raises UsageError for an invalid value, UnknownName."""
        self._check()
        objectives.parse_options(self.method, self.options)
        overrides = {each.name: getattr(self, each.name, None) for each in fields(Hyperparameters)}
        for name in ("training_template", "inference_template"):
            template = getattr(self, name)
            overrides[f"{name}s"] = dict.fromkeys(KINDS, template) if template else None
        changed = {name: value for name, value in overrides.items() if value is not None}
        return replace(objectives.load(self.method).hyperparameters, **changed)

    def _check(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and not least <= value < math.inf:
                expected = "above 0" if least == SMALLEST else f"{least:g} or more"
                expected += ", and finite" if value == math.inf else ""
                spelled = name.replace("_", " ").replace("ema", "EMA")
                raise UsageError(f"{spelled} cannot be {value}.", f"It has to be {expected}.")
        if self.seed >= SEEDS:
            raise UsageError(f"seed cannot be {self.seed}.", f"It has to be below {SEEDS}.")
        if self.ema_decay is not None and self.ema_decay >= 1:
            raise UsageError(
                f"EMA decay cannot be {self.ema_decay}.", "It has to be below 1: 0.999 is usual, 0 turns it off."
            )
        if self.precision not in PRECISIONS:
            raise UsageError(f"training cannot compute in {self.precision}.", f"Choose from: {', '.join(PRECISIONS)}.")
