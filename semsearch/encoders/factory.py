"""Back ends by reference: the folder of a model, its kind, and the back end that runs it.

hashing                          HashingEncoder
encoder.json, ONNX weights       OnnxBackend
encoder.json, safetensors        MaskedBackend, CausalBackend for a decoder
modules.json, or config.json     the same, described by semsearch.models.hf_config
onnx/model.onnx alone            OnnxBackend, described by semsearch.encoders.onnx_repository
"""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from semsearch.encoders import device as _device
from semsearch.encoders.base import BaseEncoder, EncoderBackend
from semsearch.encoders.hashing import HashingEncoder
from semsearch.errors import MissingExtra, SemsearchError, UnknownName, UsageError
from semsearch.models import bundle as bundles
from semsearch.models import hub, local_models, model_folders
from semsearch.models.bundle import Bundle
from semsearch.models.model_ref import HUB, Reference
from semsearch.models.rerankers import manifest
from semsearch.prompts import SLOT
from semsearch.utils import plugins

if TYPE_CHECKING:
    from types import ModuleType

    from semsearch.encoders.torch_backend import TorchBackend

BACKENDS = ("auto", "onnx", "torch")
HASHING = "hashing"
LOG = logging.getLogger(__name__)


def open_backend(
    reference: Reference,
    *,
    device: str = "auto",
    backend: str = "auto",
    threads: int = 0,
    trust: bool = False,
    fastest: bool = False,
) -> tuple[EncoderBackend, Reference]:
    """The back end of `reference`, and the reference that loads the same model from any working directory.

    With `fastest` a model in PyTorch runs on the engine that `semsearch bench --keep` found for this machine. Raises
    NotFound, UsageError, MissingExtra, DeviceUnavailable, Corrupt.
    """
    if backend not in BACKENDS:
        raise UnknownName("encoder backend", backend, BACKENDS)
    if reference.model == HASHING:
        return _hashing(reference, device, backend), reference
    bundle, resolved = describe(reference, trust=trust)
    if fastest and not bundle.weights.endswith(bundles.ONNX):
        bundle = model_folders.kept_engine(bundle, device) or bundle
    if bundle.weights.endswith(bundles.ONNX):
        if backend == "torch":
            raise UsageError(
                f"{reference.model} is an ONNX encoder, which torch does not run.",
                "Leave out the backend, or choose onnx.",
            )
        plugins.require(("onnxruntime",), f"the encoder {reference.model}", "cpu")
        from semsearch.encoders.onnx import OnnxBackend  # onnxruntime: 50 ms, and only where a model runs

        return OnnxBackend(bundle, device=device, threads=threads), resolved
    if backend == "onnx":
        raise UsageError(
            f"{reference.model} has no ONNX weights.",
            'Export it first with semsearch.export, or use backend="torch".',
            f"Export it first: semsearch export {reference.model} -o DIR",
        )
    return _torch(bundle, trust)(bundle, device=device, threads=threads, trust=trust), resolved


def torch_backend(encoder: BaseEncoder, use: str) -> TorchBackend:
    """The PyTorch back end of `encoder`, for its network and its method.

    Raises UsageError if it has another; `use` names the purpose in the error, such as "reading layers".

    >>> torch_backend(HashingEncoder(), "reading layers")
    Traceback (most recent call last):
    ...
    semsearch.errors.UsageError: reading layers needs a model that runs in PyTorch, and hashing does not. ...
    """
    if (backend := find_torch_backend(encoder)) is None:
        fix = "Choose a folder or hf:owner/name with safetensors weights, if needed with a template: MODEL#cot-bert."
        raise UsageError(f"{use} needs a model that runs in PyTorch, and {encoder.name} does not.", fix)
    return backend


def find_torch_backend(encoder: BaseEncoder) -> TorchBackend | None:
    """The PyTorch back end of `encoder`, or None if it has another."""
    backend = encoder.backend
    if backend is None or backend.runtime != "PyTorch":
        return None
    from semsearch.encoders.torch_backend import TorchBackend  # torch, which is already loaded

    return backend if isinstance(backend, TorchBackend) else None


def describe(reference: Reference, *, trust: bool = False) -> tuple[Bundle, Reference]:
    """The bundle of `reference`, without loading its weights, and the resolved reference."""
    folder = model_folders.find(reference.model, reference.revision)
    if (folder / bundles.MANIFEST).is_file():
        return _saved(folder, reference), _resolved(reference, folder)
    if manifest.is_saved(folder):
        raise UsageError(
            f"{reference.model} is a reranker, not an encoder.",
            "Search with rerank= and its name.",
            "Use it with: semsearch query TEXT --rerank MODEL",
        )
    model, entry = reference.model, model_folders.catalogue().get(reference.model, {})
    if entry.get("template") and not reference.template:
        reference = reference.with_(template=entry["template"])
    graph_alone = bool(_checkpoints().graph_alone(folder))
    chosen = reference if graph_alone else _checkpoints().with_template(folder, reference, trust=trust)
    resolved, of_hub = _resolved(chosen, folder), model.startswith(HUB)
    name = str(replace(chosen, model=model if entry or of_hub else folder.resolve().name))
    source = entry.get("source") or (f"https://huggingface.co/{model.removeprefix(HUB)}" if of_hub else "")
    if graph_alone:
        from semsearch.encoders import onnx_repository  # as `_checkpoints`

        bundle = onnx_repository.describe(folder, chosen, name=name, source=source)
    else:
        bundle = _checkpoints().describe(folder, resolved, name=name, source=source, trust=trust)
    if chosen != reference:
        LOG.warning("no template was named: %s is read with %s.", model, chosen.template)
    return replace(bundle, licence=bundle.licence or entry.get("licence", "")), resolved


def find_local(fingerprint: str) -> str | None:
    """The name or folder of an encoder of this machine with this fingerprint; None where there is none.

    `default` may be another encoder by now, and a folder have moved. Looks at the encoders that are part of semsearch,
    and at those saved in `models_dir`. Nothing is loaded.
    """
    shipped = [HASHING, *(name for name, entry in model_folders.catalogue().items() if "folder" in entry)]
    fingerprints = {name: shipped_fingerprint(name) for name in shipped}
    saved = local_models.list_local(local_models.models_dir())
    fingerprints |= {str(one["path"]): one.get("fingerprint") for one in saved}
    return next((name for name, each in fingerprints.items() if each == fingerprint), None)


def successor(name: str) -> str:
    """The encoder to use in place of one that came with semsearch once; "" for any other."""
    return model_folders.SUCCESSORS.get(name, "")


def shipped_fingerprint(name: str) -> str | None:
    """The fingerprint of an encoder that is part of semsearch; None for any other, and where it is damaged."""
    if name == HASHING:
        return HashingEncoder().fingerprint
    if "folder" not in model_folders.catalogue().get(name, {}):
        return None
    try:
        return bundles.read(model_folders.find(name)).fingerprint
    except SemsearchError:
        return None


def _saved(folder: Path, reference: Reference) -> Bundle:
    """An exported or trained encoder. Raises UsageError if the reference changes how it is read."""
    bundle = bundles.read(folder)
    same = replace(reference, dtype="") if reference.dtype == bundle.precision else reference
    for key in _overrides(same):
        raise UsageError(
            f"{reference.model}: an exported encoder has its template built in, so {key} cannot be chosen.",
            f"Use it as it is: {reference.model}",
        )
    if not bundle.weights.endswith(bundles.ONNX):
        bundle.path("weights")  # raises if they were changed
    return bundle.truncate(reference.dim)


def _overrides(reference: Reference) -> list[str]:
    """The parts of a reference that change how its model is read."""
    fields = {key: getattr(reference, key) for key in ("template", "dtype", "layer", "max_tokens")}
    return [key for key, value in (*fields.items(), *reference.options.items()) if value not in ("", None)]


def _resolved(reference: Reference, folder: Path) -> Reference:
    """`reference` with absolute paths and the revision in use."""
    resolved, catalogue = replace(reference, template=_absolute(reference.template)), model_folders.catalogue()
    if reference.model.startswith(HUB) or catalogue.get(reference.model, {}).get("hub"):
        return replace(resolved, revision=hub.commit(folder) or reference.revision)
    return resolved if reference.model in catalogue else replace(resolved, model=str(folder.resolve()))


def _absolute(template: str) -> str:
    """The template, with an absolute path if it is a file (FILE.toml or FILE.toml:NAME)."""
    if SLOT in template or ".toml" not in template:
        return template
    path, suffix, name = template.partition(".toml")
    return f"{Path(path + suffix).expanduser().resolve()}{name}"


def _hashing(reference: Reference, device: str, backend: str) -> HashingEncoder:
    no_model = [*(["dim"] if reference.dim else []), *(["the backend"] if backend == "torch" else [])]
    for key in (*_overrides(reference), *no_model):
        raise UsageError(
            f"the encoder hashing runs no model, so {key} cannot be chosen.", f"Use it as it is: {HASHING}"
        )
    if _device.parse(device).startswith("cuda"):
        raise _device.absent(device, "the encoder hashing runs on a CPU only")
    return HashingEncoder()


def _checkpoints() -> ModuleType:
    """The module that reads model folders other than bundles."""
    from semsearch.models import hf_config  # loads the template library, which the default encoder does not need

    return hf_config


def _torch(bundle: Bundle, trust: bool) -> type[TorchBackend]:
    """The back end for safetensors of an encoder or of a decoder."""
    causal = _checkpoints().is_causal(bundle.folder, trust=trust)
    try:
        from semsearch.encoders.torch_backend import CausalBackend, MaskedBackend
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "transformers", "safetensors"):
            raise
        raise MissingExtra(bundle.name, "train", "PyTorch") from error
    return CausalBackend if causal else MaskedBackend
