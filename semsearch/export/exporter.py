"""The exporter: a model and its method as a bundle that ONNX Runtime and tokenizers can read, compared first.

    bundle/encoder.json     manifest: the encoder, its source, the measured differences
    bundle/tokenizer.json   without truncation and padding
    bundle/model.onnx       token ids and mask to unit vectors; the prompt's bias is a constant in the graph

An fp32 export has the fingerprint of its source, since its vectors were shown to be equal; other precisions have their
own. Before an export, post-processing may be fitted on the vectors, which makes a new encoder; that encoder can also be
written with PyTorch weights.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.encoders import factory
from semsearch.errors import UnknownName, UsageError
from semsearch.evaluation.papers import fitting
from semsearch.export import parity
from semsearch.models import bundle as bundles
from semsearch.models import model_folders
from semsearch.models.model_ref import Reference
from semsearch.models.rerankers import manifest
from semsearch.utils.atomic_write import sync_file, sync_folder

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Encoder
    from semsearch.encoders.torch_backend import TorchBackend
    from semsearch.models.bundle import Bundle

DTYPES = ("fp32", "fp16", "int8")
TARGETS = ("onnx", "torch")
ANOTHER = "Name another folder.", "Name another folder: -o DIR"  # in Python, and at the command line


def silent(step: str) -> None:
    """A progress callback that does nothing."""


def export(
    model: str | Path | Encoder,
    out: str | Path,
    dtype: str = "fp32",
    *,
    template: str | None = None,
    layer: int | None = None,
    dim: int | None = None,
    post: fitting.Fit | None = None,
    to: str = "onnx",
    data: Path | None = None,
    force: bool = False,
    trust_remote_code: bool = False,
    report: Callable[[str], None] = silent,
) -> Bundle:
    """Write `model` as a bundle into the folder `out`, whole or not at all, and return its manifest.

    `model` is a name as for Encoder.load, or a loaded encoder that runs on PyTorch in full precision; `template`,
    `layer` and `dim` apply to a name only. `dtype` is fp32, fp16 or int8. `post` is fitted on the model's vectors and
    appended to it. `to` is onnx, or torch to copy the model's own weights together with its post-processing. With
    `data`, the folder of the STS tasks, an int8 export is checked on STS-B dev. An earlier bundle in the folder is
    replaced only with `force`. Raises GateFailed where the export differs too much from its source, and UsageError
    where the model cannot be exported.
    """
    _check_options(dtype, to)
    check_folder(Path(out), force=force)  # before a model is loaded
    if isinstance(model, str | Path):
        report(f"loading {model}")
        reference = Reference.parse(model).with_(template=template, layer=layer, dim=dim)
        backend = _load(reference, trust_remote_code)
    else:
        backend = factory.torch_backend(model, "export")
    if post is not None:
        backend = fitting.fitted_backend(backend, post, report)
    return export_backend(backend, out, dtype, to=to, data=data, force=force, report=report)


def export_backend(
    backend: TorchBackend,
    out: str | Path,
    dtype: str = "fp32",
    *,
    to: str = "onnx",
    data: Path | None = None,
    force: bool = False,
    report: Callable[[str], None] = silent,
) -> Bundle:
    """`export` for the PyTorch back end of an encoder, which has to be in full precision to be written as ONNX."""
    if to == "onnx" and backend.bundle.precision != "fp32":
        raise UsageError(
            f"{backend.name} is loaded in {backend.bundle.precision}: an export starts from full precision.",
            "Leave dtype out of its name, and choose the precision of the export.",
            "Leave dtype out of its name; --dtype fp16 and int8 choose the precision of the export.",
        )
    with replaced_folder(Path(out), force=force, source=backend.bundle.folder) as place:
        from semsearch.export import onnx_folder  # torch, onnx and onnxruntime: seconds

        if to == "torch":
            bundle = onnx_folder.copy(backend, place)
        else:
            bundle = onnx_folder.write(backend, place, dtype, data, report)
        written = bundles.write(bundle, place)
    return replace(written, folder=Path(out))


def _load(reference: Reference, trust: bool) -> TorchBackend:
    """The PyTorch back end for `reference`, in full precision unless the reference names another."""
    if reference.model == factory.HASHING:
        raise UsageError(
            f"{reference.model} has no model to export.",
            "Name the folder of a model.",
            "Name a folder, or see: semsearch models list",
        )
    folder = model_folders.find(reference.model, reference.revision)
    saved = (folder / bundles.MANIFEST).is_file()
    if saved and bundles.read(folder).weights.endswith(bundles.ONNX):
        raise UsageError(f"{reference.model} is exported already.", "Name the model that it was exported from.")
    own_dtype = saved or reference.dtype
    named = reference if own_dtype else reference.with_(dtype="fp32")
    backend, _ = factory.open_backend(named, device="cpu", backend="torch", trust=trust)
    running = factory.torch_backend(backend, "export")
    if not own_dtype:
        running.bundle = replace(running.bundle, name=str(Reference.parse(running.bundle.name).with_(dtype="")))
    return running


def _check_options(dtype: str, to: str) -> None:
    """Raises UnknownName, MissingExtra, and UsageError for a precision of weights that are only copied."""
    if dtype not in DTYPES:
        raise UnknownName("precision of an export", dtype, DTYPES)
    if to not in TARGETS:
        raise UnknownName("target of an export", to, TARGETS)
    if to == "torch" and dtype != "fp32":
        raise UsageError(
            f"{dtype} is for ONNX: weights for PyTorch are copied as they are.",
            "Leave out the precision, or name one with the model: MODEL#dtype=bf16",
        )
    parity.require_packages()


@contextmanager
def replaced_folder(out: Path, *, force: bool = False, source: Path | None = None) -> Iterator[Path]:
    """A new folder to write into, which becomes `out` if the block ends without an error, else is removed.

    Raises UsageError at once where `out` is not empty: only a bundle is replaced, with `force`.
    """
    out = out.expanduser().resolve()
    check_folder(out, force=force, source=source)
    beside = next(folder for folder in out.parents if folder.is_dir())
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", suffix=".partial", dir=beside) as scratch:
        new = Path(scratch) / "new"
        new.mkdir()
        yield new
        for file in new.rglob("*"):
            if file.is_file():
                sync_file(file)
        out.parent.mkdir(parents=True, exist_ok=True)
        old = out.rename(Path(scratch) / "old") if out.is_dir() else None
        try:
            new.rename(out)
        except BaseException:
            if old is not None:
                old.rename(out)
            raise
        sync_folder(out.parent)


def check_folder(out: Path, *, force: bool = False, source: Path | None = None) -> None:
    """Raises UsageError where `out` cannot be created or replaced, or is `source`, the folder of the model."""
    out = out.expanduser().resolve()
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file.", "Name a folder for the bundle.", "Name a folder for the bundle: -o DIR")
    if not out.is_dir() or not any(out.iterdir()):
        return
    if source is not None and out in (source.resolve(), *source.resolve().parents):
        raise UsageError(f"{out} is the folder of the model itself.", *ANOTHER)
    is_bundle = (out / bundles.MANIFEST).is_file() or manifest.is_saved(out)
    if not force:
        if not is_bundle:
            raise UsageError(f"{out} is not empty.", "Name another folder.")
        raise UsageError(
            f"{out} is not empty.",
            "Name another folder, or use force=True to replace the bundle in it.",
            "Name another folder, or use --force to replace the bundle in it.",
        )
    if not is_bundle:
        raise UsageError(f"{out} contains no bundle (no {bundles.MANIFEST}), and only bundles are replaced.", *ANOTHER)
