"""From a reference to what runs it: the folder it names, what that folder is, and the engine for it.

hashing                          HashingEncoder
encoder.json, ONNX weights       OnnxEncoder
encoder.json, safetensors        TorchEncoder, CausalEncoder for a decoder
modules.json, or config.json     the same, described by semsearch.models.hf_config
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semsearch.errors import MissingExtra, UnknownName, UsageError
from semsearch.models import bundle as bundles
from semsearch.models.model_ref import HUB, Reference

if TYPE_CHECKING:
    from semsearch.encoders.encoder import Engine
    from semsearch.models.bundle import Bundle

BACKENDS = ("auto", "onnx", "torch")
HASHING = "hashing"
EXPORT = "semsearch export {model} -o DIR"
LOG = logging.getLogger(__name__)


def opened(
    reference: Reference, *, device: str = "auto", backend: str = "auto", threads: int = 0, trust: bool = False
) -> tuple[Engine, Reference]:
    """What runs `reference`, and the reference that loads the same again from any folder.

    Raises NotFound, UsageError, MissingExtra, DeviceUnavailable, Corrupt.
    """
    if backend not in BACKENDS:
        raise UnknownName("encoder backend", backend, BACKENDS)
    if reference.model == HASHING:
        return _hashing(reference, device, backend), reference
    bundle, lasting = described(reference, trust=trust)
    if bundle.weights.endswith(bundles.ONNX):
        if backend == "torch":
            raise UsageError(
                f"{reference.model} is an ONNX encoder, which torch does not run.",
                "Leave out the backend, or say onnx.",
            )
        from semsearch.encoders.onnx import OnnxEncoder  # onnxruntime: 50 ms, and only where a model runs

        return OnnxEncoder(bundle, device=device, threads=threads), lasting
    if backend == "onnx":
        fix = f"Export it first: {EXPORT.format(model=reference.model)}"
        raise UsageError(f"{reference.model} has no ONNX weights.", fix)
    return _torch(bundle, trust)(bundle, device=device, threads=threads, trust=trust), lasting


def described(reference: Reference, *, trust: bool = False) -> tuple[Bundle, Reference]:
    """The bundle that `reference` names, its weights not loaded, and the reference that lasts."""
    folder = bundles.find(reference.model, reference.revision)
    if (folder / bundles.MANIFEST).is_file():
        return _saved(folder, reference), _lasting(reference, folder)
    from semsearch.models import hf_config

    entry = bundles.catalogue().get(reference.model, {})
    if entry.get("template") and not reference.template:
        reference = reference.with_(template=entry["template"])
    chosen = hf_config.chosen(folder, reference, trust=trust)
    lasting = _lasting(chosen, folder)
    named = bool(entry) or reference.model.startswith(HUB)
    called = replace(chosen, model=reference.model if named else folder.resolve().name)
    bundle = hf_config.describe(folder, lasting, name=str(called), source=_source(reference, entry), trust=trust)
    if chosen != reference:
        how = chosen.template
        LOG.warning("no template was named: %s is read by %s. See: semsearch templates list", reference.model, how)
    return replace(bundle, licence=bundle.licence or entry.get("licence", "")), lasting


def _source(reference: Reference, entry: Mapping[str, Any]) -> str:
    """Where a model of the hub comes from; nothing is known of a folder."""
    page = f"https://huggingface.co/{reference.model.removeprefix(HUB)}" if reference.model.startswith(HUB) else ""
    return str(entry.get("source") or page)


def _saved(folder: Path, reference: Reference) -> Bundle:
    """An exported or trained encoder. Raises UsageError where it is to be read in another way."""
    bundle = bundles.read(folder)
    same = replace(reference, dtype="") if reference.dtype == bundle.precision else reference
    for key in _told(same):
        raise UsageError(
            f"{reference.model}: an exported encoder has its template built in, so {key} cannot be chosen.",
            f"Use it as it is: {reference.model}",
        )
    if not bundle.weights.endswith(bundles.ONNX):
        bundle.path("weights")  # raises where they are not what was written
    return bundle.shortened(reference.dim)


def _told(reference: Reference) -> list[str]:
    """What a reference says of how its model is read."""
    fields = {key: getattr(reference, key) for key in ("template", "dtype", "layer", "max_tokens")}
    return [key for key, value in (*fields.items(), *reference.options.items()) if value not in ("", None)]


def _lasting(reference: Reference, folder: Path) -> Reference:
    """`reference` with whole paths, and the revision that was found."""
    template = _whole_path(reference.template)
    if reference.model in bundles.catalogue() and not bundles.catalogue()[reference.model].get("hub"):
        return replace(reference, template=template)
    if reference.model in bundles.catalogue() or reference.model.startswith(HUB):
        from semsearch.models import hub

        return replace(reference, template=template, revision=hub.commit(folder) or reference.revision)
    return replace(reference, model=str(folder.resolve()), template=template)


def _whole_path(template: str) -> str:
    """The template with the whole path of its file, where it names one (FILE.toml or FILE.toml:NAME)."""
    from semsearch.prompts import SLOT

    if SLOT in template or ".toml" not in template:
        return template
    path, suffix, name = template.partition(".toml")
    return f"{Path(path + suffix).expanduser().resolve()}{name}"


def _hashing(reference: Reference, device: str, backend: str) -> Engine:
    from semsearch.encoders import device as _device
    from semsearch.encoders.hashing import HashingEncoder

    no_model = [*(["dim"] if reference.dim else []), *(["the backend"] if backend == "torch" else [])]
    for key in (*_told(reference), *no_model):
        raise UsageError(
            f"the encoder hashing runs no model, so {key} cannot be chosen.", f"Use it as it is: {HASHING}"
        )
    if _device.parse(device).startswith("cuda"):
        raise _device.absent(device, "the encoder hashing runs on a CPU only")
    return HashingEncoder()


def _torch(bundle: Bundle, trust: bool) -> Any:
    """The engine for safetensors: one for encoders, one for decoders."""
    from semsearch.models import hf_config

    try:
        if hf_config.is_causal(bundle.folder, trust=trust):
            from semsearch.encoders.causal import CausalEncoder

            return CausalEncoder
        from semsearch.encoders.torch import TorchEncoder
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "transformers", "safetensors"):
            raise
        raise MissingExtra(f"{bundle.name} runs on PyTorch, which", "train") from error
    return TorchEncoder
