"""Hyperparameters of a training run: the values of a method's paper, and the defaults shared by all methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from semsearch.types import JsonObject

# the keys of run folders and manifests on disk, where they differ from the fields
JSON_KEYS = {
    "batch_size": "batch",
    "learning_rate": "rate",
    "max_length": "tokens",
    "max_grad_norm": "clip",
    "ema_decay": "average",
    "training_templates": "trains",
    "inference_templates": "serves",
    "trainable": "learns",
    "new_parts": "fresh",
}


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """The values of a paper; TrainingConfig overrides any of them.

    `max_length`: tokens of a sentence, without its prompt. `warmup`: a fraction of the steps, or their number where it
    is above 1. `max_grad_norm` 0: no clipping. `eval_every`: steps between two validations. `ema_decay`: of an
    exponential moving average of the weights, which is then validated and saved; 0 for none. `training_templates` and
    `inference_templates`: by kind of network (bert, roberta, causal), the template of texts in training, and the one
    saved with the encoder; none: the base model's own. `frozen`: prefixes of the names of parameters that are not
    trained; `trainable`: if not empty, prefixes of the only ones that are. `new_parts`: the parts that are initialised
    anew unless the base model was trained with them: "pooler" (random), "prompt" (the word vectors of the template).
    `dropout`: whether the network's own dropout is active in training.
    """

    batch_size: int
    learning_rate: float
    epochs: float = 1
    max_length: int = 32
    warmup: float = 0.0
    schedule: Literal["linear", "constant"] = "linear"
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    max_grad_norm: float = 1.0
    eval_every: int = 125
    ema_decay: float = 0.0
    training_templates: Mapping[str, str] = field(default_factory=dict)
    inference_templates: Mapping[str, str] = field(default_factory=dict)
    frozen: tuple[str, ...] = ()
    trainable: tuple[str, ...] = ()
    new_parts: tuple[str, ...] = ()
    dropout: bool = True

    def as_json(self) -> JsonObject:
        """The hyperparameters under the keys that run folders use."""
        return {JSON_KEYS.get(each.name, each.name): getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True)
class Shape:
    """The properties of network and data that an objective depends on.

    Of the network: its `kind` (bert, roberta, causal), hidden `width` h, `depth` in layers, the size `dim` of the
    method's vector, and the standard deviation `spread` of new weights. Of the data: its `columns`, and the number of
    `classes` of its labels.
    """

    kind: str = "bert"
    width: int = 0
    depth: int = 0
    dim: int = 0
    spread: float = 0.02
    columns: tuple[str, ...] = ("anchor",)
    classes: int = 0
