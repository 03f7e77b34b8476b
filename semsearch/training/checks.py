"""Checks that base model, objective and dataset go together, before anything is trained and without PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.encoders.factory import HASHING
from semsearch.errors import UsageError
from semsearch.models import bundle as bundles
from semsearch.models import model_folders
from semsearch.models.model_ref import HUB, Reference

if TYPE_CHECKING:
    from semsearch.training.datasets.dataset import Dataset
    from semsearch.training.objectives._base import BaseObjective

PAGE = "https://huggingface.co/"


def find_base(reference: Reference) -> Path:
    """The folder of a base model. Raises NotFound, and UsageError for a model whose weights cannot be trained."""
    if reference.model == HASHING:
        raise UsageError(f"{HASHING} has no weights to train.", "Name a model: a folder, or hf:owner/name.")
    if reference.dim is not None:
        raise UsageError(
            f"{reference.model} is trained with all its dimensions, so dim {reference.dim} cannot be chosen.",
            f"To make the first {reference.dim} usable on their own too: matryoshka_dims=({reference.dim},).",
            f"To make the first {reference.dim} usable on their own too: --matryoshka-dims {reference.dim}",
        )
    folder = model_folders.find(reference.model, reference.revision)
    if (folder / bundles.MANIFEST).is_file() and (saved := bundles.read(folder)).weights.endswith(bundles.ONNX):
        origin = saved.source.removeprefix(PAGE)
        hub = f", such as {HUB}{origin}" if origin != saved.source else ""
        raise UsageError(
            f"{reference.model} is an exported encoder: ONNX weights cannot be trained.",
            f"Name the model it was made from: a folder with config.json and model.safetensors{hub}.",
        )
    return folder


def check_data(objective: BaseObjective, dataset: Dataset, method: str, *, has_teacher: bool, batch_size: int) -> None:
    """Raises UsageError where the objective of `method` cannot be trained on `dataset`."""
    source = dataset.source or "the data"
    for view in objective.views:
        if view.column not in dataset.columns:
            raise UsageError(
                f"{method} needs a column {view.column}, and {source} has {', '.join(dataset.columns)}.",
                "Pass pairs or triplets (JSON lines, CSV or TSV), or choose a method for plain text: cotbert, simcse.",
            )
    if batch_size == 1 and objective.labels == "none" and len(objective.views) == 2:
        # the negatives are the other texts of the batch: without any, the loss is 0
        raise UsageError(
            f"{method} contrasts a text with the others of its batch, and a batch has one.",
            "Use a batch size of 2 or more.",
        )
    if objective.labels in ("score", "class") and dataset.labels is None:
        raise UsageError(
            f"{method} needs labels, and {source} has none.",
            "Add a column score or label, or choose a method that needs none.",
        )
    if objective.labels == "teacher" and not has_teacher:
        raise UsageError(f"{method} needs a teacher.", "Name one: teacher=.", "Name one: --teacher MODEL")
