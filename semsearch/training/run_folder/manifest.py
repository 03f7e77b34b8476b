"""The manifest of a run: all settings needed to repeat it, and to decide whether another run is the same."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path

import torch

from semsearch.models.model_ref import HUB, Reference
from semsearch.training import objectives
from semsearch.training.base_model import BaseModel
from semsearch.training.datasets.dataset import Dataset
from semsearch.training.hyperparameters import Hyperparameters
from semsearch.training.optimisation.schedule import Schedule
from semsearch.training.run_folder.state import RunState
from semsearch.training.training_config import TrainingConfig
from semsearch.types import JsonMapping, JsonObject

PACKAGES = ("semsearch", "torch", "transformers")


def settings(
    config: TrainingConfig,
    hyperparameters: Hyperparameters,
    base: BaseModel,
    dataset: Dataset,
    schedule: Schedule,
    **names: str,
) -> JsonObject:
    """The resolved settings of a run as JSON; `names` are those of validation, teacher and device."""
    content = {
        "method": config.method,
        "seed": config.seed,
        "base": {
            "name": str(config.base),
            "fingerprint": base.training.fingerprint,
            "serves": base.inference.fingerprint,
        },
        "trains": base.training.prompts["passage"].text,
        "serves": base.inference.prompts["passage"].text,
        "examples": {"source": dataset.source, "count": len(dataset), "rows_sha256": _hash(dataset)},
        "recipe": hyperparameters.as_json(),
        "options": asdict(objectives.parse_options(config.method, config.options)),
        "steps": schedule.steps,
        "dims": config.matryoshka_dims,
        "precision": config.precision,
        "micro": config.grad_cache_size,
        **names,
        "threads": torch.get_num_threads(),
        "versions": {name: version(name) for name in PACKAGES},
    }
    written: JsonObject = json.loads(json.dumps(content, default=dict))
    return written


def origin(settings: JsonMapping, state: RunState) -> JsonObject:
    """The record of the training in an encoder's manifest, without local paths, since it may be published."""
    reference = Reference.parse(settings["base"]["name"])
    model = reference.model if reference.model.startswith(HUB) else Path(reference.model).name
    portable = {
        "base": {**settings["base"], "name": str(replace(reference, model=model))},
        "examples": {**settings["examples"], "source": _file_name(settings["examples"]["source"])},
        "teacher": _file_name(settings["teacher"]),
    }
    return {"trained": {**settings, **portable, "step": state.step, "score": state.best}}


def _file_name(name: str) -> str:
    """`name` without its folders, where it begins with an absolute path.

    >>> _file_name("/home/me/pairs.tsv (query, answer)"), _file_name("bert#mean"), _file_name("SNLI / MNLI")
    ('pairs.tsv (query, answer)', 'bert#mean', 'SNLI / MNLI')
    """
    path = re.split(r" \(|#", name, maxsplit=1)[0]
    return Path(path).name + name[len(path) :] if Path(path).is_absolute() else name


def _hash(dataset: Dataset) -> str:
    """SHA-256 of the column names and of every row, in order."""
    digest = hashlib.sha256(json.dumps(list(dataset.columns)).encode())
    columns: list[Sequence[object]] = list(dataset.columns.values())
    for row in zip(*columns, *([] if dataset.labels is None else [dataset.labels]), strict=True):
        digest.update(json.dumps(row).encode())
    return digest.hexdigest()
