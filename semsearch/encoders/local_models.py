"""Models on this machine: the catalogue, encoders of your own, and models of the hub, which are fetched and removed."""

from __future__ import annotations

from pathlib import Path

from semsearch import settings
from semsearch.errors import NotFound, SemsearchError, UsageError
from semsearch.models import bundle as bundles
from semsearch.models import hub_cache, model_folders
from semsearch.models.model_ref import HUB, Reference
from semsearch.types import JsonObject

INDEXES = "indexes"  # the name of the home of indexes unless the user chose another
DEPTH = ("*", "*/onnx", "*/seed-*", "*/seed-*/onnx")  # what `train` makes, with its exports


def catalogue() -> list[JsonObject]:
    """The encoders with a name: name, whether it is on this machine (`local`) with its `bytes`, licence, size …

    Nothing is fetched and nothing is loaded.
    """
    known = []
    for name, entry in model_folders.catalogue().items():
        folder = model_folders.local(entry["hub"]) if "hub" in entry else None
        if "folder" in entry:
            folder = model_folders.ASSETS / entry["folder"]
        local = "hub" not in entry or folder is not None
        bytes_ = size(folder) if folder else 0
        known.append({"name": name, "local": local, "bytes": bytes_ if local else None, **entry})
    return known


def models_dir() -> Path:
    """Where encoders that are trained or exported go: `models`, beside the home of indexes or in it.

    Beside it where that is called `indexes`, else inside of it.
    """
    indexes = settings.home().absolute()
    return (indexes.parent if indexes.name == INDEXES else indexes) / "models"


def list_local(folder: str | Path) -> list[JsonObject]:
    """The encoders saved below `folder`, by path: name, path, fingerprint, width, `bytes`, `runs`, `parity` …

    Nothing is loaded. One that cannot be read has its `problem` instead.
    """
    folder = Path(folder).expanduser()
    found = sorted({file.parent for each in DEPTH for file in folder.glob(f"{each}/{bundles.MANIFEST}")})
    return [_entry(each, each.relative_to(folder).as_posix()) for each in found]


def is_local(model: str) -> bool:
    """Whether `load` would fetch nothing. What is on this machine may still be no encoder."""
    named, reference = hub_name(model)
    revision = reference.revision or model_folders.catalogue().get(reference.model, {}).get("revision", "")
    return named is None or model_folders.local(named, revision) is not None


def pull(model: str) -> Path | None:
    """Fetch the newest version of a model of the hub, or one revision; its folder, or None for part of semsearch.

    Configuration, tokenizer and safetensors; never code. Raises UsageError for anything else than a model of the hub,
    NotFound where it cannot be fetched.
    """
    named, reference = on_hub(model)
    return None if named is None else model_folders.pull(named, reference.revision)


def remove(model: str) -> int:
    """Remove a model of the hub from this machine, for other programs too; the number of bytes that freed.

    Raises UsageError for anything else than a model of the hub, NotFound where it is not on this machine.
    """
    named, revision = check_local(model)
    from semsearch.models import hub  # only where something is removed

    return hub.remove(named, revision)


def check_local(model: str) -> tuple[str, str]:
    """The hub name and the revision of a model on this machine. Raises UsageError, NotFound."""
    named, reference = on_hub(model)
    if named is None:
        raise UsageError(f"{model} is part of semsearch.", "Only models of the hub can be removed.")
    if not hub_cache.known(named):
        raise NotFound(f"hf:{named} is not on this machine.", "See: semsearch models list")
    return named, reference.revision


def on_hub(model: str) -> tuple[str | None, Reference]:
    """The hub name of `model`, None where it is part of semsearch. Raises UsageError for anything else."""
    named, reference = hub_name(model)
    if named is None and reference.model not in model_folders.catalogue():
        raise UsageError(f"{model} is not a model of the hub.", "Use hf:owner/name, or see: semsearch models list")
    return named, reference


def hub_name(model: str) -> tuple[str | None, Reference]:
    """The hub name of `model`, None where it is no model of the hub, and `model` as a reference."""
    reference = Reference.parse(model)
    if reference.model.startswith(HUB):
        return reference.model.removeprefix(HUB), reference
    return model_folders.catalogue().get(reference.model, {}).get("hub"), reference


def size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _entry(folder: Path, name: str) -> JsonObject:
    entry = {"name": name, "path": str(folder)}
    try:
        return {**entry, **_summary(bundles.read(folder))}
    except (SemsearchError, OSError, ValueError, TypeError, AttributeError) as error:  # damage has any type
        return {**entry, "problem": str(error)}


def _summary(bundle: bundles.Bundle) -> JsonObject:
    shown = ("fingerprint", "method", "dim", "max_tokens", "precision", "licence")
    return {
        **{key: getattr(bundle, key) for key in shown},
        "runs": "onnx" if bundle.weights.endswith(bundles.ONNX) else "torch",
        "bytes": sum(each.stat().st_size for each in bundle.files() if each.is_file()),
        "parity": dict(bundle.parity),
        "trained": dict(bundle.origin.get("trained", {})),
    }
