"""Export: a model under its method as a bundle that ONNX Runtime and tokenizers can read, proven equal first.

    bundle/encoder.json     what it is, what it was made from, what was measured
    bundle/tokenizer.json   without truncation and padding
    bundle/model.onnx       texts' ids and mask to unit vectors; the prompt's bias is a constant in it

An fp32 export has the fingerprint of its source, since its vectors were proven equal; other precisions have their own.
Before it is written, post-processing may be fitted behind it, which makes another encoder of it; that one can be
written for Torch too.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semsearch.errors import MissingExtra, UnknownName, UsageError
from semsearch.export.atomic_folder import check, replaced
from semsearch.models import bundle as bundles
from semsearch.models.model_ref import Reference

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder
    from semsearch.evaluation.papers.fitting import Fit
    from semsearch.models.bundle import Bundle

DTYPES = ("fp32", "fp16", "int8")
TARGETS = ("onnx", "torch")
PACKAGES = ("torch", "transformers", "onnx", "onnxscript", "onnxruntime")
WEIGHTS, TOKENIZER = "model.onnx", "tokenizer.json"

Report = Callable[[str], None]


def quiet(step: str) -> None:
    """A report that goes nowhere."""


def export(
    model: str | Path | Encoder,
    out: str | Path,
    dtype: str = "fp32",
    *,
    template: str | None = None,
    layer: int | None = None,
    dim: int | None = None,
    post: Fit | None = None,
    to: str = "onnx",
    data: Path | None = None,
    force: bool = False,
    trust_remote_code: bool = False,
    report: Report = quiet,
) -> Bundle:
    """Write `model` as a bundle into the folder `out`, whole or not at all; what was written.

    `model` is what Encoder.load takes, or an encoder that runs in Torch and full precision; `template`, `layer` and
    `dim` go with a name. `dtype` is fp32, fp16 or int8. `post` is fitted on the model's vectors and put behind it.
    `to` is onnx, or torch for the model's own weights with what is behind them. With `data`, the folder of STS tasks,
    int8 is judged by STS-B dev. A folder that holds an earlier bundle is replaced with `force` alone. Raises
    GateFailed where the export is off, UsageError where there cannot be one.
    """
    _checked(dtype, to)
    check(Path(out), force=force)  # before a model is loaded
    if isinstance(model, str | Path):
        report(f"loading {model}")
        asked = Reference.parse(model).with_(template=template, layer=layer, dim=dim)
        engine = _opened(asked, trust_remote_code)
    else:
        engine = model._engine
    if post is not None:
        from semsearch.evaluation.papers import fitting

        engine = fitting.fitted_engine(engine, post, report)
    return export_engine(engine, out, dtype, to=to, data=data, force=force, report=report)


def export_engine(
    engine: Any,
    out: str | Path,
    dtype: str = "fp32",
    *,
    to: str = "onnx",
    data: Path | None = None,
    force: bool = False,
    report: Report = quiet,
) -> Bundle:
    """`export` for what runs inside an encoder: a TorchEncoder or a CausalEncoder, for ONNX in full precision."""
    _exportable(engine, to)
    with replaced(Path(out), force=force, source=engine.bundle.folder) as place:
        from semsearch.export import onnx as making
        from semsearch.export import torch_folder  # torch, onnx and onnxruntime: seconds

        bundle = torch_folder.made(engine, place) if to == "torch" else making.made(engine, place, dtype, data, report)
        written = bundles.write(bundle, place)
    return replace(written, folder=Path(out))


def versions() -> dict[str, str]:
    """What an export was made with."""
    named = (name for name in PACKAGES if name != "onnxscript")  # modules: wheels have other names for a GPU
    return {name: str(importlib.import_module(name).__version__).partition("+")[0] for name in named}


def _opened(reference: Reference, trust: bool) -> Any:
    """What runs `reference` in Torch and full precision."""
    from semsearch.encoders import factory

    if reference.model == factory.HASHING:
        raise UsageError(f"{reference.model} has no model to export.", "Name a folder, or see: semsearch models list")
    folder = bundles.find(reference.model, reference.revision)
    saved = (folder / bundles.MANIFEST).is_file()
    if saved and bundles.read(folder).weights.endswith(bundles.ONNX):
        raise UsageError(f"{reference.model} is exported already.", "Name the model that it was made from.")
    if saved or reference.dtype:
        return factory.opened(reference, device="cpu", backend="torch", trust=trust)[0]
    engine: Any = factory.opened(reference.with_(dtype="fp32"), device="cpu", backend="torch", trust=trust)[0]
    engine.bundle = replace(engine.bundle, name=str(Reference.parse(engine.bundle.name).with_(dtype="")))
    return engine


def _checked(dtype: str, to: str) -> None:
    """Raises UnknownName, UsageError for weights that are copied and not converted, MissingExtra."""
    if dtype not in DTYPES:
        raise UnknownName("precision of an export", dtype, DTYPES)
    if to not in TARGETS:
        raise UnknownName("target of an export", to, TARGETS)
    if to == "torch" and dtype != "fp32":
        raise UsageError(
            f"{dtype} is for ONNX: weights for Torch are copied as they are.",
            "Leave out the precision, or name one with the model: MODEL#dtype=bf16",
        )
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(f"export (without {package})", "train")


def _exportable(engine: Any, to: str) -> None:
    """UsageError where `engine` is nothing that can be exported."""
    if not hasattr(engine, "network"):
        raise UsageError(f"{engine.name} is no Torch model.", "Name the model that it was made from.")
    if to == "onnx" and engine.bundle.precision != "fp32":
        raise UsageError(
            f"{engine.name} is loaded in {engine.bundle.precision}: an export starts from full precision.",
            "Leave dtype out of its name; --dtype fp16 and int8 choose the precision of the export.",
        )
