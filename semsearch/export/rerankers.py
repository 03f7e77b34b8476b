"""The export of a reranker: a cross-encoder as a folder that runs without PyTorch, refused unless it is proven equal.

    folder/reranker.json    manifest: the reranker, its source, the measured differences
    folder/tokenizer.json   without truncation and padding
    folder/model.onnx       token ids, mask and segments of pairs to a logit each

Tracing, int8 and the writing of a whole folder or none are those of encoders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from semsearch.encoders.rerankers.reranker import Reranker
from semsearch.errors import UnknownName, UsageError
from semsearch.export import parity
from semsearch.export.exporter import check_folder, replaced_folder, silent
from semsearch.models import model_folders
from semsearch.models.model_ref import Reference
from semsearch.models.rerankers import checkpoint, manifest

if TYPE_CHECKING:
    from semsearch.models.rerankers.manifest import RerankerBundle
    from semsearch.types import JsonMapping

DTYPES = ("fp32", "int8")
STEPS, DONE, RIDGE = 100, 1e-10, 1e-12  # of Newton's method


def export_reranker(
    model: str | Path,
    out: str | Path,
    dtype: str = "fp32",
    *,
    force: bool = False,
    report: Callable[[str], None] = silent,
) -> RerankerBundle:
    """Write the reranker `model` into the folder `out`, whole or not at all, and return its manifest.

    `model` is a name as for Reranker.load, of one that runs in PyTorch; `dtype` is fp32 or int8. An earlier export in
    the folder is replaced only with `force`. Raises GateFailed where the export differs too much from its source, and
    UsageError where the model cannot be exported.
    """
    if dtype not in DTYPES:
        raise UnknownName("precision of an exported reranker", dtype, DTYPES)
    parity.require_packages()
    check_folder(Path(out), force=force)  # before a model is loaded
    report(f"loading {model}")
    reranker = Reranker.load(model, device="cpu")
    if reranker.runtime.bundle.runs_on_onnx:
        raise UsageError(f"{model} is exported already.", "Name the model that it was exported from.")
    with replaced_folder(Path(out), force=force, source=reranker.runtime.bundle.folder) as place:
        from semsearch.export import reranker_folder  # torch, onnx and onnxruntime: seconds

        written = manifest.write(reranker_folder.write(reranker.runtime, place, dtype, report), place)
    return replace(written, folder=Path(out))


def calibrate(
    folder: str | Path, *, temperature: float, offset: float = 0.0, fitted: JsonMapping | None = None
) -> RerankerBundle:
    """Write into an exported reranker what makes chances of its logits: sigmoid((logit - offset) / temperature).

    `fitted` describes the pairs that both were measured on. The order of hits stays, the fingerprint changes. Raises
    UsageError for a temperature that is not above 0, NotFound, Corrupt.
    """
    if not (temperature > 0 and isfinite(temperature) and isfinite(offset)):
        raise UsageError(f"temperature {temperature} and offset {offset} are no calibration.", "Use one above 0.")
    calibration = manifest.Calibration(float(temperature), float(offset), dict(fitted or {}))
    return manifest.write(replace(manifest.read(Path(folder)), calibration=calibration), Path(folder))


def fit_odds(logits: NDArray[np.floating], yes: NDArray[np.bool_]) -> tuple[float, float]:
    """(temperature, offset) for sigmoid((logit - offset) / temperature), the chance that a pair is one of `yes`.

    logits (n,) and yes (n,). Platt 1999, "Probabilistic Outputs for Support Vector Machines", with his targets, which
    keep the fit finite where the classes do not overlap; Newton's method as in Lin, Lin, Weng 2007. Raises UsageError
    where one of the classes is missing, or a higher logit says less.
    """
    scores, positives = np.asarray(logits, dtype=np.float64), np.asarray(yes, dtype=bool)
    positive, negative = int(positives.sum()), int((~positives).sum())
    if not positive or not negative:
        raise UsageError(f"a calibration needs pairs of both kinds, and there are {positive} and {negative}.")
    target = np.where(positives, (positive + 1) / (positive + 2), 1 / (negative + 2))
    centre, scale = float(scores.mean()), float(scores.std()) or 1.0
    features = np.stack([(scores - centre) / scale, np.ones_like(scores)], axis=1)
    weights = np.array([0.0, np.log((positive + 1) / (negative + 1))])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-features @ weights))
        gradient = features.T @ (chance - target)
        curvature = (features * (chance * (1 - chance))[:, None]).T @ features + RIDGE * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step
        if float(np.abs(step).max()) < DONE:
            break
    slope, intercept = float(weights[0]) / scale, float(weights[1])
    if slope <= 0:
        raise UsageError("pairs with a higher logit are less often right: this model cannot be calibrated.")
    return 1 / slope, centre - intercept / slope


def is_reranker(model: str | Path) -> bool:
    """Whether `model` is a reranker: a name of that catalogue, a saved one, or a folder with the head of one.

    Nothing is downloaded: of the hub, only what is on this machine is known. A reference with a template is an encoder.
    """
    reference = Reference.parse(model)
    if Reference(reference.model, revision=reference.revision) != reference:
        return False
    if reference.model in model_folders.rerankers():
        return True
    folder = model_folders.on_this_machine(reference.model, reference.revision)
    return folder is not None and (manifest.is_saved(folder) or checkpoint.is_one(folder))
