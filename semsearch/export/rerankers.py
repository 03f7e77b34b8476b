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
