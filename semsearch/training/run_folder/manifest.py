"""What is told of a run: everything that is needed to repeat it, and to see whether another is the same."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from semsearch.models.model_ref import HUB, Reference
from semsearch.training import objectives
from semsearch.training.objectives import Recipe

if TYPE_CHECKING:
    from semsearch.training.bases import Base
    from semsearch.training.datasets.dataset import Examples
    from semsearch.training.hyperparameters import Settings
    from semsearch.training.run_folder.state import Progress
    from semsearch.training.schedule import Plan

PACKAGES = ("semsearch", "torch", "transformers")


def settings(
    told: Settings, recipe: Recipe, begins: Base, examples: Examples, planned: Plan, **more: str
) -> dict[str, Any]:
    """The settings of a run as they came out, as JSON has them; `more` are names of what else decides it."""
    found = {
        "method": told.method,
        "seed": told.seed,
        "base": {
            "name": str(told.base),
            "fingerprint": begins.trains.fingerprint,
            "serves": begins.serves.fingerprint,
        },
        "trains": begins.trains.prompts["passage"].text,
        "serves": begins.serves.prompts["passage"].text,
        "examples": {"source": examples.source, "count": len(examples), "rows_sha256": _hash(examples)},
        "recipe": {each.name: getattr(recipe, each.name) for each in fields(Recipe)},
        "options": objectives.options_of(told.method) | dict(told.options),
        "steps": planned.steps,
        **{key: getattr(told, key) for key in ("dims", "precision", "micro")},
        **more,
        "threads": torch.get_num_threads(),
        "versions": {name: version(name) for name in PACKAGES},
    }
    written: dict[str, Any] = json.loads(json.dumps(found, default=dict))
    return written


def origin(told: Mapping[str, Any], at: Progress) -> dict[str, Any]:
    """What an encoder says of its training. It may be given away: where base, data and teacher lay is left out."""
    reference = Reference.parse(told["base"]["name"])
    model = reference.model if reference.model.startswith(HUB) else Path(reference.model).name
    named = {
        "base": {**told["base"], "name": str(replace(reference, model=model))},
        "examples": {**told["examples"], "source": _placeless(told["examples"]["source"])},
        "teacher": _placeless(told["teacher"]),
    }
    return {"trained": {**told, **named, "step": at.step, "score": at.best}}


def _placeless(name: str) -> str:
    """`name` without the folders of this machine, where it begins with a whole path.

    >>> _placeless("/home/me/pairs.tsv (query, answer)"), _placeless("bert#mean"), _placeless("SNLI / MNLI")
    ('pairs.tsv (query, answer)', 'bert#mean', 'SNLI / MNLI')
    """
    path = re.split(r" \(|#", name, maxsplit=1)[0]
    return Path(path).name + name[len(path) :] if Path(path).is_absolute() else name


def _hash(examples: Examples) -> str:
    """What every row of the data is, in its order, under the names of the columns."""
    digest = hashlib.sha256(json.dumps(list(examples.columns)).encode())
    columns: list[Sequence[Any]] = list(examples.columns.values())
    for row in zip(*columns, *([] if examples.labels is None else [examples.labels]), strict=True):
        digest.update(json.dumps(row).encode())
    return digest.hexdigest()
